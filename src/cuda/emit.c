/*
** Layouts written as CUDA C++: each a type with one function for a linear index and one for each
** level of its coordinates, all of plain arithmetic. kernels/lutile.cuh has what the text uses.
**
** The dynamic integers of a layout are the members d0, d1, ... in prefix order.
*/
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "algebra/composed.h"
#include "lutile_cuda.h"

#define MAX_PATH_TEXT (LT_MAX_DEPTH * 24)

typedef struct emitter {
  lt_arena *arena;
  const lt_cuda_writer *out;
  const lt_value *root;   /* the emitted form */
  const lt_value *domain; /* the plain layout that takes the coordinates */
  const char *before;     /* what starts a function: static where all is */
  const char *after;      /* what ends its head */
} emitter;

static void say(emitter *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(emitter *e, const char *format, ...) {
  char text[MAX_PATH_TEXT + 256];
  if (ltA_failed(e->arena)) return;
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (length < 0 || (size_t)length >= sizeof text ||
      !e->out->write(e->out->context, text, (size_t)length))
    ltA_no_memory(e->arena);
}

/* ---- Numbers -------------------------------------------------------------------------------- */

/* The number of the member that stands for a dynamic node of the root. */
static size_t member_of(const emitter *e, const lt_value *node) {
  size_t n = 0;
  for (const lt_value *at = e->root; at < node; at++) n += at->promise > 0;
  return n;
}

static void say_number(emitter *e, int64_t x) {
  if (x == INT64_MIN)
    say(e, "(-9223372036854775807LL - 1)");
  else if (x > INT32_MAX || x < -INT32_MAX)
    say(e, x < 0 ? "(%" PRId64 "LL)" : "%" PRId64 "LL", x);
  else
    say(e, x < 0 ? "(%" PRId64 ")" : "%" PRId64, x);
}

/* An integer, or the coefficient of a basis. */
static void say_leaf(emitter *e, const lt_value *leaf) {
  if (leaf->promise > 0)
    say(e, "d%zu", member_of(e, leaf));
  else
    say_number(e, leaf->value);
}

/* The product of all leaves of a shape: a number where they are static. */
static void say_product(emitter *e, const lt_value *shape) {
  lt_int product = ltA_product(e->arena, shape);
  if (ltA_is_static_int(product)) {
    say_number(e, product.value);
    return;
  }
  say(e, "(index(1)");
  for (const lt_value *node = shape; node < ltA_next(shape); node++) {
    if (!ltA_is_integer(node)) continue;
    say(e, " * ");
    say_leaf(e, node);
  }
  say(e, ")");
}

/* ---- Paths of modes -------------------------------------------------------------------------- */

typedef struct path {
  int depth;
  int mode[LT_MAX_DEPTH + 1];
} path;

static path step(path p, int mode) {
  p.mode[p.depth++] = mode;
  return p;
}

/* A name's ending: _0_1. */
static void say_ending(emitter *e, const path *p) {
  for (int i = 0; i < p->depth; i++) say(e, "_%d", p->mode[i]);
}

/* A type: lutile::path<0, 1>. */
static void say_path(emitter *e, const path *p) {
  say(e, "lutile::path<");
  for (int i = 0; i < p->depth; i++) say(e, i == 0 ? "%d" : ", %d", p->mode[i]);
  say(e, ">");
}

/* ---- The sum of modes ------------------------------------------------------------------------ */

/*
** A component is the integer function that a layout's strides along one path of its codomain make:
** the layout itself where its strides are integers ('basis' NULL), else the part that the strides
** with the path of 'basis' have.
*/
typedef struct component {
  const char *name; /* of its functions */
  const lt_value *basis;
} component;

static bool same_path(const lt_value *basis, const lt_value *stride) {
  if (stride->kind != LT_BASIS || stride->length != basis->length) return false;
  for (uint32_t i = 1; i < basis->length; i++)
    if (basis[i].value != stride[i].value) return false;
  return true;
}

/* Whether a stride's leaf adds nothing to the component. */
static bool is_nothing(const component *c, const lt_value *stride) {
  if (c->basis != NULL) return !same_path(c->basis, stride);
  return stride->promise == 0 && stride->value == 0;
}

/* One leaf of shape and stride; consecutive ones that run on into each other are one. */
typedef struct run {
  const lt_value *shape; /* the only leaf, */
  int64_t size;          /* or the product of several static ones */
  const lt_value *stride;
} run;

static bool runs_on(const component *c, const run *r, const lt_value *shape,
                    const lt_value *stride) {
  int64_t next;
  if (r->shape->promise > 0 || shape->promise > 0) return false;
  if (is_nothing(c, r->stride) && is_nothing(c, stride)) return true;
  if (is_nothing(c, r->stride) || is_nothing(c, stride)) return false;
  if (r->stride->promise > 0 || stride->promise > 0) return false;
  return !__builtin_mul_overflow(r->size, r->stride->value, &next) && next == stride->value;
}

/* Fills 'runs' from the leaves of congruent shape and stride; returns how many. */
static size_t collect_runs(const component *c, const lt_value *shape, const lt_value *stride,
                           run *runs, size_t n) {
  if (ltA_is_tuple(shape)) {
    const lt_value *d = ltA_first(stride);
    for (const lt_value *s = ltA_first(shape); s < ltA_next(shape); s = ltA_next(s)) {
      n = collect_runs(c, s, d, runs, n);
      d = ltA_next(d);
    }
    return n;
  }
  int64_t size;
  if (n > 0 && runs_on(c, &runs[n - 1], shape, stride) &&
      !__builtin_mul_overflow(runs[n - 1].size, shape->value, &size)) {
    runs[n - 1].size = size;
    return n;
  }
  runs[n] = (run){shape, shape->value, stride};
  return n + 1;
}

static void say_size(emitter *e, const run *r) {
  if (r->shape->promise > 0)
    say_leaf(e, r->shape);
  else
    say_number(e, r->size);
}

static void say_scaled(emitter *e, const run *r) {
  if (r->stride->promise == 0 && r->stride->value == 1) return;
  say(e, " * ");
  say_leaf(e, r->stride);
}

static bool adds_nothing(const component *c, const run *runs, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (!is_nothing(c, runs[i].stride)) return false;
  return true;
}

/*
** The statements that take a linear index 'i' apart: the rest of each division goes to the runs
** that follow, and all that is left to the last.
*/
static void say_split(emitter *e, const component *c, const run *runs, size_t n) {
  if (adds_nothing(c, runs, n)) {
    say(e, " (void)i; return 0; }\n");
    return;
  }
  say(e, " index r = 0;");
  for (size_t i = 0; i < n; i++) {
    bool last = i + 1 == n;
    if (!is_nothing(c, runs[i].stride)) {
      say(e, last ? " r += i" : " r += lutile::rem(i, index(");
      if (!last) say_size(e, &runs[i]);
      if (!last) say(e, "))");
      say_scaled(e, &runs[i]);
      say(e, ";");
    }
    if (last) break;
    say(e, " i = lutile::quo(i, index(");
    say_size(e, &runs[i]);
    say(e, "));");
  }
  say(e, " return r; }\n");
}

static void say_head(emitter *e, const component *c, const path *p, const char *argument) {
  say(e, "  %s index %s", e->before, c->name);
  say_ending(e, p);
  say(e, "(%s)%s {", argument, e->after);
}

/* The function of a linear index of the mode at 'p'. The writer may write to the arena: nothing is released. */
static void say_linear(emitter *e, const component *c, const path *p, const lt_value *shape,
                       const lt_value *stride) {
  run *runs = ltA_new_bytes(e->arena, (ltA_count_leaves(shape) + 1) * sizeof *runs);
  if (runs == NULL) return;
  size_t n = collect_runs(c, shape, stride, runs, 0);
  say_head(e, c, p, "index i");
  say_split(e, c, runs, n);
}

/* The function of a coordinate (c0, c1, ...) of the mode at 'p'. */
static void say_natural(emitter *e, const component *c, const path *p, int rank) {
  say(e, "  template <class... C>");
  say_head(e, c, p, "lutile::coord<C...> c");
  say(e, " static_assert(sizeof...(C) == %d, \"rank of the coordinate\"); return index(0)", rank);
  for (int i = 0; i < rank; i++) {
    path child = step(*p, i);
    say(e, " + %s", c->name);
    say_ending(e, &child);
    say(e, "(lutile::get<%d>(c))", i);
  }
  say(e, "; }\n");
}

/* Both functions of the mode at 'p', after those of its own modes. */
static void say_component(emitter *e, const component *c, const path *p, const lt_value *shape,
                          const lt_value *stride) {
  if (ltA_is_tuple(shape)) {
    const lt_value *d = ltA_first(stride);
    int mode = 0;
    for (const lt_value *s = ltA_first(shape); s < ltA_next(shape); s = ltA_next(s)) {
      path child = step(*p, mode++);
      say_component(e, c, &child, s, d);
      d = ltA_next(d);
    }
    say_natural(e, c, p, mode);
  }
  say_linear(e, c, p, shape, stride);
}

/* ---- Coordinates as results ------------------------------------------------------------------ */

static bool has_basis(const lt_value *stride) {
  for (const lt_value *node = stride; node < ltA_next(stride); node++)
    if (node->kind == LT_BASIS) return true;
  return false;
}

/* A basis with the path 'p': what strides of the component have. */
static const lt_value *basis_of(emitter *e, const path *p) {
  int64_t modes[LT_MAX_DEPTH];
  for (int i = 0; i < p->depth; i++) modes[i] = p->mode[i];
  return lt_basis(e->arena, lt_integer(e->arena, 1), modes, (size_t)p->depth);
}

static void say_component_name(char name[32], int number) { snprintf(name, 32, "c%d", number); }

/* The functions of every component of the codomain, numbered in order. */
static void say_components(emitter *e, const lt_value *profile, const path *p, int *number) {
  if (ltA_is_tuple(profile)) {
    int mode = 0;
    for (const lt_value *x = ltA_first(profile); x < ltA_next(profile); x = ltA_next(x)) {
      path child = step(*p, mode++);
      say_components(e, x, &child, number);
    }
    return;
  }
  char name[32];
  path root = {0};
  say_component_name(name, (*number)++);
  component c = {name, basis_of(e, p)};
  if (c.basis == NULL) return;
  say_component(e, &c, &root, ltA_shape(e->domain), ltA_stride(e->domain));
}

/* The offset's part at the place of a component: of an integer or tuple, NULL where it has none. */
static const lt_value *part_at(const lt_value *offset, const path *p) {
  for (int i = 0; offset != NULL && i < p->depth; i++)
    offset = ltA_is_tuple(offset) && p->mode[i] < offset->value
                 ? ltA_element(offset, (size_t)p->mode[i])
                 : NULL;
  return offset;
}

/* The expression of the coordinate that 'x' is mapped to, moved by 'offset' (NULL: not). */
static void say_coordinate(emitter *e, const lt_value *profile, const path *p, int *number,
                           const lt_value *offset) {
  if (!ltA_is_tuple(profile)) {
    const lt_value *moved = offset == NULL ? NULL : part_at(offset, p);
    say(e, "c%d(x)", (*number)++);
    if (moved == NULL) return;
    say(e, " + ");
    say_leaf(e, moved);
    return;
  }
  int mode = 0;
  say(e, "lutile::make_coord(");
  for (const lt_value *x = ltA_first(profile); x < ltA_next(profile); x = ltA_next(x)) {
    path child = step(*p, mode);
    if (mode++ > 0) say(e, ", ");
    say_coordinate(e, x, &child, number, offset);
  }
  say(e, ")");
}

static void say_coordinate_function(emitter *e, const lt_value *offset) {
  const lt_value *profile = lt_coprofile(e->arena, e->domain);
  path root = {0};
  int number = 0;
  if (profile == NULL) return;
  say_components(e, profile, &root, &number);
  number = 0;
  say(e,
      "  template <class... C> LUTILE_FN auto operator()(C... c) const { auto x = "
      "lutile::one(c...); return ");
  say_coordinate(e, profile, &root, &number, offset);
  say(e, "; }\n");
}

/* ---- Integers as results --------------------------------------------------------------------- */

static void say_swizzle(emitter *e, const lt_value *swizzle) {
  ltA_swizzle s = ltA_unpack_swizzle(swizzle);
  say(e, "  %s index swizzle(index x)%s { return x", e->before, e->after);
  if (s.bits > 0) {
    say(e, " ^ ((x & ");
    say_number(e, (int64_t)s.y);
    say(e, s.shift >= 0 ? ") >> %d)" : ") << %d)", s.shift >= 0 ? s.shift : -s.shift);
  }
  say(e, "; }\n");
}

static void say_plain(emitter *e, const char *name, const lt_value *layout) {
  component c = {name, NULL};
  path root = {0};
  say_component(e, &c, &root, ltA_shape(layout), ltA_stride(layout));
}

/* operator() of A(inner + B(c)) + outer; each part may be absent. */
static void say_call(emitter *e, const char *a, const lt_value *inner, const lt_value *outer) {
  say(e, "  template <class... C> LUTILE_FN index operator()(C... c) const { return %s%s", a,
      a[0] == '\0' ? "" : "(");
  say(e, "at(lutile::one(c...))");
  if (inner != NULL) {
    say(e, " + ");
    say_leaf(e, inner);
  }
  if (a[0] != '\0') say(e, ")");
  if (outer != NULL) {
    say(e, " + ");
    say_leaf(e, outer);
  }
  say(e, "; }\n");
}

static void say_composed(emitter *e, const lt_value *composed, const lt_value *outer) {
  const lt_value *a = ltA_layout_a(composed);
  bool is_swizzle = a->kind == LT_SWIZZLE;
  if (is_swizzle)
    say_swizzle(e, a);
  else
    say_plain(e, "outer", a);
  say_plain(e, "at", e->domain);
  say_call(e, is_swizzle ? "swizzle" : "outer", ltA_offset(composed), outer);
}

/* ---- Sizes ---------------------------------------------------------------------------------- */

/* size_at and, of a leaf with an integer stride, stride_at for the mode at 'p' and those in it. */
static void say_sizes(emitter *e, const path *p, const lt_value *shape, const lt_value *stride) {
  if (ltA_is_tuple(shape)) {
    const lt_value *d = ltA_first(stride);
    int mode = 0;
    for (const lt_value *s = ltA_first(shape); s < ltA_next(shape); s = ltA_next(s)) {
      path child = step(*p, mode++);
      say_sizes(e, &child, s, d);
      d = ltA_next(d);
    }
  }
  say(e, "  %s index size_at(", e->before);
  say_path(e, p);
  say(e, ")%s { return ", e->after);
  say_product(e, shape);
  say(e, "; }\n");
  if (!ltA_is_integer(stride)) return;
  say(e, "  %s index stride_at(", e->before);
  say_path(e, p);
  say(e, ")%s { return ", e->after);
  say_leaf(e, stride);
  say(e, "; }\n");
}

static void say_shape(emitter *e, const lt_value *shape) {
  if (!ltA_is_tuple(shape)) {
    say(e, "index(");
    say_leaf(e, shape);
    say(e, ")");
    return;
  }
  say(e, "lutile::make_coord(");
  for (const lt_value *s = ltA_first(shape); s < ltA_next(shape); s = ltA_next(s)) {
    if (s > ltA_first(shape)) say(e, ", ");
    say_shape(e, s);
  }
  say(e, ")");
}

/* 1 + the sum of (shape - 1) * |stride|. */
static void say_span(emitter *e, const lt_value *shape, const lt_value *stride) {
  if (!ltA_is_tuple(shape)) {
    say(e, " + (index(");
    say_leaf(e, shape);
    say(e, ") - 1) * lutile::abs(index(");
    say_leaf(e, stride);
    say(e, "))");
    return;
  }
  const lt_value *d = ltA_first(stride);
  for (const lt_value *s = ltA_first(shape); s < ltA_next(shape); s = ltA_next(s)) {
    say_span(e, s, d);
    d = ltA_next(d);
  }
}

static void say_cosize(emitter *e) {
  const lt_value *shape = ltA_shape(e->domain), *stride = ltA_stride(e->domain);
  if (has_basis(stride)) return;
  say(e, "  %s index cosize()%s { return ", e->before, e->after);
  if (lt_is_static(e->domain)) {
    const lt_value *cosize = lt_cosize(e->arena, e->domain);
    if (cosize != NULL) say_number(e, cosize->value);
  } else {
    say(e, "1");
    say_span(e, shape, stride);
  }
  say(e, "; }\n");
}

static void say_extents(emitter *e) {
  const lt_value *shape = ltA_shape(e->domain);
  path root = {0};
  say(e, "  static constexpr int rank = %zu;\n", ltA_rank(shape));
  say_sizes(e, &root, shape, ltA_stride(e->domain));
  say(e, "  template <int... I> %s index size()%s { return size_at(lutile::path<I...>{}); }\n",
      e->before, e->after);
  say(e, "  template <int... I> %s index stride()%s { return stride_at(lutile::path<I...>{}); }\n",
      e->before, e->after);
  say(e, "  %s auto shape()%s { return ", e->before, e->after);
  say_shape(e, shape);
  say(e, "; }\n");
  say_cosize(e);
}

/* ---- The type ------------------------------------------------------------------------------- */

/* The plain layout that coordinates go to. */
static const lt_value *domain_of(const lt_value *v) {
  if (v->kind == LT_TENSOR) v = ltA_tensor_layout(v);
  return v->kind == LT_COMPOSED ? ltA_layout_b(v) : v;
}

static void say_members(emitter *e) {
  size_t n = lt_cuda_count_dynamic(e->root);
  for (size_t i = 0; i < n; i++) say(e, "%sd%zu", i == 0 ? "  index " : ", ", i);
  if (n > 0) say(e, ";\n");
  say(e, "  static constexpr bool is_static = %s;\n", n == 0 ? "true" : "false");
}

static void say_functions(emitter *e) {
  const lt_value *v = e->root, *outer = NULL;
  if (v->kind == LT_TENSOR) {
    outer = ltA_first(v);
    v = ltA_tensor_layout(v);
  }
  if (has_basis(ltA_stride(e->domain))) {
    say_coordinate_function(e, outer);
  } else if (v->kind == LT_COMPOSED) {
    say_composed(e, v, outer);
  } else {
    say_plain(e, "at", v);
    say_call(e, "", NULL, outer);
  }
}

static bool check(lt_arena *arena, const lt_value *v) {
  const lt_value *domain = domain_of(v);
  if (v->kind == LT_SWIZZLE) return true;
  bool good = domain->kind == LT_LAYOUT;
  if (good && v->kind == LT_COMPOSED) good = !has_basis(ltA_stride(domain));
  if (good && v->kind == LT_TENSOR && !has_basis(ltA_stride(domain)))
    good = ltA_is_integer(ltA_first(v));
  if (!good)
    ltA_fail(arena, LT_INVALID,
             "emit: %v is no layout that a kernel can have: one of integer or "
             "coordinate strides, perhaps swizzled",
             v);
  return good;
}

static void say_comment(emitter *e) {
  char text[256];
  size_t length = lt_cuda_blank_text(e->root, text, sizeof text);
  say(e, "// %s\n", length < sizeof text ? text : "a layout too long to be shown");
}

bool lt_cuda_emit_layout(lt_arena *arena, const lt_value *layout, const char *name, int index_bits,
                         const lt_cuda_writer *writer) {
  const lt_value *root = lt_cuda_emitted_form(arena, layout);
  if (root == NULL || !check(arena, root)) return false;
  bool is_static = lt_cuda_count_dynamic(root) == 0;
  emitter e = {arena,
               writer,
               root,
               domain_of(root),
               is_static ? "static LUTILE_FN" : "LUTILE_FN",
               is_static ? "" : " const"};
  bool is_narrow = index_bits == 32 || (is_static && lt_cuda_fits_32_bits(root));
  say_comment(&e);
  say(&e, "struct %s {\n  using index = %s;\n", name, is_narrow ? "int" : "long long");
  say_members(&e);
  if (root->kind == LT_SWIZZLE) {
    say_swizzle(&e, root);
    say(&e, "  LUTILE_FN index operator()(index x) const { return swizzle(x); }\n");
  } else {
    say_extents(&e);
    say_functions(&e);
  }
  say(&e, "};\n");
  return !ltA_failed(arena);
}
