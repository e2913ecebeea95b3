/*
** Streams, events, graphs.
*/
#include "device.h"

/* ---- Streams -------------------------------------------------------------------------------- */

bool lt_cuda_synchronize(lt_cuda *cuda, int device) {
  CUcontext before;
  if (!ltD_enter(cuda, device, &before)) return false;
  CUresult result = cuda->driver.cuCtxSynchronize();
  ltD_leave(cuda, device, before);
  return ltD_check(cuda, result, "cuCtxSynchronize");
}

lt_cuda_stream lt_cuda_new_stream(lt_cuda *cuda, int device) {
  CUcontext before;
  CUstream stream = NULL;
  if (!ltD_enter(cuda, device, &before)) return NULL;
  CUresult result = cuda->driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
  ltD_leave(cuda, device, before);
  return ltD_check(cuda, result, "cuStreamCreate") ? stream : NULL;
}

void lt_cuda_free_stream(lt_cuda *cuda, int device, lt_cuda_stream stream) {
  CUcontext before;
  lt_error error = *cuda->error;
  if (stream != NULL && ltD_enter(cuda, device, &before)) {
    cuda->driver.cuStreamDestroy_v2(stream);
    ltD_leave(cuda, device, before);
  }
  *cuda->error = error;
}

bool lt_cuda_stream_synchronize(lt_cuda *cuda, int device, lt_cuda_stream stream) {
  CUcontext before;
  if (!ltD_enter(cuda, device, &before)) return false;
  CUresult result = cuda->driver.cuStreamSynchronize(stream);
  ltD_leave(cuda, device, before);
  return ltD_check(cuda, result, "cuStreamSynchronize");
}

bool lt_cuda_stream_wait(lt_cuda *cuda, int device, lt_cuda_stream stream, lt_cuda_event event) {
  CUcontext before;
  if (!ltD_enter(cuda, device, &before)) return false;
  CUresult result = cuda->driver.cuStreamWaitEvent(stream, event, 0);
  ltD_leave(cuda, device, before);
  return ltD_check(cuda, result, "cuStreamWaitEvent");
}

static bool is_done(lt_cuda *cuda, CUresult result, const char *call, bool *done) {
  *done = result == CUDA_SUCCESS;
  return result == CUDA_ERROR_NOT_READY || ltD_check(cuda, result, call);
}

bool lt_cuda_stream_query(lt_cuda *cuda, int device, lt_cuda_stream stream, bool *done) {
  CUcontext before;
  if (!ltD_enter(cuda, device, &before)) return false;
  CUresult result = cuda->driver.cuStreamQuery(stream);
  ltD_leave(cuda, device, before);
  return is_done(cuda, result, "cuStreamQuery", done);
}

/* ---- Events --------------------------------------------------------------------------------- */

lt_cuda_event lt_cuda_new_event(lt_cuda *cuda, int device) {
  CUcontext before;
  CUevent event = NULL;
  if (!ltD_enter(cuda, device, &before)) return NULL;
  CUresult result = cuda->driver.cuEventCreate(&event, CU_EVENT_DEFAULT);
  ltD_leave(cuda, device, before);
  return ltD_check(cuda, result, "cuEventCreate") ? event : NULL;
}

void lt_cuda_free_event(lt_cuda *cuda, int device, lt_cuda_event event) {
  CUcontext before;
  lt_error error = *cuda->error;
  if (event != NULL && ltD_enter(cuda, device, &before)) {
    cuda->driver.cuEventDestroy_v2(event);
    ltD_leave(cuda, device, before);
  }
  *cuda->error = error;
}

bool lt_cuda_record(lt_cuda *cuda, int device, lt_cuda_event event, lt_cuda_stream stream) {
  CUcontext before;
  if (!ltD_enter(cuda, device, &before)) return false;
  CUresult result = cuda->driver.cuEventRecord(event, stream);
  ltD_leave(cuda, device, before);
  return ltD_check(cuda, result, "cuEventRecord");
}

bool lt_cuda_event_synchronize(lt_cuda *cuda, int device, lt_cuda_event event) {
  CUcontext before;
  if (!ltD_enter(cuda, device, &before)) return false;
  CUresult result = cuda->driver.cuEventSynchronize(event);
  ltD_leave(cuda, device, before);
  return ltD_check(cuda, result, "cuEventSynchronize");
}

bool lt_cuda_event_query(lt_cuda *cuda, int device, lt_cuda_event event, bool *done) {
  CUcontext before;
  if (!ltD_enter(cuda, device, &before)) return false;
  CUresult result = cuda->driver.cuEventQuery(event);
  ltD_leave(cuda, device, before);
  return is_done(cuda, result, "cuEventQuery", done);
}

bool lt_cuda_elapsed(lt_cuda *cuda, int device, lt_cuda_event from, lt_cuda_event to,
                     float *milliseconds) {
  CUcontext before;
  if (!ltD_enter(cuda, device, &before)) return false;
  CUresult result = cuda->driver.cuEventElapsedTime(milliseconds, from, to);
  ltD_leave(cuda, device, before);
  return ltD_check(cuda, result, "cuEventElapsedTime");
}

/* ---- Graphs --------------------------------------------------------------------------------- */

bool lt_cuda_begin_capture(lt_cuda *cuda, int device, lt_cuda_stream stream) {
  CUcontext before;
  if (stream == NULL)
    return ltD_fail(cuda, LT_INVALID, "the default stream cannot be captured: make a stream");
  if (!ltD_enter(cuda, device, &before)) return false;
  CUresult result =
      cuda->driver.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  ltD_leave(cuda, device, before);
  return ltD_check(cuda, result, "cuStreamBeginCapture");
}

static bool update(lt_cuda *cuda, CUgraphExec executable, CUgraph graph) {
  CUgraphExecUpdateResultInfo info;
  memset(&info, 0, sizeof info);
  return executable != NULL && cuda->driver.cuGraphExecUpdate_v2 != NULL &&
         cuda->driver.cuGraphExecUpdate_v2(executable, graph, &info) == CUDA_SUCCESS;
}

static bool instantiate(lt_cuda *cuda, CUgraph graph, lt_cuda_graph *out) {
  CUgraphExec executable = NULL;
  CUresult result = cuda->driver.cuGraphInstantiateWithFlags(&executable, graph, 0);
  if (!ltD_check(cuda, result, "cuGraphInstantiate")) return false;
  if (*out != NULL) cuda->driver.cuGraphExecDestroy(*out);
  *out = executable;
  return true;
}

bool lt_cuda_end_capture(lt_cuda *cuda, int device, lt_cuda_stream stream, lt_cuda_graph *graph,
                         bool *updated) {
  CUcontext before;
  CUgraph captured = NULL;
  *updated = false;
  if (!ltD_enter(cuda, device, &before)) return false;
  CUresult result = cuda->driver.cuStreamEndCapture(stream, &captured);
  bool good = ltD_check(cuda, result, "cuStreamEndCapture");
  if (good && captured == NULL) good = ltD_fail(cuda, LT_DEVICE, "the capture recorded no graph");
  if (good) {
    *updated = update(cuda, *graph, captured);
    good = *updated || instantiate(cuda, captured, graph);
  }
  if (captured != NULL) cuda->driver.cuGraphDestroy(captured);
  ltD_leave(cuda, device, before);
  return good;
}

void lt_cuda_drop_capture(lt_cuda *cuda, int device, lt_cuda_stream stream) {
  CUcontext before;
  CUgraph captured = NULL;
  lt_error error = *cuda->error;
  if (ltD_enter(cuda, device, &before)) {
    cuda->driver.cuStreamEndCapture(stream, &captured);
    if (captured != NULL) cuda->driver.cuGraphDestroy(captured);
    ltD_leave(cuda, device, before);
  }
  *cuda->error = error;
}

bool lt_cuda_replay(lt_cuda *cuda, int device, lt_cuda_graph graph, lt_cuda_stream stream) {
  CUcontext before;
  if (!ltD_enter(cuda, device, &before)) return false;
  CUresult result = cuda->driver.cuGraphLaunch(graph, stream);
  ltD_leave(cuda, device, before);
  return ltD_check(cuda, result, "cuGraphLaunch");
}

void lt_cuda_free_graph(lt_cuda *cuda, int device, lt_cuda_graph graph) {
  CUcontext before;
  lt_error error = *cuda->error;
  if (graph != NULL && ltD_enter(cuda, device, &before)) {
    cuda->driver.cuGraphExecDestroy(graph);
    ltD_leave(cuda, device, before);
  }
  *cuda->error = error;
}
