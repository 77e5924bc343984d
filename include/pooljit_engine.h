/* How pooljit sees another engine: a shared library. `pooljit fuzz --against LIBRARY` and `pooljit check
 * --against LIBRARY` want one function of it, pooljit_engine_run, which gets a layer as plain data and three
 * buffers, and pools. `pooljit bench --peers LIBRARY` wants the five of the second part, by which it is set
 * up once and called many times. examples/engines/ holds such libraries.
 *
 *   int pooljit_engine_run(const pooljit_engine_layer* layer, const void* input, void* output,
 *                          void* indices) {
 *     if (layer->size < sizeof *layer || strcmp(layer->operation, "max") != 0 ||
 *         layer->other[0] != '\0')
 *       return POOLJIT_ENGINE_UNSUPPORTED;
 *     ...
 *     return POOLJIT_ENGINE_DONE;
 *   }
 *
 * It is called in a process of its own, on one thread: a crash, an endless loop and an exit are findings. It
 * is called twice on the same data: with the last byte of each buffer against a page that nobody may touch,
 * and with the first one. docs/semantics.md defines the numbers. Needs nothing of pooljit's to be
 * linked.
 */
#ifndef POOLJIT_ENGINE_H
#define POOLJIT_ENGINE_H

#include "pooljit_layer.h"

#if defined(__GNUC__)
#define POOLJIT_ENGINE_EXPORT __attribute__((visibility("default")))
#else
#define POOLJIT_ENGINE_EXPORT
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define POOLJIT_ENGINE_MAX_RANK POOLJIT_LAYER_MAX_RANK

enum {
  POOLJIT_ENGINE_DONE = 0,
  POOLJIT_ENGINE_UNSUPPORTED = 1, /* the engine does not do such layers: nothing to compare */
  POOLJIT_ENGINE_ERROR = 2        /* it should, and failed: a finding */
};

typedef pooljit_tensor pooljit_engine_tensor;
typedef pooljit_layer pooljit_engine_layer;

/* Pools. Returns one of the codes above. The pointers are to the first elements; `indices` is null if there
 * are none. Must be exported by the library. */
POOLJIT_ENGINE_EXPORT int pooljit_engine_run(const pooljit_engine_layer* layer, const void* input,
                                             void* output, void* indices);

/* May be left out: whether pooljit_engine_run does such layers, without any data: DONE or UNSUPPORTED. A
 * campaign finds out by asking, and draws mostly from what is done; without this function it asks by
 * pooljit_engine_run. It may say DONE of a layer that turns out to be UNSUPPORTED. */
POOLJIT_ENGINE_EXPORT int pooljit_engine_takes(const pooljit_engine_layer* layer);

/* May be left out: why the last pooljit_engine_run returned ERROR, in words; null or "": no reason. Valid
 * until the next call of it. Without this function, what was printed is shown. */
POOLJIT_ENGINE_EXPORT const char* pooljit_engine_error(void);

/* --- For `pooljit bench --peers`: all in one process, with other engines beside it. */

/* Name and version, with what decides the speed: "oneDNN 2.6.3, ISA avx512". Valid as long as the library is
 * loaded. Called after pooljit_engine_start. */
POOLJIT_ENGINE_EXPORT const char* pooljit_engine_version(void);

/* Before the first layer, and again between layers when the threads change. isa: the most that the engine may
 * use, "avx2" or "avx512", always the same; an engine that cannot be held back says so in its version.
 * Returns DONE or ERROR. */
POOLJIT_ENGINE_EXPORT int pooljit_engine_start(int threads, const char* isa);

/* Everything that can be done before the first call. The result is null if the engine does not do the layer;
 * *why then says so in words ("has no dilated average"), valid until the next call from here. The layer
 * need not outlive the call; the buffers, as for pooljit_engine_run, stay where they are until the release.
 */
POOLJIT_ENGINE_EXPORT void* pooljit_engine_prepare(const pooljit_engine_layer* layer, const void* input,
                                                   void* output, void* indices, const char** why);

/* One execution: what is timed. Returns DONE; or, at the first call only, UNSUPPORTED by an engine that finds
 * out by running. */
POOLJIT_ENGINE_EXPORT int pooljit_engine_call(void* prepared);

POOLJIT_ENGINE_EXPORT void pooljit_engine_release(void* prepared);

#ifdef __cplusplus
}
#endif

#endif /* POOLJIT_ENGINE_H */
