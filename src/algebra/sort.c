/*
** Sorting in place: no memory of its own, and n log n steps at worst.
*/
#include "value.h"

/* Larger than any item that the algebra sorts. */
#define MAX_ITEM 64

typedef struct heap {
  char *items;
  size_t size; /* of an item */
  int (*compare)(const void *x, const void *y);
} heap;

static char *item(const heap *h, size_t i) { return h->items + i * h->size; }

static void swap(const heap *h, size_t i, size_t j) {
  char kept[MAX_ITEM];
  memcpy(kept, item(h, i), h->size);
  memcpy(item(h, i), item(h, j), h->size);
  memcpy(item(h, j), kept, h->size);
}

/* Moves item 'i' down among the first 'count', whose largest shall be on top. */
static void sift_down(const heap *h, size_t count, size_t i) {
  for (size_t child = 2 * i + 1; child < count; child = 2 * i + 1) {
    if (child + 1 < count && h->compare(item(h, child + 1), item(h, child)) > 0) child++;
    if (h->compare(item(h, child), item(h, i)) <= 0) return;
    swap(h, i, child);
    i = child;
  }
}

static bool is_sorted(const heap *h, size_t count) {
  for (size_t i = 1; i < count; i++)
    if (h->compare(item(h, i - 1), item(h, i)) > 0) return false;
  return true;
}

void ltA_sort(void *items, size_t count, size_t size,
              int (*compare)(const void *x, const void *y)) {
  heap h = {items, size, compare};
  if (is_sorted(&h, count)) return;
  for (size_t i = count / 2; i-- > 0;) sift_down(&h, count, i);
  for (size_t end = count; end-- > 1;) {
    swap(&h, 0, end);
    sift_down(&h, end, 0);
  }
}
