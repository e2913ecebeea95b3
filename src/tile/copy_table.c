/*
** The table of copy operations. Sources: PTX ISA, "Warp-level matrix load instruction: ldmatrix",
** "stmatrix", "movmatrix", "cp.async"; CuTe's copy_traits_*.hpp for the names, and for the order of
** bits, which is free.
*/
#include "copy_table.h"

#include <stddef.h>

#define ONE_WORD "(1,W):(0,1)"
#define ONE_256 "(1,256):(0,1)"
#define NOTHING "(1,1):(0,0)"

/* Rows of 16 bytes in shared memory: 8, 16 or 32 threads point to one each. */
#define ROWS_8 "((8,4),128):((128,0),1)"
#define ROWS_16 "((16,2),128):((128,0),1)"
#define ROWS_32 "(32,128):(128,1)"
/* The rows of pairs of 8x16 tiles, as the transposed byte forms read them. */
#define ROWS_U8_16 "((2,2,4,2),128):((128,1024,256,0),1)"
#define ROWS_U8_32 "((2,2,4,2),128):((128,1024,256,2048),1)"

/* Registers: thread t holds 32 bits of row t/4 of each 8x16-byte matrix, */
#define MATRIX_1 "(32,32):(32,1)"
#define MATRIX_2 "(32,(32,2)):(32,(1,1024))"
#define MATRIX_4 "(32,(32,4)):(32,(1,1024))"
/* or of two rows of its transpose, in elements of 16 bits, */
#define TRANSPOSED_1 "((4,8),(16,2)):((256,16),(1,128))"
#define TRANSPOSED_2 "((4,8),(16,2,2)):((256,16),(1,128,1024))"
#define TRANSPOSED_4 "((4,8),(16,2,4)):((256,16),(1,128,1024))"
/* or of 8 bits. */
#define BYTES_1 "((4,8),(8,2,2)):((256,8),(1,128,64))"
#define BYTES_2 "((4,8),(8,2,2,2)):((256,8),(1,128,64,1024))"
#define BYTES_4 "((4,8),(8,2,2,4)):((256,8),(1,128,64,1024))"

#define PAIR "(32,64):(64,1)"
#define WORD(name, widths, way, bits, layout) \
  { name, widths, way, bits, layout, layout, .packed_bits = 0 }
#define ASYNC(name, widths, zeros) \
  { name, widths, LT_COPY_ASYNC, 0, ONE_WORD, ONE_WORD, .fills_zeros = zeros }
#define LOAD(name, rows, registers) \
  { name, NULL, LT_COPY_LOAD, 128, rows, registers, .refers_to_target = true }
#define UNPACK(name, rows, registers, bits) \
  { name, NULL, LT_COPY_LOAD, 128, rows, registers, .refers_to_target = true, .packed_bits = bits }
#define STORE(name, registers, rows) \
  { name, NULL, LT_COPY_STORE, 128, registers, rows, .packed_bits = 0 }
#define REGISTERS(name, from, to, moved) \
  { name, NULL, LT_COPY_REGISTERS, 32, from, to, .moved_target = moved }

/* clang-format off */
const ltT_copy_family ltT_copy_families[] = {
    WORD("UniversalCopy<", NULL, LT_COPY_ANY, 0, ONE_WORD),
    WORD("AutoVectorizingCopyWithAssumedAlignment<", "8 16 32 64 128 256", LT_COPY_AUTO, 0, NOTHING),

    REGISTERS("SM50_Shuffle_U32_2x2Trans_XOR1", PAIR, "((2,16),(32,2)):((32,128),(1,64))", NULL),
    REGISTERS("SM50_Shuffle_U32_2x2Trans_XOR4", PAIR, "((4,2,4),(32,2)):((64,32,512),(1,256))", NULL),

    LOAD("SM75_U32x1_LDSM_N", ROWS_8, MATRIX_1),
    LOAD("SM75_U32x2_LDSM_N", ROWS_16, MATRIX_2),
    LOAD("SM75_U32x4_LDSM_N", ROWS_32, MATRIX_4),
    LOAD("SM75_U16x2_LDSM_T", ROWS_8, TRANSPOSED_1),
    LOAD("SM75_U16x4_LDSM_T", ROWS_16, TRANSPOSED_2),
    LOAD("SM75_U16x8_LDSM_T", ROWS_32, TRANSPOSED_4),
    REGISTERS("SM75_U32x1_MOVM_T", MATRIX_1, MATRIX_1, TRANSPOSED_1),

    ASYNC("SM80_CP_ASYNC_CACHEALWAYS<", "32 64 128", false),
    ASYNC("SM80_CP_ASYNC_CACHEGLOBAL<", "128", false),
    ASYNC("SM80_CP_ASYNC_CACHEALWAYS_ZFILL<", "32 64 128", true),
    ASYNC("SM80_CP_ASYNC_CACHEGLOBAL_ZFILL<", "128", true),

    STORE("SM90_U32x1_STSM_N", MATRIX_1, ROWS_8),
    STORE("SM90_U32x2_STSM_N", MATRIX_2, ROWS_16),
    STORE("SM90_U32x4_STSM_N", MATRIX_4, ROWS_32),
    STORE("SM90_U16x2_STSM_T", TRANSPOSED_1, ROWS_8),
    STORE("SM90_U16x4_STSM_T", TRANSPOSED_2, ROWS_16),
    STORE("SM90_U16x8_STSM_T", TRANSPOSED_4, ROWS_32),

    WORD("SM100_LOAD_256bit_CACHE_NOALLOCATION", NULL, LT_COPY_GLOBAL, 256, ONE_256),
    WORD("SM100_STORE_256bit_CACHE_NOALLOCATION", NULL, LT_COPY_GLOBAL, 256, ONE_256),
    LOAD("SM100_U8x8_LDSM_T", ROWS_U8_16, BYTES_2),
    LOAD("SM100_U8x16_LDSM_T", ROWS_U8_32, BYTES_4),
    UNPACK("SM100_SU4_DU8x16_x1_LDSM_N", ROWS_8, MATRIX_1, 4),
    UNPACK("SM100_SU4_DU8x16_x2_LDSM_N", ROWS_16, MATRIX_2, 4),
    UNPACK("SM100_SU4_DU8x16_x4_LDSM_N", ROWS_32, MATRIX_4, 4),
    UNPACK("SM100_SU6_DU8x16_x1_LDSM_N", ROWS_8, MATRIX_1, 6),
    UNPACK("SM100_SU6_DU8x16_x2_LDSM_N", ROWS_16, MATRIX_2, 6),
    UNPACK("SM100_SU6_DU8x16_x4_LDSM_N", ROWS_32, MATRIX_4, 6),
    STORE("SM100_U8x4_STSM_T", BYTES_1, ROWS_8),
    STORE("SM100_U8x8_STSM_T", BYTES_2, ROWS_16),
    STORE("SM100_U8x16_STSM_T", BYTES_4, ROWS_32),
    {.name = NULL}
};
/* clang-format on */
