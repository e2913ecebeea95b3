/*
** What is done to all elements of tensors: fill, clear, copy, copy_if, convert, transform, axpby.
*/
#include "operations.h"
#include "tiles.h"

/* ---- Fill, copy ----------------------------------------------------------------------------- */

static int fill_with(lua_State *L, ltL_state *S, const char *function, lt_number x) {
  lt_tensor t = ltL_check_core(L, S, function, 1, "tensor");
  if (ltT_fill(S->arena, function, &t, x)) return 0;
  return ltL_raise_fault(L, S, function, (lt_tensor *[]){&t}, (int[]){1}, 1);
}

static int clear(lua_State *L) { return fill_with(L, ltL_begin(L), "clear", (lt_number){0, 0}); }

/* fill(t, x) */
static int fill(lua_State *L) {
  return fill_with(L, ltL_begin(L), "fill", ltL_check_element_value(L, 2, "fill"));
}

static int copy_tensors(lua_State *L, ltL_state *S, const char *function, lt_tensor *predicate,
                        int source_slot) {
  lt_tensor source = ltL_check_core(L, S, function, source_slot, "source");
  lt_tensor target = ltL_check_core(L, S, function, source_slot + 1, "target");
  if (ltT_copy(S->arena, function, predicate, &source, &target)) return 0;
  int slots[] = {source_slot - 1, source_slot, source_slot + 1};
  return ltL_raise_fault(L, S, function, (lt_tensor *[]){predicate, &source, &target}, slots, 3);
}

static bool is_on_device(lua_State *L, const ltL_state *S, int index) {
  const ltL_tensor *t = ltL_test_tensor(L, S, index);
  return t != NULL && t->buffer == NULL;
}

/* lutile.cuda.copy(source, target) */
static int copy_by_cuda(lua_State *L) {
  ltL_require(L, "copy", "lutile.cuda");
  lua_getfield(L, -1, "copy");
  lua_pushvalue(L, 1);
  lua_pushvalue(L, 2);
  lua_call(L, 2, 0);
  return 0;
}

/* copy(source, target), wherever they are */
int ltL_plain_copy(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  if (is_on_device(L, S, 1) || is_on_device(L, S, 2)) return copy_by_cuda(L);
  return copy_tensors(L, S, "copy", NULL, 1);
}

/* ---- Predicates ----------------------------------------------------------------------------- */

/* Number of elements of what is at 'index': a tensor, or a value with a shape. */
static int64_t count_elements(lua_State *L, ltL_state *S, const char *function, int index) {
  const lt_value *size = lt_size(S->arena, ltL_check_at(L, S, function, index, 'l'));
  if (size == NULL) ltL_raise(L, S);
  return lt_integer_value(size);
}

/* Calls the function at 'index' for each of 'n' elements; pushes a buffer of its answers. */
static ltL_buffer *push_answers(lua_State *L, ltL_state *S, int index, int64_t n) {
  ltL_buffer *answers = ltL_new_buffer(L, S, LT_U8, n, LT_REGISTER);
  for (int64_t i = 0; i < n; i++) {
    lua_pushvalue(L, index);
    lua_pushinteger(L, i);
    lua_call(L, 1, 1);
    answers->buffer.bytes[i] = (uint8_t)lua_toboolean(L, -1);
    lua_pop(L, 1);
  }
  ltT_mark_written(&answers->buffer);
  return answers;
}

/*
** copy_if(predicate, source, target): the predicate is a tensor of b1, or a function of the
** element's index (first mode fastest), which is asked for each.
*/
int ltL_plain_copy_if(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  lua_settop(L, 3);
  if (lua_type(L, 1) != LUA_TFUNCTION) {
    lt_tensor predicate = ltL_check_core(L, S, "copy_if", 1, "predicate");
    return copy_tensors(L, S, "copy_if", &predicate, 2);
  }
  int64_t n = count_elements(L, S, "copy_if", 3);
  ltL_buffer *answers = push_answers(L, S, 1, n);
  ltL_restart(L, S);
  const lt_value *layout = lt_make_layout(S->arena, lt_integer(S->arena, n), NULL);
  if (layout == NULL) return ltL_raise(L, S);
  lt_tensor predicate = {
      .element = LT_U8, .layout = layout, .buffer = &answers->buffer, .name = "predicate"};
  return copy_tensors(L, S, "copy_if", &predicate, 2);
}

/* Whether each element of a counting tensor, a coordinate, is less than the bound everywhere. */
static bool mark_less(ltL_state *S, const lt_value *tensor, const lt_value *bound,
                      lt_tensor *marks) {
  int64_t n = ltT_size(S->arena, marks);
  for (int64_t i = 0; i < n && !ltA_failed(S->arena); i++) {
    ltA_mark mark = ltA_get_mark(S->arena);
    lt_value linear = {i, 0, 1, LT_INTEGER};
    const lt_value *coordinate = lt_apply(S->arena, tensor, &linear);
    bool less = coordinate != NULL && lt_elem_less(S->arena, coordinate, bound);
    ltT_store(LT_B1, marks->buffer->bytes, i, (lt_number){less, 0});
    ltA_release(S->arena, mark);
  }
  ltT_mark_written(marks->buffer);
  return !ltA_failed(S->arena);
}

/*
** elem_less(t, bound) of a counting tensor: a tensor of b1, as copy_if takes it. Of anything else,
** the algebra's own.
*/
static int elem_less(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  const lt_value *tensor = ltL_test(L, S, 1);
  if (tensor == NULL || tensor->kind != LT_TENSOR) {
    return ltL_run(L, S, ltL_find_operation("elem_less"));
  }
  lua_settop(L, 2);
  ltL_check_at(L, S, "elem_less", 2, 's');
  const lt_value *layout = lt_make_layout(S->arena, lt_shape(tensor), NULL);
  ltL_push_owning_tensor(L, S, "elem_less", LT_B1, layout);
  ltL_restart(L, S);
  lt_tensor marks = ltL_check_core(L, S, "elem_less", 3, "result");
  const lt_value *bound = ltL_check_at(L, S, "elem_less", 2, 's');
  return mark_less(S, tensor, bound, &marks) ? 1 : ltL_raise(L, S);
}

/* ---- Convert -------------------------------------------------------------------------------- */

/* The layout of a compact tensor, else one that is compact in its order. */
static const lt_value *converted_layout(ltL_state *S, const lt_value *layout) {
  const lt_value *size = lt_size(S->arena, layout);
  const lt_value *cosize = lt_is_layout(layout) ? lt_cosize(S->arena, layout) : NULL;
  bool is_compact = size != NULL && cosize != NULL && ltA_is_layout(layout) &&
                    lt_integer_value(size) == lt_integer_value(cosize);
  return is_compact ? layout : lt_make_layout_like(S->arena, layout);
}

/* convert(t, dtype): a new tensor; convert(source, target): as copy. */
static int convert(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  if (lua_type(L, 2) != LUA_TSTRING) return copy_tensors(L, S, "convert", NULL, 1);
  lua_settop(L, 2);
  const ltL_tensor *t = ltL_check_tensor(L, S, "convert", 1);
  lt_element element = ltL_check_element(L, "convert", 2);
  ltL_push_owning_tensor(L, S, "convert", element, converted_layout(S, ltL_layout_of(t)));
  ltL_restart(L, S);
  lt_tensor source = ltL_core_tensor(L, t, "source");
  lt_tensor target = ltL_check_core(L, S, "convert", 3, "target");
  if (ltT_copy(S->arena, "convert", NULL, &source, &target)) return 1;
  return ltL_raise_fault(L, S, "convert", (lt_tensor *[]){&source}, (int[]){1}, 1);
}

/* ---- Transform ------------------------------------------------------------------------------ */

/* Pushes element 'i' of the tensor or counting tensor at 'index'. */
static int push_operand(lua_State *L, ltL_state *S, int index, int64_t i) {
  ltL_restart(L, S);
  lt_value linear = {i, 0, 1, LT_INTEGER};
  const lt_value *counting = ltL_test(L, S, index);
  if (counting != NULL) return ltL_push_number(L, S, lt_apply(S->arena, counting, &linear));
  lt_tensor t = ltL_check_core(L, S, "transform", index, "tensor");
  int64_t offset;
  if (!ltT_locate(S->arena, "transform", &t, &linear, LT_READ, &offset))
    ltL_raise_fault(L, S, "transform", (lt_tensor *[]){&t}, &index, 1);
  return ltL_push_element(L, &t, offset);
}

static void store_result(lua_State *L, ltL_state *S, int index, int64_t i) {
  ltL_restart(L, S);
  lt_value linear = {i, 0, 1, LT_INTEGER};
  lt_tensor t = ltL_check_core(L, S, "transform", index, "target");
  int64_t offset;
  if (!ltT_locate(S->arena, "transform", &t, &linear, LT_WRITE, &offset))
    ltL_raise_fault(L, S, "transform", (lt_tensor *[]){&t}, &index, 1);
  ltT_store(t.element, t.buffer->bytes, offset, ltL_check_element_value(L, -1, "transform"));
}

static void check_same_size(lua_State *L, ltL_state *S, int64_t n, int index) {
  int64_t m = count_elements(L, S, "transform", index);
  if (m != n)
    luaL_error(L, "transform: argument %d has %I elements, the target %I", index, (LUAI_UACINT)m,
               (LUAI_UACINT)n);
}

/* transform(t, f): t = f(t); transform(a, t, f): t = f(a); transform(a, b, t, f): t = f(a, b). */
static int transform(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  int function = lua_gettop(L), target = function - 1;
  if (function < 2 || function > 4)
    return luaL_error(L, "transform: 1 to 3 tensors and a function expected");
  luaL_checktype(L, function, LUA_TFUNCTION);
  ltL_check_core(L, S, "transform", target, "target");
  int operands = target == 1 ? 1 : target - 1;
  int64_t n = count_elements(L, S, "transform", target);
  for (int k = 1; k <= operands; k++) check_same_size(L, S, n, k);
  for (int64_t i = 0; i < n; i++) {
    int arguments = 0;
    lua_pushvalue(L, function);
    for (int k = 1; k <= operands; k++) arguments += push_operand(L, S, k, i);
    lua_call(L, arguments, 1);
    store_result(L, S, target, i);
    lua_pop(L, 1);
  }
  return 0;
}

/* ---- Arithmetic ----------------------------------------------------------------------------- */

/* axpby(alpha, x, beta, y): y = alpha * x + beta * y */
static int axpby(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  double alpha = luaL_checknumber(L, 1), beta = luaL_checknumber(L, 3);
  lt_tensor x = ltL_check_core(L, S, "axpby", 2, "x");
  lt_tensor y = ltL_check_core(L, S, "axpby", 4, "y");
  if (ltT_axpby(S->arena, alpha, &x, beta, &y)) return 0;
  return ltL_raise_fault(L, S, "axpby", (lt_tensor *[]){&x, &y}, (int[]){2, 4}, 2);
}

/* x:axpby(alpha, beta, y) */
static int axpby_of(lua_State *L) {
  lua_settop(L, 4);
  luaL_checknumber(L, 2); /* here, where the arguments are still where the caller wrote them */
  luaL_checknumber(L, 3);
  lua_pushvalue(L, 1);
  lua_copy(L, 2, 1);
  lua_replace(L, 2);
  return axpby(L);
}

/* ---- The module ----------------------------------------------------------------------------- */

static const luaL_Reg functions[] = {{"axpby", axpby},
                                     {"clear", clear},
                                     {"convert", convert},
                                     {"copy", ltL_plain_copy},
                                     {"copy_if", ltL_plain_copy_if},
                                     {"fill", fill},
                                     {"transform", transform},
                                     {NULL, NULL}};

/* Those whose first argument is the tensor itself. */
static const luaL_Reg methods[] = {{"axpby", axpby_of},      {"clear", clear},
                                   {"convert", convert},     {"fill", fill},
                                   {"transform", transform}, {NULL, NULL}};

/* Puts elem_less before the algebra's, in the module at the top. */
static void wrap_elem_less(lua_State *L) {
  ltL_push_state(L);
  lua_pushcclosure(L, elem_less, 1);
  lua_setfield(L, -2, "elem_less");
}

void ltL_open_algorithms(lua_State *L) {
  wrap_elem_less(L);
  ltL_set_tile_functions(L, functions);
  ltL_push_tensor_methods(L);
  ltL_set_tile_functions(L, methods);
  lua_pop(L, 1);
}
