/*
** Limits by architecture. Source: CUDA C++ programming guide, "Technical specifications per compute
** capability": shared memory per thread block, as a kernel that asks for it can have.
*/
#include "architecture.h"

static const struct {
  int architecture;
  int kilobytes;
} capacities[] = {{60, 48},   {61, 48},   {62, 48},   {70, 96},  {72, 96},  {75, 64},
                  {80, 163},  {86, 99},   {87, 163},  {89, 99},  {90, 227}, {100, 227},
                  {101, 227}, {103, 227}, {110, 227}, {120, 99}, {121, 99}};

#define COUNT (sizeof capacities / sizeof capacities[0])

size_t ltT_shared_capacity(int architecture) {
  for (size_t i = 0; i < COUNT; i++)
    if (capacities[i].architecture == architecture) return (size_t)capacities[i].kilobytes * 1024;
  return 0;
}

size_t ltT_largest_shared_capacity(void) {
  size_t most = 0;
  for (size_t i = 0; i < COUNT; i++) {
    size_t capacity = (size_t)capacities[i].kilobytes * 1024;
    if (capacity > most) most = capacity;
  }
  return most;
}

int ltT_architecture_at(size_t i) { return i < COUNT ? capacities[i].architecture : 0; }
