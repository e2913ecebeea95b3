/*
** Layouts written as CUDA C++: each a type with its extents, and a call that maps coordinates to
** offsets or to coordinates. kernels/lutile.cuh has what the text uses.
*/
#include "emit.h"

#include <stdio.h>

#include "algebra/composed.h"

/* ---- Coordinates as results ------------------------------------------------------------------ */

static bool has_basis(const lt_value *stride) {
  for (const lt_value *node = stride; node < ltA_next(stride); node++)
    if (node->kind == LT_BASIS) return true;
  return false;
}

/* A basis with the path 'p': what strides of the component have. */
static const lt_value *basis_of(ltD_emitter *e, const ltD_path *p) {
  int64_t modes[LT_MAX_DEPTH];
  for (int i = 0; i < p->depth; i++) modes[i] = p->mode[i];
  return lt_basis(e->arena, lt_integer(e->arena, 1), modes, (size_t)p->depth);
}

static void say_component_name(char name[32], int number) { snprintf(name, 32, "c%d", number); }

/* The functions of every component of the codomain, numbered in order. */
static void say_components(ltD_emitter *e, const lt_value *profile, const ltD_path *p,
                           int *number) {
  if (ltA_is_tuple(profile)) {
    int mode = 0;
    for (const lt_value *x = ltA_first(profile); x < ltA_next(profile); x = ltA_next(x)) {
      ltD_path child = ltD_step(*p, mode++);
      say_components(e, x, &child, number);
    }
    return;
  }
  char name[32];
  ltD_path root = {0};
  say_component_name(name, (*number)++);
  ltD_component c = {name, basis_of(e, p)};
  if (c.basis == NULL) return;
  ltD_say_component(e, &c, &root, ltA_shape(e->domain), ltA_stride(e->domain));
}

/* The offset's part at the place of a component: of an integer or tuple, NULL where it has none. */
static const lt_value *part_at(const lt_value *offset, const ltD_path *p) {
  for (int i = 0; offset != NULL && i < p->depth; i++)
    offset = ltA_is_tuple(offset) && p->mode[i] < offset->value
                 ? ltA_element(offset, (size_t)p->mode[i])
                 : NULL;
  return offset;
}

/* The expression of the coordinate that 'x' is mapped to, moved by 'offset' (NULL: not). */
static void say_coordinate(ltD_emitter *e, const lt_value *profile, const ltD_path *p, int *number,
                           const lt_value *offset) {
  if (!ltA_is_tuple(profile)) {
    const lt_value *moved = offset == NULL ? NULL : part_at(offset, p);
    ltD_say(e, "c%d(x)", (*number)++);
    if (moved == NULL) return;
    ltD_say(e, " + ");
    ltD_say_leaf(e, moved);
    return;
  }
  int mode = 0;
  ltD_say(e, "lutile::make_coord(");
  for (const lt_value *x = ltA_first(profile); x < ltA_next(profile); x = ltA_next(x)) {
    ltD_path child = ltD_step(*p, mode);
    if (mode++ > 0) ltD_say(e, ", ");
    say_coordinate(e, x, &child, number, offset);
  }
  ltD_say(e, ")");
}

static void say_coordinate_function(ltD_emitter *e, const lt_value *offset) {
  const lt_value *profile = lt_coprofile(e->arena, e->domain);
  ltD_path root = {0};
  int number = 0;
  if (profile == NULL) return;
  say_components(e, profile, &root, &number);
  number = 0;
  ltD_say(e,
          "  template <class... C> LUTILE_FN auto operator()(C... c) const { auto x = "
          "lutile::one(c...); return ");
  say_coordinate(e, profile, &root, &number, offset);
  ltD_say(e, "; }\n");
}

/* ---- Integers as results --------------------------------------------------------------------- */

static void say_swizzle(ltD_emitter *e, const lt_value *swizzle) {
  ltA_swizzle s = ltA_unpack_swizzle(swizzle);
  ltD_say(e, "  %s index swizzle(index x)%s { return x", e->before, e->after);
  if (s.bits > 0) {
    ltD_say(e, " ^ ((x & ");
    ltD_say_number(e, (int64_t)s.y);
    ltD_say(e, s.shift >= 0 ? ") >> %d)" : ") << %d)", s.shift >= 0 ? s.shift : -s.shift);
  }
  ltD_say(e, "; }\n");
}

static void say_plain(ltD_emitter *e, const char *name, const lt_value *layout) {
  ltD_component c = {name, NULL};
  ltD_path root = {0};
  ltD_say_component(e, &c, &root, ltA_shape(layout), ltA_stride(layout));
}

/* operator() of A(inner + B(c)) + outer; each part may be absent. */
static void say_call(ltD_emitter *e, const char *a, const lt_value *inner, const lt_value *outer) {
  ltD_say(e, "  template <class... C> LUTILE_FN index operator()(C... c) const { return %s%s", a,
          a[0] == '\0' ? "" : "(");
  ltD_say(e, "at(lutile::one(c...))");
  if (inner != NULL) {
    ltD_say(e, " + ");
    ltD_say_leaf(e, inner);
  }
  if (a[0] != '\0') ltD_say(e, ")");
  if (outer != NULL) {
    ltD_say(e, " + ");
    ltD_say_leaf(e, outer);
  }
  ltD_say(e, "; }\n");
}

static void say_composed(ltD_emitter *e, const lt_value *composed, const lt_value *outer) {
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

/* The product of all leaves of a shape: a number where they are static. */
static void say_product(ltD_emitter *e, const lt_value *shape) {
  lt_int product = ltA_product(e->arena, shape);
  if (ltA_is_static_int(product)) {
    ltD_say_number(e, product.value);
    return;
  }
  ltD_say(e, "(index(1)");
  for (const lt_value *node = shape; node < ltA_next(shape); node++) {
    if (!ltA_is_integer(node)) continue;
    ltD_say(e, " * ");
    ltD_say_leaf(e, node);
  }
  ltD_say(e, ")");
}

/* A type: lutile::path<0, 1>. */
static void say_path(ltD_emitter *e, const ltD_path *p) {
  ltD_say(e, "lutile::path<");
  for (int i = 0; i < p->depth; i++) ltD_say(e, i == 0 ? "%d" : ", %d", p->mode[i]);
  ltD_say(e, ">");
}

/* size_at and, of a leaf with an integer stride, stride_at for the mode at 'p' and those in it. */
static void say_sizes(ltD_emitter *e, const ltD_path *p, const lt_value *shape,
                      const lt_value *stride) {
  if (ltA_is_tuple(shape)) {
    const lt_value *d = ltA_first(stride);
    int mode = 0;
    for (const lt_value *s = ltA_first(shape); s < ltA_next(shape); s = ltA_next(s)) {
      ltD_path child = ltD_step(*p, mode++);
      say_sizes(e, &child, s, d);
      d = ltA_next(d);
    }
  }
  ltD_say(e, "  %s index size_at(", e->before);
  say_path(e, p);
  ltD_say(e, ")%s { return ", e->after);
  say_product(e, shape);
  ltD_say(e, "; }\n");
  if (!ltA_is_integer(stride)) return;
  ltD_say(e, "  %s index stride_at(", e->before);
  say_path(e, p);
  ltD_say(e, ")%s { return ", e->after);
  ltD_say_leaf(e, stride);
  ltD_say(e, "; }\n");
}

static void say_shape(ltD_emitter *e, const lt_value *shape) {
  if (!ltA_is_tuple(shape)) {
    ltD_say(e, "index(");
    ltD_say_leaf(e, shape);
    ltD_say(e, ")");
    return;
  }
  ltD_say(e, "lutile::make_coord(");
  for (const lt_value *s = ltA_first(shape); s < ltA_next(shape); s = ltA_next(s)) {
    if (s > ltA_first(shape)) ltD_say(e, ", ");
    say_shape(e, s);
  }
  ltD_say(e, ")");
}

/* The sum of (shape - 1) * |stride|. */
static void say_span(ltD_emitter *e, const lt_value *shape, const lt_value *stride) {
  if (!ltA_is_tuple(shape)) {
    ltD_say(e, " + (index(");
    ltD_say_leaf(e, shape);
    ltD_say(e, ") - 1) * lutile::abs(index(");
    ltD_say_leaf(e, stride);
    ltD_say(e, "))");
    return;
  }
  const lt_value *d = ltA_first(stride);
  for (const lt_value *s = ltA_first(shape); s < ltA_next(shape); s = ltA_next(s)) {
    say_span(e, s, d);
    d = ltA_next(d);
  }
}

/* 1 + the span; 0 where an extent is 0, of which only the launch may know. */
static void say_cosize(ltD_emitter *e) {
  const lt_value *shape = ltA_shape(e->domain), *stride = ltA_stride(e->domain);
  if (has_basis(stride)) return;
  ltD_say(e, "  %s index cosize()%s { return ", e->before, e->after);
  if (lt_is_static(e->domain)) {
    const lt_value *cosize = lt_cosize(e->arena, e->domain);
    if (cosize != NULL) ltD_say_number(e, cosize->value);
  } else {
    say_product(e, shape);
    ltD_say(e, " == 0 ? 0 : 1");
    say_span(e, shape, stride);
  }
  ltD_say(e, "; }\n");
}

static void say_extents(ltD_emitter *e) {
  const lt_value *shape = ltA_shape(e->domain);
  ltD_path root = {0};
  ltD_say(e, "  static constexpr int rank = %zu;\n", ltA_rank(shape));
  say_sizes(e, &root, shape, ltA_stride(e->domain));
  ltD_say(e, "  template <int... I> %s index size()%s { return size_at(lutile::path<I...>{}); }\n",
          e->before, e->after);
  ltD_say(e,
          "  template <int... I> %s index stride()%s { return stride_at(lutile::path<I...>{}); }\n",
          e->before, e->after);
  ltD_say(e, "  %s auto shape()%s { return ", e->before, e->after);
  say_shape(e, shape);
  ltD_say(e, "; }\n");
  say_cosize(e);
}

/* ---- The type ------------------------------------------------------------------------------- */

/* The plain layout that coordinates go to. */
static const lt_value *domain_of(const lt_value *v) {
  if (v->kind == LT_TENSOR) v = ltA_tensor_layout(v);
  return v->kind == LT_COMPOSED ? ltA_layout_b(v) : v;
}

static void say_members(ltD_emitter *e) {
  size_t n = lt_cuda_count_dynamic(e->root);
  for (size_t i = 0; i < n; i++) ltD_say(e, "%sd%zu", i == 0 ? "  index " : ", ", i);
  if (n > 0) ltD_say(e, ";\n");
  ltD_say(e, "  static constexpr bool is_static = %s;\n", n == 0 ? "true" : "false");
}

static void say_functions(ltD_emitter *e) {
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

static void say_comment(ltD_emitter *e) {
  char text[256];
  size_t length = lt_cuda_blank_text(e->root, text, sizeof text);
  ltD_say(e, "// %s\n", length < sizeof text ? text : "a layout too long to be shown");
}

bool lt_cuda_emit_layout(lt_arena *arena, const lt_value *layout, const char *name, int index_bits,
                         const lt_cuda_writer *writer) {
  const lt_value *root = lt_cuda_emitted_form(arena, layout);
  if (root == NULL || !check(arena, root)) return false;
  bool is_static = lt_cuda_count_dynamic(root) == 0;
  ltD_emitter e = {arena,
                   writer,
                   root,
                   domain_of(root),
                   is_static ? "static LUTILE_FN" : "LUTILE_FN",
                   is_static ? "" : " const"};
  bool is_narrow = index_bits == 32 || (is_static && lt_cuda_fits_32_bits(root));
  say_comment(&e);
  ltD_say(&e, "struct %s {\n  using index = %s;\n", name, is_narrow ? "int" : "long long");
  say_members(&e);
  if (root->kind == LT_SWIZZLE) {
    say_swizzle(&e, root);
    ltD_say(&e, "  LUTILE_FN index operator()(index x) const { return swizzle(x); }\n");
  } else {
    say_extents(&e);
    say_functions(&e);
  }
  ltD_say(&e, "};\n");
  return !ltA_failed(arena);
}
