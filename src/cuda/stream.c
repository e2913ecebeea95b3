/*
** Streams and events.
*/
#include "device.h"

/* ---- Streams -------------------------------------------------------------------------------- */

/* CUDA would end the recording, besides. */
static bool refuse_recording(lt_cuda *cuda, const char *what) {
  return ltD_fail(cuda, LT_INVALID,
                  "%s: what a stream records is not done before its graph is launched, and cannot "
                  "be waited for",
                  what);
}

bool lt_cuda_synchronize(lt_cuda *cuda, int device) {
  CUcontext before;
  if (lt_cuda_records(cuda, device)) return refuse_recording(cuda, "synchronize");
  if (!ltD_enter(cuda, device, &before)) return false;
  CUresult result = cuda->driver.cuCtxSynchronize();
  ltD_leave(cuda, device, before);
  return ltD_check(cuda, result, "cuCtxSynchronize");
}

lt_cuda_stream lt_cuda_new_stream(lt_cuda *cuda, int device) {
  CUcontext before;
  CUstream stream = NULL;
  if (!ltD_enter(cuda, device, &before)) return NULL;
  CUresult result;
  LTD_TAKE(cuda, device, result, cuda->driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  ltD_leave(cuda, device, before);
  return ltD_check(cuda, result, "cuStreamCreate") ? stream : NULL;
}

void lt_cuda_free_stream(lt_cuda *cuda, int device, lt_cuda_stream stream) {
  CUcontext before;
  lt_error error = *cuda->error;
  if (stream != NULL && cuda->recording.stream == stream)
    lt_cuda_drop_capture(cuda, device, stream);
  if (stream != NULL && ltD_enter(cuda, device, &before)) {
    cuda->driver.cuStreamDestroy_v2(stream);
    ltD_leave(cuda, device, before);
  }
  *cuda->error = error;
}

bool lt_cuda_stream_synchronize(lt_cuda *cuda, int device, lt_cuda_stream stream) {
  CUcontext before;
  if (lt_cuda_is_recorded(cuda, device, stream)) return refuse_recording(cuda, "synchronize");
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
  if (lt_cuda_is_recorded(cuda, device, stream)) return refuse_recording(cuda, "query");
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
  CUresult result;
  LTD_TAKE(cuda, device, result, cuda->driver.cuEventCreate(&event, CU_EVENT_DEFAULT));
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
