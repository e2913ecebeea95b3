/*
** Tensor maps: what TMA copies know of a tensor in global memory, for kernels to take by value.
** Source of the rules: CUDA Driver API, cuTensorMapEncodeTiled.
*/
#include "device.h"

_Static_assert(sizeof(lt_cuda_tensor_map) == sizeof(CUtensorMap), "a kernel's argument");

/* ---- Names ---------------------------------------------------------------------------------- */

typedef struct choice {
  const char *name;
  int value; /* CUDA's enumerator */
  int bytes; /* of an element; that a box's lines may have, 0 for any */
} choice;

static const choice types[] = {
    {"u8", CU_TENSOR_MAP_DATA_TYPE_UINT8, 1},      {"s8", CU_TENSOR_MAP_DATA_TYPE_UINT8, 1},
    {"e4m3", CU_TENSOR_MAP_DATA_TYPE_UINT8, 1},    {"e5m2", CU_TENSOR_MAP_DATA_TYPE_UINT8, 1},
    {"s16", CU_TENSOR_MAP_DATA_TYPE_UINT16, 2},    {"f16", CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2},
    {"bf16", CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2}, {"s32", CU_TENSOR_MAP_DATA_TYPE_INT32, 4},
    {"f32", CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4},   {"tf32", CU_TENSOR_MAP_DATA_TYPE_TFLOAT32, 4},
    {"f64", CU_TENSOR_MAP_DATA_TYPE_FLOAT64, 8},   {NULL, 0, 0}};

/* The last two came with CUDA 12.8's headers. */
static const choice swizzles[] = {{"none", CU_TENSOR_MAP_SWIZZLE_NONE, 0},
                                  {"32B", CU_TENSOR_MAP_SWIZZLE_32B, 32},
                                  {"64B", CU_TENSOR_MAP_SWIZZLE_64B, 64},
                                  {"128B", CU_TENSOR_MAP_SWIZZLE_128B, 128},
                                  {"128B_ATOM_32B", 4, 128},
                                  {"128B_ATOM_64B", 6, 128},
                                  {NULL, 0, 0}};

static const choice promotions[] = {{"none", CU_TENSOR_MAP_L2_PROMOTION_NONE, 0},
                                    {"64B", CU_TENSOR_MAP_L2_PROMOTION_L2_64B, 0},
                                    {"128B", CU_TENSOR_MAP_L2_PROMOTION_L2_128B, 0},
                                    {"256B", CU_TENSOR_MAP_L2_PROMOTION_L2_256B, 0},
                                    {NULL, 0, 0}};

static const choice fills[] = {{"zero", CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE, 0},
                               {"nan", CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA, 0},
                               {NULL, 0, 0}};

static const choice *find(lt_cuda *cuda, const choice *list, const char *what, const char *name) {
  for (const choice *c = list; c->name != NULL; c++)
    if (strcmp(c->name, name) == 0) return c;
  ltD_fail(cuda, LT_INVALID, "tensor_map: no %s '%s'", what, name);
  return NULL;
}

/* ---- Rules ---------------------------------------------------------------------------------- */

enum { UNIT = 16, MOST_BOX = 256, MOST_ELEMENT_STRIDE = 8 };
static const uint64_t most_extent = (uint64_t)1 << 32, most_stride = ((uint64_t)1 << 40) - 1;

static bool check_mode(lt_cuda *cuda, const lt_cuda_tensor_map_request *q, unsigned i) {
  if (q->extents[i] < 1 || q->extents[i] > most_extent)
    return ltD_fail(cuda, LT_INVALID, "tensor_map: extent %u is %llu, not within 1 and 2^32", i,
                    (unsigned long long)q->extents[i]);
  if (q->box[i] < 1 || q->box[i] > MOST_BOX)
    return ltD_fail(cuda, LT_INVALID, "tensor_map: extent %u of the box is %u, not within 1 and %d",
                    i, q->box[i], MOST_BOX);
  if (q->element_strides[i] < 1 || q->element_strides[i] > MOST_ELEMENT_STRIDE)
    return ltD_fail(cuda, LT_INVALID, "tensor_map: element stride %u is %u, not within 1 and %d", i,
                    q->element_strides[i], MOST_ELEMENT_STRIDE);
  return true;
}

/* The stride of mode i + 1: mode 0 is contiguous. */
static bool check_stride(lt_cuda *cuda, const lt_cuda_tensor_map_request *q, unsigned i) {
  if (q->strides[i] % UNIT == 0 && q->strides[i] <= most_stride) return true;
  return ltD_fail(
      cuda, LT_INVALID,
      "tensor_map: the stride of mode %u is %llu bytes, not a multiple of %d below 2^40", i + 1,
      (unsigned long long)q->strides[i], UNIT);
}

static bool check_line(lt_cuda *cuda, const lt_cuda_tensor_map_request *q, const choice *type,
                       const choice *swizzle) {
  unsigned bytes = q->box[0] * (unsigned)type->bytes;
  if (bytes % UNIT != 0)
    return ltD_fail(cuda, LT_INVALID,
                    "tensor_map: a line of the box has %u bytes, not a multiple of %d", bytes,
                    UNIT);
  if (swizzle->bytes != 0 && bytes > (unsigned)swizzle->bytes)
    return ltD_fail(cuda, LT_INVALID,
                    "tensor_map: a line of the box has %u bytes, where swizzle %s has %d", bytes,
                    swizzle->name, swizzle->bytes);
  return true;
}

static bool check(lt_cuda *cuda, const lt_cuda_tensor_map_request *q, const choice *type,
                  const choice *swizzle) {
  if (q->rank < 1 || q->rank > LT_CUDA_TENSOR_MAP_RANK)
    return ltD_fail(cuda, LT_INVALID, "tensor_map: %u modes, where 1 to %d will do", q->rank,
                    LT_CUDA_TENSOR_MAP_RANK);
  if (q->address % UNIT != 0)
    return ltD_fail(cuda, LT_INVALID,
                    "tensor_map: the tensor starts at 0x%llx, not a multiple of %d bytes",
                    (unsigned long long)q->address, UNIT);
  for (unsigned i = 0; i < q->rank; i++)
    if (!check_mode(cuda, q, i)) return false;
  for (unsigned i = 0; i + 1 < q->rank; i++)
    if (!check_stride(cuda, q, i)) return false;
  return check_line(cuda, q, type, swizzle);
}

/* ---- Encoding ------------------------------------------------------------------------------- */

static bool encode(lt_cuda *cuda, const lt_cuda_tensor_map_request *q, const choice *type,
                   const choice *swizzle, const choice *promotion, const choice *fill,
                   lt_cuda_tensor_map *out) {
  CUtensorMap map; /* aligned as CUDA asks for, which 'out' need not be */
  CUresult result = cuda->driver.cuTensorMapEncodeTiled(
      &map, (CUtensorMapDataType)type->value, q->rank, (void *)(uintptr_t)q->address, q->extents,
      q->strides, q->box, q->element_strides, CU_TENSOR_MAP_INTERLEAVE_NONE,
      (CUtensorMapSwizzle)swizzle->value, (CUtensorMapL2promotion)promotion->value,
      (CUtensorMapFloatOOBfill)fill->value);
  if (!ltD_check(cuda, result, "cuTensorMapEncodeTiled")) return false;
  memcpy(out, &map, sizeof *out);
  return true;
}

bool lt_cuda_encode_tensor_map(lt_cuda *cuda, const lt_cuda_tensor_map_request *q,
                               lt_cuda_tensor_map *out) {
  if (!lt_cuda_available(cuda)) return false;
  if (cuda->driver.cuTensorMapEncodeTiled == NULL)
    return ltD_fail(cuda, LT_DEVICE,
                    "the NVIDIA driver is too old: it has no cuTensorMapEncodeTiled");
  const choice *type = find(cuda, types, "elements of", q->type);
  const choice *swizzle = type == NULL ? NULL : find(cuda, swizzles, "swizzle", q->swizzle);
  const choice *promotion =
      swizzle == NULL ? NULL : find(cuda, promotions, "l2Promotion", q->l2_promotion);
  const choice *fill = promotion == NULL ? NULL : find(cuda, fills, "oobFill", q->oob_fill);
  return fill != NULL && check(cuda, q, type, swizzle) &&
         encode(cuda, q, type, swizzle, promotion, fill, out);
}

uint64_t lt_cuda_tensor_map_reach(const lt_cuda_tensor_map_request *q) {
  uint64_t reach = 0;
  for (unsigned i = 1; i < q->rank; i++) {
    uint64_t last;
    if (__builtin_mul_overflow(q->extents[i] - 1, q->strides[i - 1], &last) ||
        __builtin_add_overflow(reach, last, &reach))
      return UINT64_MAX;
  }
  for (const choice *c = types; c->name != NULL; c++)
    if (strcmp(c->name, q->type) == 0) reach += q->extents[0] * (uint64_t)c->bytes;
  return reach;
}
