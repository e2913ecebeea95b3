/*
** The launch that runs, for the files of the host executor.
*/
#ifndef LUTILE_LUA_HOST_H
#define LUTILE_LUA_HOST_H

#include "../tile/order.h"
#include "../tile/traffic.h"
#include "progress.h"
#include "tiles.h"

#define LTL_MAX_BLOCK LTT_MAX_THREADS
#define LTL_WARP 32
#define LTL_SITES 512 /* places of a script that accesses are told apart by */

typedef enum ltL_wait { READY, AT_BARRIER, AT_ATOM, AT_MBARRIER, ENDED } ltL_wait;

/* A simulated thread. */
typedef struct ltL_thread {
  lua_State *L; /* its coroutine */
  ltL_wait wait;
  char file[LUA_IDSIZE]; /* where it waits in the script */
  int line;
  ltL_meeting meeting;                 /* what it waits for others with */
  lua_Integer shared_count;            /* buffers of shared memory it has asked for */
  const struct ltL_mbarrier *mbarrier; /* at which it waits, */
  uint32_t phase;                      /* for the end of a phase of this parity */
} ltL_thread;

/* A launch, in a userdata. User values: 1 the coroutines, 2 the block's shared buffers. */
typedef struct ltL_launch {
  lua_Integer grid[3], block[3], block_index[3];
  int thread_count;
  int current; /* the thread that runs */
  int blamed;  /* the thread at fault, where that is another one; else -1 */
  int at_barrier;
  bool checks; /* whether registers and shared memory have shadows */
  ltT_actor actor;
  ltT_counter counter;   /* without traffic: nothing is counted */
  int register_thread;   /* that made registers last */
  double operations;     /* floating point, of atoms */
  size_t register_bytes; /* of a thread, beside those that are counted by place */
  size_t shared_bytes;   /* of a block, */
  size_t shared_capacity;
  int architecture;   /* 0: none was named */
  int mbarrier_count; /* of the block */
  ltT_order *order;   /* NULL without checks */
  ltL_progress progress;
  uint32_t warp_epochs[LTL_MAX_BLOCK / LTL_WARP];
  ltT_site sites[LTL_SITES];
  int site_count;
  ltL_thread threads[];
} ltL_launch;

enum { LTL_COROUTINES = 1, LTL_SHARED_BUFFERS = 2 };

/* Makes the launch at the top the one that runs (nil: none), and pops it. */
void ltL_set_launch(lua_State *L);
/* Pushes the launch that runs, or nil. */
ltL_launch *ltL_push_launch(lua_State *L);
/* The launch that runs, or NULL. */
ltL_launch *ltL_find_launch(lua_State *L);
ltL_launch *ltL_check_launch(lua_State *L, const char *function);
/* The running thread, which must be the coroutine that calls: a barrier holds whole threads. */
ltL_thread *ltL_running_thread(lua_State *L, ltL_launch *H, const char *function);
/* The same for one that is about to wait, which it cannot where C functions are on its stack. */
ltL_thread *ltL_waiting_thread(lua_State *L, ltL_launch *H, const char *function);

/* Pushes a launch that has not started; raises, naming 'function', where a block is too large. */
ltL_launch *ltL_new_launch(lua_State *L, const char *function, const lua_Integer grid[3],
                           const lua_Integer block[3], bool checks);
/* Traffic and order of the launch, whose finalizer frees them. */
void ltL_start_counting(lua_State *L, ltL_launch *H);
/* Options 'checks' and 'arch' of the table at 'index', read raw. */
bool ltL_read_checks(lua_State *L, int index);
int ltL_read_architecture(lua_State *L, const char *function, int index);
void ltL_set_architecture(ltL_launch *H, int architecture);

/* The innermost line of a script on the stack; false where there is none. */
bool ltL_find_place(lua_State *L, lua_Debug *at);
/* Notes where in the script the thread waits. */
void ltL_note_place(lua_State *L, ltL_thread *t);
/* Appends thread 'i' to the message at the top. */
void ltL_name_thread(lua_State *L, const ltL_launch *H, int i);
/* No thread can go on: raises who waits, where, and for whom. */
int ltL_fail_stuck(lua_State *L, ltL_launch *H);
/* Pushes the mbarrier that the thread waits at, and what it lacks. */
void ltL_describe_mbarrier(lua_State *L, const ltL_thread *t);

/* The running thread's next buffer of shared memory; raises where it makes too many bytes. */
lua_Integer ltL_next_shared(lua_State *L, ltL_launch *H, const char *function, size_t bytes);

/* Pushes what a launch came to, as a table. */
int ltL_push_report(lua_State *L, const ltL_launch *H);

/* launch. Into the module at the top. */
void ltL_open_launch(lua_State *L);
/* cp_async_fence, cp_async_wait. */
void ltL_open_async(lua_State *L);
/* mbarriers. */
void ltL_open_mbarriers(lua_State *L);
/* Barriers and shuffles of warps. Into the module at the top. */
void ltL_open_warp(lua_State *L);
/* What kernels see: threadIdx and its kin, shared memory. Into the module at the top. */
void ltL_open_kernel(lua_State *L);

#endif
