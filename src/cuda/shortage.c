/*
** Where memory runs out: garbage is collected, what needed it is tried once more, and an error that
** is left has the figures.
*/
#include "device.h"

void lt_cuda_set_collector(lt_cuda *cuda, void (*collect)(void *context), void *context) {
  cuda->collect = collect;
  cuda->collect_context = context;
}

/* What is collected may need memory in its turn: then it does without. */
void ltD_collect(lt_cuda *cuda) {
  if (cuda->collect == NULL || cuda->is_collecting) return;
  lt_error error = *cuda->error;
  cuda->is_collecting = true;
  cuda->collect(cuda->collect_context);
  cuda->is_collecting = false;
  *cuda->error = error;
}

void ltD_make_room(lt_cuda *cuda, int device) {
  ltD_shortage s = {.device = device};
  ltD_collect(cuda);
  if (cuda->devices[device].context != NULL &&
      cuda->driver.cuMemGetInfo_v2(&s.available, &s.total) != CUDA_SUCCESS)
    s.total = 0;
  cuda->shortage = s;
}
