/*
** Graphs: what streams record, and launching it.
*/
#include "device.h"

/* An executable graph: what an lt_cuda_graph points to. */
typedef struct ltD_graph {
  CUgraphExec executable;
  ltD_kernels kernels;
} ltD_graph;

/* ---- The recording under way ----------------------------------------------------------------- */

bool lt_cuda_records(const lt_cuda *cuda, int device) {
  return cuda->recording.stream != NULL && cuda->recording.device == device;
}

/* A stream that the driver cannot tell of counts as recorded: more is kept than need be. */
bool lt_cuda_is_recorded(lt_cuda *cuda, int device, lt_cuda_stream stream) {
  CUcontext before;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  if (cuda->recording.stream == NULL || stream == NULL) return false;
  if (cuda->recording.stream == stream) return true;
  if (!ltD_enter(cuda, device, &before)) return true;
  CUresult result = cuda->driver.cuStreamIsCapturing(stream, &status);
  ltD_leave(cuda, device, before);
  return result != CUDA_SUCCESS || status != CU_STREAM_CAPTURE_STATUS_NONE;
}

void ltD_note_recorded(lt_cuda *cuda, const lt_cuda_kernel *kernel) {
  ltD_kernels *k = &cuda->recording.kernels;
  for (size_t i = 0; i < k->count && i < LTD_NAMED_KERNELS; i++)
    if (k->list[i] == kernel) return;
  if (k->count < LTD_NAMED_KERNELS) k->list[k->count] = kernel;
  k->count++;
}

/*
** The recording is relaxed: in the other modes it would end when a finalizer frees memory, or when a
** kernel is loaded.
*/
bool lt_cuda_begin_capture(lt_cuda *cuda, int device, lt_cuda_stream stream) {
  CUcontext before;
  if (stream == NULL)
    return ltD_fail(cuda, LT_INVALID, "the default stream cannot be captured: make a stream");
  if (cuda->recording.stream != NULL)
    return ltD_fail(cuda, LT_INVALID, "capture: a stream is recording already");
  if (!ltD_enter(cuda, device, &before)) return false;
  CUresult result;
  LTD_TAKE(cuda, device, result,
           cuda->driver.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  ltD_leave(cuda, device, before);
  if (!ltD_check(cuda, result, "cuStreamBeginCapture")) return false;
  cuda->recording = (ltD_recording){.stream = stream, .device = device};
  return true;
}

/* Within the device's context. The graph that was recorded is NULL where that failed. */
static CUresult end_recording(lt_cuda *cuda, lt_cuda_stream stream, CUgraph *captured) {
  *captured = NULL;
  cuda->recording.stream = NULL;
  return cuda->driver.cuStreamEndCapture(stream, captured);
}

void lt_cuda_drop_capture(lt_cuda *cuda, int device, lt_cuda_stream stream) {
  CUcontext before;
  CUgraph captured;
  lt_error error = *cuda->error;
  if (ltD_enter(cuda, device, &before)) {
    end_recording(cuda, stream, &captured);
    if (captured != NULL) cuda->driver.cuGraphDestroy(captured);
    ltD_leave(cuda, device, before);
  }
  cuda->recording.stream = NULL;
  *cuda->error = error;
}

/* ---- Executable graphs ----------------------------------------------------------------------- */

static bool update(lt_cuda *cuda, const ltD_graph *graph, CUgraph captured) {
  CUgraphExecUpdateResultInfo info;
  memset(&info, 0, sizeof info);
  return graph != NULL && cuda->driver.cuGraphExecUpdate_v2 != NULL &&
         cuda->driver.cuGraphExecUpdate_v2(graph->executable, captured, &info) == CUDA_SUCCESS;
}

static bool instantiate(lt_cuda *cuda, int device, CUgraph captured, ltD_graph **graph) {
  CUgraphExec executable = NULL;
  CUresult result;
  LTD_TAKE(cuda, device, result,
           cuda->driver.cuGraphInstantiateWithFlags(&executable, captured, 0));
  if (!ltD_check(cuda, result, "cuGraphInstantiate")) return false;
  if (*graph == NULL)
    *graph = ltD_new(cuda, sizeof **graph);
  else
    cuda->driver.cuGraphExecDestroy((*graph)->executable);
  if (*graph != NULL)
    (*graph)->executable = executable;
  else
    cuda->driver.cuGraphExecDestroy(executable);
  return *graph != NULL;
}

static bool check_recorded(lt_cuda *cuda, CUresult result, CUgraph captured) {
  if (result == CUDA_ERROR_STREAM_CAPTURE_UNJOINED)
    return ltD_check_for(cuda, result, "cuStreamEndCapture",
                         ": the stream is to wait for what it recorded on other streams");
  if (!ltD_check(cuda, result, "cuStreamEndCapture")) return false;
  return captured != NULL || ltD_fail(cuda, LT_DEVICE, "the capture recorded no graph");
}

bool lt_cuda_end_capture(lt_cuda *cuda, int device, lt_cuda_stream stream, lt_cuda_graph *graph,
                         bool *updated) {
  CUcontext before;
  CUgraph captured;
  ltD_graph *g = *graph;
  *updated = false;
  if (!ltD_enter(cuda, device, &before)) return false;
  CUresult result = end_recording(cuda, stream, &captured);
  bool good = check_recorded(cuda, result, captured);
  *updated = good && update(cuda, g, captured);
  good = *updated || (good && instantiate(cuda, device, captured, &g));
  if (captured != NULL) cuda->driver.cuGraphDestroy(captured);
  ltD_leave(cuda, device, before);
  if (!good) return false;
  g->kernels = cuda->recording.kernels;
  *graph = g;
  return true;
}

bool lt_cuda_replay(lt_cuda *cuda, int device, lt_cuda_graph graph, lt_cuda_stream stream) {
  CUcontext before;
  const ltD_graph *g = graph;
  if (lt_cuda_is_recorded(cuda, device, stream))
    return ltD_fail(cuda, LT_INVALID, "launch: a stream that records cannot launch a graph");
  if (!ltD_enter(cuda, device, &before)) return false;
  CUresult result;
  LTD_TAKE(cuda, device, result, cuda->driver.cuGraphLaunch(g->executable, stream));
  ltD_leave(cuda, device, before);
  if (!ltD_check(cuda, result, "cuGraphLaunch")) return false;
  cuda->last = (ltD_last_launch){.device = device, .is_graph = true, .kernels = g->kernels};
  return true;
}

void lt_cuda_free_graph(lt_cuda *cuda, int device, lt_cuda_graph graph) {
  CUcontext before;
  lt_error error = *cuda->error;
  ltD_graph *g = graph;
  if (g != NULL && ltD_enter(cuda, device, &before)) {
    cuda->driver.cuGraphExecDestroy(g->executable);
    ltD_leave(cuda, device, before);
  }
  *cuda->error = error;
  ltD_delete(cuda, g, sizeof *g);
}
