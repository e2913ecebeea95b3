/*
** Operands of warpgroup MMAs in shared memory: the layouts that the hardware reads, and the
** descriptors that tell it of one.
*/
#ifndef LUTILE_TILE_GMMA_SMEM_H
#define LUTILE_TILE_GMMA_SMEM_H

#include "algebra/value.h"

/* Which mode of an operand, (M or N, K), is contiguous. */
typedef enum ltT_major { LT_MAJOR_MN, LT_MAJOR_K } ltT_major;

/* Bits of the swizzle: rows of 16, 32, 64 and 128 bytes. */
typedef enum ltT_gmma_swizzle {
  LT_GMMA_INTER,
  LT_GMMA_SW32,
  LT_GMMA_SW64,
  LT_GMMA_SW128,
  LT_GMMA_SWIZZLES
} ltT_gmma_swizzle;

/* Fields of a matrix descriptor; offsets and addresses in units of 16 bytes, as it has them. */
typedef struct ltT_gmma_descriptor {
  int layout_type; /* 0 none, 1 128 bytes, 2 64 bytes, 3 32 bytes */
  int64_t start_address;
  int64_t leading_byte_offset;
  int64_t stride_byte_offset;
  int base_offset;
} ltT_gmma_descriptor;

/*
** The smallest layout of elements of 'bits' bits that can be swizzled so; tile_to_shape makes larger
** ones. The swizzle acts on byte addresses (LT_SMEM).
*/
const lt_value *ltT_gmma_smem_atom(lt_arena *arena, ltT_major major, ltT_gmma_swizzle swizzle,
                                   int64_t bits);

/* A layout in shared memory, taken apart: Swizzle o offset o layout, of elements of 'bits' bits. */
typedef struct ltT_gmma_operand {
  ltT_gmma_swizzle swizzle;
  int64_t bits;
  int64_t offset; /* from an address that is a multiple of 1024 bytes, in elements */
  const lt_value *layout;
} ltT_gmma_operand;

/*
** Takes apart 'layout', plain, composed or with an offset; 'bits' 0: as its shared memory form
** says. False with an error that says why the hardware has no such swizzle.
*/
bool ltT_gmma_operand_of(lt_arena *arena, const lt_value *layout, int64_t bits,
                         ltT_gmma_operand *operand);

/* The descriptor of an operand (M or N, K) of one MMA; an error says what it is not. */
bool ltT_make_gmma_desc(lt_arena *arena, ltT_major major, const ltT_gmma_operand *operand,
                        ltT_gmma_descriptor *descriptor);
/* The descriptor as the 64 bits that an instruction takes. */
uint64_t ltT_gmma_desc_bits(const ltT_gmma_descriptor *descriptor);

/*
** Of a part ((M,K),RestM,RestK,...) of an operand: what to add to the first descriptor's start address
** for each of the others, as the layout (1,RestM,RestK,...).
*/
const lt_value *ltT_gmma_desc_layout(lt_arena *arena, const ltT_gmma_operand *part);

#endif
