/*
** A planned matrix product on the host: D = alpha * A * B^T + beta * C, block by block, thread by
** thread and value by value, through the plan's layouts of shared memory, copies and fragments.
**
** Each block keeps a ring of stages of A's and B's tiles in shared memory. Its threads copy tiles
** there (as by cp.async, some stages ahead), meet at a barrier, load their fragments and meet in
** the atoms. Tiles are filled with zeros beyond the matrices.
*/
#ifndef LUTILE_TILE_PLAN_GEMM_H
#define LUTILE_TILE_PLAN_GEMM_H

#include "mma_arithmetic.h"
#include "tiled_mma.h"
#include "traffic.h"

/* How the tiles of A or B, (rows, k), are brought in. */
typedef struct ltT_plan_operand {
  const lt_value *shared; /* (rows, k) -> element of a stage; NULL: compact, k fastest */
  const lt_value *copy;   /* (thread, value) -> index in the tile; NULL: vectors along k in turn */
} ltT_plan_operand;

typedef struct ltT_gemm_plan {
  const ltT_mma_atom *atom;
  const lt_value *mma;
  int64_t tile[3]; /* of a block: M, N, K; multiples of the TiledMMA's */
  int64_t stages;
  ltT_plan_operand operands[2];
} ltT_gemm_plan;

/* Where accesses come from: the sites of a run's actor, from 1 on. */
enum {
  LTT_SITE_LOAD_A = 1,
  LTT_SITE_LOAD_B,
  LTT_SITE_FRAGMENT_A,
  LTT_SITE_FRAGMENT_B,
  LTT_SITE_STORE,
  LTT_PLAN_SITES
};
extern const char *const ltT_plan_sites[LTT_PLAN_SITES];

/* One operand as the run has it. */
typedef struct ltT_plan_side {
  lt_tensor matrix;            /* (rows, k) in global memory */
  int64_t extent[2];           /* of it */
  const int64_t *matrix_at[2]; /* offset of row, of k; NULL where the layout is composed */
  const ltT_operand *operand;
  int64_t rows, k;  /* of a tile */
  lt_tensor shared; /* a stage: its offset goes on with the stage */
  int64_t stage_elements;
  const int64_t *shared_at; /* index in the tile -> element of a stage */
  const int64_t *copy;      /* [value][thread] -> index in the tile */
  int64_t copy_threads, copies, vector;
  const int64_t *fragment; /* [value][slot] -> index in the tile */
  int64_t slots, values;
  uint8_t *registers;
  size_t register_bytes; /* of a thread */
  ltT_tiles tiles;
} ltT_plan_side;

/* A planned product and the matrices it runs over. */
typedef struct ltT_gemm_run {
  lt_arena *arena;
  const ltT_gemm_plan *plan;
  ltT_plan_side sides[2];
  lt_tensor c, d; /* 'c' without a buffer: none */
  double alpha, beta;
  int64_t size[3];          /* M, N, K */
  int64_t grid[2];          /* blocks in M and N */
  int64_t threads;          /* of a block */
  int64_t groups[3];        /* atoms side by side: threads (V, M, N) */
  const int64_t *thread_of; /* slot (V, M, N) -> thread */
  ltT_counts counts;
  const int64_t *result; /* [value][slot] -> index in the tile (M, N) */
  int64_t result_values;
  ltT_tiles result_tiles;
  uint8_t *accumulators;
  size_t accumulator_bytes; /* of a thread */
  size_t shared_bytes;
  int64_t block[2]; /* that runs now */
  int culprit;      /* the thread at fault; -1: none */
  /* Who checks and counts; all NULL for neither. */
  ltT_actor *actor;
  ltT_order *order;
  const ltT_counter *counter;
} ltT_gemm_run;

/* Works out everything that blocks have in common; 'run' holds plan, matrices, alpha and beta. */
bool ltT_prepare_gemm(ltT_gemm_run *run);
/* Makes the memory of a block, watched by the run's actor if it has one. */
bool ltT_allocate_gemm(ltT_gemm_run *run);
/* Runs the block at 'run->block'. False with the error set. */
bool ltT_run_gemm_block(ltT_gemm_run *run);
/* Offset of an element of a matrix with two modes; false where its layout has none. */
bool ltT_plan_matrix_offset(const ltT_plan_side *s, int64_t row, int64_t k, int64_t *offset);

/* Elements that 16 bytes hold, one at least. */
static inline int64_t ltT_most_vector(lt_element element) {
  int bits = ltT_type_of(element)->bits;
  return bits < 128 ? 128 / bits : 1;
}

#endif
