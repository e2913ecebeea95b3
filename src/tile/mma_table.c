/*
** The table of MMA atoms. Sources: PTX ISA, "Matrix fragments for mma.m8n8k4" and following (each
** figure there is a layout here), "wgmma" register fragments, and CuTe's mma_traits_*.hpp for
** the names. For AMD's matrix cores the ISA guides of CDNA3 ("Matrix Arithmetic Instructions") and
** RDNA3 ("Wave Matrix Multiply Accumulate"), for Intel's tiles the AMX chapter of the instruction set
** extensions reference, names after CuTe's; for Xe's DPAS the traits of Intel's CuTe, whose names
** these are.
*/
#include "mma_table.h"

/* 32 threads in rows of 4: thread t holds columns 2(t%4) and on, of row t/4 (and t/4 + 8). */
#define WARP "32:1"
#define C_8x8 "((4,8),2):((16,1),8)"
#define C_16x8 "((4,8),(2,2)):((32,1),(16,8))"

/* A of 16 rows: r values a register along K, the second register 8 rows below, and so on. */
#define A_16x4 "((4,8),2):((16,1),8)"
#define A_16x8_WIDE "((4,8),(2,2)):((16,1),(8,64))"
#define A_16x16_F64 "((4,8),(2,4)):((16,1),(8,64))"
#define A_16x8 "((4,8),(2,2)):((32,1),(16,8))"
#define A_16x16 "((4,8),(2,2,2)):((32,1),(16,8,128))"
#define A_16x16_S8 "((4,8),(4,2)):((64,1),(16,8))"
#define A_16x32 "((4,8),(4,2,2)):((64,1),(16,8,256))"
#define A_16x32_S4 "((4,8),(8,2)):((128,1),(16,8))"
#define A_16x64 "((4,8),(8,2,2)):((128,1),(16,8,512))"
#define A_16x128 "((4,8),(32,2)):((512,1),(16,8))"
#define A_16x256 "((4,8),(32,2,2)):((512,1),(16,8,2048))"

/* B of 8 columns, and A of 8 rows. */
#define B_8x4 "((4,8),1):((8,1),0)"
#define B_8x8_WIDE "((4,8),2):((8,1),32)"
#define B_8x16_F64 "((4,8),4):((8,1),32)"
#define B_8x8 "((4,8),2):((16,1),8)"
#define B_8x16 "((4,8),(2,2)):((16,1),(8,64))"
#define B_8x16_S8 "((4,8),4):((32,1),8)"
#define B_8x32 "((4,8),(4,2)):((32,1),(8,128))"
#define B_8x32_S4 "((4,8),(8)):((64,1),(8))"
#define B_8x64 "((4,8),(8,2)):((64,1),(8,256))"
#define B_8x128 "((4,8),32):((256,1),8)"
#define B_8x256 "((4,8),(32,2)):((256,1),(8,1024))"

/* Volta's quadpair: 8 threads, a row or a column each, or four of each of two. */
#define QUADPAIR "(4,2):(1,16)"
#define QP_ROW "(8,4):(1,8)"
#define QP_COLUMN "((4,2),4):((8,4),1)"
#define QP_C16 "(8,8):(1,8)"
#define QP_C32 "((2,2,2),(2,2,2)):((1,16,4),(8,2,32))"

/* Warpgroups: four warps below each other; operands in shared memory are seen by all threads. */
#define GROUP "128:1"
#define C_64xN "((4,8,4),(2,2,n)):((128,1,16),(64,8,512))"
#define A_64x8 "((4,8,4),(2,2)):((64,1,16),(8,256))"
#define A_64x16 "((4,8,4),(2,2,2)):((128,1,16),(64,8,512))"
#define A_64x32 "((4,8,4),(4,2,2)):((256,1,16),(64,8,1024))"
#define A_SHARED "(128,(M,K)):(0,(1,M))"
#define B_SHARED "(128,(N,K)):(0,(1,N))"

#define ONE "1:0"
#define ONE_VALUE "(1,1):(0,0)"
#define DOT_2 "(1,2):(0,1)"
#define DOT_4 "(1,4):(0,1)"

/* AMD's wavefronts of 64: lane l holds row or column l%32 (or l%16) and a run of K. */
#define WAVE "64:1"
#define M_32x2 "((32,2),1):((1,32),0)"
#define M_32x4 "((32,2),2):((1,64),32)"
#define M_32x8 "((32,2),4):((1,128),32)"
#define M_32x16 "((32,2),8):((1,256),32)"
#define M_16x4 "((16,4),1):((1,16),0)"
#define M_16x8 "((16,4),2):((1,32),16)"
#define M_16x16 "((16,4),4):((1,64),16)"
#define M_16x32 "((16,4),8):((1,128),16)"
#define C_32x32 "((32,2),(4,4)):((32,4),(1,8))"
#define C_16x16 "((16,4),4):((16,4),1)"
#define C_16x16_F64 "((16,4),4):((16,1),4)"

/* Intel's tile registers, of one thread: rows of 64 bytes; those of B hold 2 or 4 rows of it. */
#define TILE_A "(1,(K,16)):(0,(16,1))"
#define TILE_B16 "(1,(2,16,16)):(0,(16,1,32))"
#define TILE_B8 "(1,(4,16,16)):(0,(16,1,64))"
#define TILE_C "(1,(16,16)):(0,(16,1))"

/* A family without special fields. */
#define ROW(...) \
  { __VA_ARGS__, .naming = LT_FOUR_TYPES }

/* RDNA3: a lane holds a row of A and a column of B, lanes 16 and on the same as 0 and on. */
#define RDNA_AB "((16,2),16):((1,0),16)"
#define RDNA_C "((16,2),8):((16,1),2)"

/* Xe: 16 lanes hold a column of A (or two, or half a one), of B and of C each. 'twice' is 2 m. */
#define XE_16(m, type)                                                                           \
  ROW("XE_" #m "x16x16_", "F32", type, type, "_TT", m, 16, 16, "16:1", "(16," #m "):(" #m ",1)", \
      "(16,16):(1,16)", "(16," #m "):(" #m ",1)")
#define XE_8(m, twice, type)                                           \
  ROW("XE_" #m "x16x32_", "S32", type, type, "_TT", m, 16, 32, "16:1", \
      "(16,(2," #m ")):(" #twice ",(" #m ",1))", "(16,32):(1,16)", "(16," #m "):(" #m ",1)")
#define XE_32(m, half)                                                   \
  ROW("XE_" #m "x16x8_", "F32", "TF32", "TF32", "_TT", m, 16, 8, "16:1", \
      "((8,2)," #half "):((" #m ",1),2)", "(16,8):(1,16)", "(16," #m "):(" #m ",1)")

#define SATURATE "_TN _TN_SATURATE"
#define POPCOUNT "_TN_XORPOPC _TN_ANDPOPC"
#define FP8 "E4M3 E5M2"
#define FNUZ "E4M3FNUZ E5M2FNUZ"
#define FP864 "E2M1 E2M3 E3M2 E4M3 E5M2"

/* clang-format off */
const ltT_mma_family ltT_mma_families[] = {
    /* prefix, D, A, B, suffixes, M, N, K, threads, A, B, C */
    {"SM61_DP4A", "S32", "S8", "S8", "", 1, 1, 4, ONE, DOT_4, DOT_4, ONE_VALUE, .naming = LT_NO_TYPES},
    {"SM61_DP2A", "S32", "S16", "S16", "", 1, 1, 2, ONE, DOT_2, DOT_2, ONE_VALUE, .naming = LT_NO_TYPES},

    ROW("SM70_8x8x4_", "F16", "F16", "F16", "_TN", 8, 8, 4, QUADPAIR, QP_ROW, QP_ROW, QP_C16),
    ROW("SM70_8x8x4_", "F16", "F16", "F16", "_NT", 8, 8, 4, QUADPAIR, QP_COLUMN, QP_COLUMN, QP_C16),
    ROW("SM70_8x8x4_", "F16", "F16", "F16", "_NN", 8, 8, 4, QUADPAIR, QP_COLUMN, QP_ROW, QP_C16),
    ROW("SM70_8x8x4_", "F16", "F16", "F16", "_TT", 8, 8, 4, QUADPAIR, QP_ROW, QP_COLUMN, QP_C16),
    ROW("SM70_8x8x4_", "F32", "F16", "F16", "_TN", 8, 8, 4, QUADPAIR, QP_ROW, QP_ROW, QP_C32),
    ROW("SM70_8x8x4_", "F32", "F16", "F16", "_NT", 8, 8, 4, QUADPAIR, QP_COLUMN, QP_COLUMN, QP_C32),
    ROW("SM70_8x8x4_", "F32", "F16", "F16", "_NN", 8, 8, 4, QUADPAIR, QP_COLUMN, QP_ROW, QP_C32),
    ROW("SM70_8x8x4_", "F32", "F16", "F16", "_TT", 8, 8, 4, QUADPAIR, QP_ROW, QP_COLUMN, QP_C32),

    ROW("SM75_16x8x8_", "F16", "F16", "F16", "_TN", 16, 8, 8, WARP, A_16x8, B_8x8, C_16x8),
    ROW("SM75_16x8x8_", "F32", "F16", "F16", "_TN", 16, 8, 8, WARP, A_16x8, B_8x8, C_16x8),
    ROW("SM75_8x8x16_", "S32", "S8", "S8", "_TN", 8, 8, 16, WARP, B_8x16_S8, B_8x16_S8, C_8x8),

    ROW("SM80_16x8x8_", "F16", "F16", "F16", "_TN", 16, 8, 8, WARP, A_16x8, B_8x8, C_16x8),
    ROW("SM80_16x8x8_", "F32", "F16", "F16", "_TN", 16, 8, 8, WARP, A_16x8, B_8x8, C_16x8),
    ROW("SM80_16x8x8_", "F32", "BF16", "BF16", "_TN", 16, 8, 8, WARP, A_16x8, B_8x8, C_16x8),
    ROW("SM80_16x8x8_", "F32", "TF32", "TF32", "_TN", 16, 8, 8, WARP, A_16x8_WIDE, B_8x8_WIDE, C_16x8),
    ROW("SM80_16x8x4_", "F32", "TF32", "TF32", "_TN", 16, 8, 4, WARP, A_16x4, B_8x4, C_16x8),
    ROW("SM80_16x8x16_", "F16", "F16", "F16", "_TN", 16, 8, 16, WARP, A_16x16, B_8x16, C_16x8),
    ROW("SM80_16x8x16_", "F32", "F16", "F16", "_TN", 16, 8, 16, WARP, A_16x16, B_8x16, C_16x8),
    ROW("SM80_16x8x16_", "F32", "BF16", "BF16", "_TN", 16, 8, 16, WARP, A_16x16, B_8x16, C_16x8),
    ROW("SM80_8x8x4_", "F64", "F64", "F64", "_TN", 8, 8, 4, WARP, B_8x4, B_8x4, C_8x8),
    ROW("SM80_8x8x4_", "C64", "C64", "C64", "_TN", 8, 8, 4, WARP, B_8x4, B_8x4, C_8x8),
    ROW("SM80_8x8x4_", "GC64", "C64", "C64", "_TN", 8, 8, 4, WARP, B_8x4, B_8x4, C_8x8),
    ROW("SM80_8x8x16_", "S32", "S8 U8", "S8 U8", SATURATE, 8, 8, 16, WARP, B_8x16_S8, B_8x16_S8, C_8x8),
    ROW("SM80_16x8x16_", "S32", "S8 U8", "S8 U8", SATURATE, 16, 8, 16, WARP, A_16x16_S8, B_8x16_S8, C_16x8),
    ROW("SM80_16x8x32_", "S32", "S8 U8", "S8 U8", SATURATE, 16, 8, 32, WARP, A_16x32, B_8x32, C_16x8),
    ROW("SM80_8x8x32_", "S32", "S4 U4", "S4 U4", SATURATE, 8, 8, 32, WARP, B_8x32_S4, B_8x32_S4, C_8x8),
    ROW("SM80_16x8x32_", "S32", "S4 U4", "S4 U4", SATURATE, 16, 8, 32, WARP, A_16x32_S4, B_8x32_S4, C_16x8),
    ROW("SM80_16x8x64_", "S32", "S4 U4", "S4 U4", SATURATE, 16, 8, 64, WARP, A_16x64, B_8x64, C_16x8),
    ROW("SM80_8x8x128_", "S32", "U1", "U1", POPCOUNT, 8, 8, 128, WARP, B_8x128, B_8x128, C_8x8),
    ROW("SM80_16x8x128_", "S32", "U1", "U1", POPCOUNT, 16, 8, 128, WARP, A_16x128, B_8x128, C_16x8),
    ROW("SM80_16x8x256_", "S32", "U1", "U1", POPCOUNT, 16, 8, 256, WARP, A_16x256, B_8x256, C_16x8),

    ROW("SM89_16x8x32_", "F16 F32", FP8, FP8, "_TN", 16, 8, 32, WARP, A_16x32, B_8x32, C_16x8),

    ROW("SM90_16x8x4_", "F64", "F64", "F64", "_TN", 16, 8, 4, WARP, A_16x4, B_8x4, C_16x8),
    ROW("SM90_16x8x8_", "F64", "F64", "F64", "_TN", 16, 8, 8, WARP, A_16x8_WIDE, B_8x8_WIDE, C_16x8),
    ROW("SM90_16x8x16_", "F64", "F64", "F64", "_TN", 16, 8, 16, WARP, A_16x16_F64, B_8x16_F64, C_16x8),
    ROW("SM90_16x8x4_", "C64", "C64", "C64", "_TN", 16, 8, 4, WARP, A_16x4, B_8x4, C_16x8),
    ROW("SM90_16x8x8_", "C64", "C64", "C64", "_TN", 16, 8, 8, WARP, A_16x8_WIDE, B_8x8_WIDE, C_16x8),
    ROW("SM90_16x8x16_", "C64", "C64", "C64", "_TN", 16, 8, 16, WARP, A_16x16_F64, B_8x16_F64, C_16x8),

    {"SM90_64xNx16_", "F16 F32", "F16", "F16", "_RS _SS", 64, 0, 16, GROUP, A_64x16, B_SHARED, C_64xN, .naming = LT_THREE_TYPES},
    {"SM90_64xNx16_", "F32", "BF16", "BF16", "_RS _SS", 64, 0, 16, GROUP, A_64x16, B_SHARED, C_64xN, .naming = LT_THREE_TYPES},
    {"SM90_64xNx8_", "F32", "TF32", "TF32", "_RS_TN _SS_TN", 64, 0, 8, GROUP, A_64x8, B_SHARED, C_64xN, .naming = LT_THREE_TYPES},
    {"SM90_64xNx32_", "F16 F32", FP8, FP8, "_RS_TN _SS_TN", 64, 0, 32, GROUP, A_64x32, B_SHARED, C_64xN, .naming = LT_THREE_TYPES},
    {"SM90_64xNx32_", "S32", "S8 U8", "S8 U8", "_RS_TN _SS_TN _RS_TN_SATURATE _SS_TN_SATURATE", 64, 0, 32, GROUP, A_64x32, B_SHARED, C_64xN, .naming = LT_THREE_TYPES},

    /* Numbers of 8, 6 and 4 bits in bytes; e2m1 stands in bits 2 to 5 of its byte. */
    {"SM120_16x8x32_", "F16 F32", FP864, FP864, "_TN", 16, 8, 32, WARP, A_16x32, B_8x32, C_16x8, .container = "U8"},
    {"SM120_16x8x32_", "F32", FP864, FP864, "_UE8M0_VS32_TN", 16, 8, 32, WARP, A_16x32, B_8x32, C_16x8, .container = "U8", .scale = "UE8M0", .scale_vector = 32},
    {"SM120_16x8x64_", "F32", "E2M1", "E2M1", "_UE8M0_VS32_TN", 16, 8, 64, WARP, A_16x64, B_8x64, C_16x8, .container = "U4", .scale = "UE8M0", .scale_vector = 32},
    {"SM120_16x8x64_", "F32", "E2M1", "E2M1", "_UE8M0_VS16_TN", 16, 8, 64, WARP, A_16x64, B_8x64, C_16x8, .container = "U4", .scale = "UE8M0", .scale_vector = 16},
    {"SM120_16x8x64_", "F32", "E2M1", "E2M1", "_UE4M3_VS32_TN", 16, 8, 64, WARP, A_16x64, B_8x64, C_16x8, .container = "U4", .scale = "UE4M3", .scale_vector = 32},
    {"SM120_16x8x64_", "F32", "E2M1", "E2M1", "_UE4M3_VS16_TN", 16, 8, 64, WARP, A_16x64, B_8x64, C_16x8, .container = "U4", .scale = "UE4M3", .scale_vector = 16},

    ROW("CDNA3_32x32x2_", "F32", "F32", "F32", "", 32, 32, 2, WAVE, M_32x2, M_32x2, C_32x32),
    ROW("CDNA3_16x16x4_", "F32", "F32", "F32", "", 16, 16, 4, WAVE, M_16x4, M_16x4, C_16x16),
    ROW("CDNA3_32x32x4_", "F32", "TF32", "TF32", "", 32, 32, 4, WAVE, M_32x4, M_32x4, C_32x32),
    ROW("CDNA3_16x16x8_", "F32", "TF32", "TF32", "", 16, 16, 8, WAVE, M_16x8, M_16x8, C_16x16),
    ROW("CDNA3_32x32x8_", "F32", "F16", "F16", "", 32, 32, 8, WAVE, M_32x8, M_32x8, C_32x32),
    ROW("CDNA3_32x32x8_", "F32", "BF16", "BF16", "", 32, 32, 8, WAVE, M_32x8, M_32x8, C_32x32),
    ROW("CDNA3_16x16x16_", "F32", "F16", "F16", "", 16, 16, 16, WAVE, M_16x16, M_16x16, C_16x16),
    ROW("CDNA3_16x16x16_", "F32", "BF16", "BF16", "", 16, 16, 16, WAVE, M_16x16, M_16x16, C_16x16),
    ROW("CDNA3_32x32x16_", "F32", FNUZ, FNUZ, "", 32, 32, 16, WAVE, M_32x16, M_32x16, C_32x32),
    ROW("CDNA3_16x16x32_", "F32", FNUZ, FNUZ, "", 16, 16, 32, WAVE, M_16x32, M_16x32, C_16x16),
    ROW("CDNA3_32x32x16_", "S32", "S8", "S8", "", 32, 32, 16, WAVE, M_32x16, M_32x16, C_32x32),
    ROW("CDNA3_16x16x32_", "S32", "S8", "S8", "", 16, 16, 32, WAVE, M_16x32, M_16x32, C_16x16),
    ROW("CDNA3_16x16x4_", "F64", "F64", "F64", "", 16, 16, 4, WAVE, M_16x4, M_16x4, C_16x16_F64),

    ROW("AMX_16x16x32_", "F32", "BF16", "BF16", "", 16, 16, 32, ONE, TILE_A, TILE_B16, TILE_C),
    ROW("AMX_16x16x32_", "F32", "F16", "F16", "", 16, 16, 32, ONE, TILE_A, TILE_B16, TILE_C),
    ROW("AMX_16x16x64_", "S32", "S8 U8", "S8 U8", "", 16, 16, 64, ONE, TILE_A, TILE_B8, TILE_C),

    ROW("RDNA3_16x16x16_", "F32", "F16", "F16", "", 16, 16, 16, WARP, RDNA_AB, RDNA_AB, RDNA_C),
    ROW("RDNA3_16x16x16_", "F32", "BF16", "BF16", "", 16, 16, 16, WARP, RDNA_AB, RDNA_AB, RDNA_C),
    ROW("RDNA3_16x16x16_", "S32", "S8 U8", "S8 U8", "", 16, 16, 16, WARP, RDNA_AB, RDNA_AB, RDNA_C),

    XE_16(8, "BF16"), XE_16(4, "BF16"), XE_16(2, "BF16"), XE_16(1, "BF16"),
    XE_16(8, "F16"), XE_16(4, "F16"), XE_16(2, "F16"), XE_16(1, "F16"),
    XE_8(8, 16, "S8"), XE_8(4, 8, "S8"), XE_8(2, 4, "S8"), XE_8(1, 2, "S8"),
    XE_8(8, 16, "U8"), XE_8(4, 8, "U8"), XE_8(2, 4, "U8"), XE_8(1, 2, "U8"),
    XE_32(8, 4), XE_32(4, 2), XE_32(2, 1),

    {.prefix = ""}
};
/* clang-format on */
