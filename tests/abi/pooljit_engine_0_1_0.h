/* How pooljit sees another engine: a shared library. `pooljit fuzz --against LIBRARY` and `pooljit check
 * --against LIBRARY` want one function of it, pooljit_engine_run, which gets a layer as plain data and three
 * buffers, and pools. `pooljit bench --peers LIBRARY` wants the five of the second part, by which it is set
 * up once and called many times. examples/engines/ holds such libraries.
 *
 *   int pooljit_engine_run(const pooljit_engine_layer* layer, const void* input, void* output, void* indices)
 * { if (layer->version != POOLJIT_ENGINE_VERSION || strcmp(layer->operation, "max") != 0 || layer->other[0]
 * != '\0') return POOLJIT_ENGINE_UNSUPPORTED;
 *     ...
 *     return POOLJIT_ENGINE_DONE;
 *   }
 *
 * It is called in a process of its own, on one thread: a crash, an endless loop and an exit are findings. It
 * is called twice on the same data: with the last byte of each buffer against a page that nobody may touch,
 * and with the first one. What the numbers mean is in docs/semantics.md. Needs nothing of pooljit's to be
 * linked.
 */
#ifndef POOLJIT_ENGINE_H
#define POOLJIT_ENGINE_H

#include <stdint.h>  // NOLINT(modernize-deprecated-headers): this header is C

#if defined(__GNUC__)
#define POOLJIT_ENGINE_EXPORT __attribute__((visibility("default")))
#else
#define POOLJIT_ENGINE_EXPORT
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define POOLJIT_ENGINE_VERSION 1
#define POOLJIT_ENGINE_MAX_RANK 8

enum {
  POOLJIT_ENGINE_DONE = 0,
  POOLJIT_ENGINE_UNSUPPORTED = 1, /* the engine does not do such layers: nothing to compare */
  POOLJIT_ENGINE_ERROR = 2        /* it should, and failed: a finding */
};

// NOLINTBEGIN(modernize-use-using): C
typedef struct pooljit_engine_tensor {
  const char*
      dtype; /* "float32" float64 float16 bfloat16 uint8 int8 int16 int32 int64; "" if there is none */
  const char*
      layout;   /* "nchw" nhwc nchw8c nchw16c if it is packed in one of these, whatever the rank; else "" */
  int32_t rank; /* 2 + spatial_rank */
  int64_t dims[POOLJIT_ENGINE_MAX_RANK];    /* N (1 where the spec has none), C, spatial */
  int64_t strides[POOLJIT_ENGINE_MAX_RANK]; /* in elements; of blocks along C where channel_block > 1 */
  int64_t channel_block;                    /* channels that lie together, or 1 */
} pooljit_engine_tensor;

typedef struct pooljit_engine_layer {
  int32_t version;  /* POOLJIT_ENGINE_VERSION; fields are only ever added at the end, with a new version */
  const char* spec; /* pooljit's canonical text, for messages */
  const char* operation; /* "max" min avg sum lp */
  int32_t backward;      /* 1: input is the gradient of the output, output that of the input */
  int32_t adaptive;      /* 1: output a takes input floor(a*n/o) .. ceil((a+1)*n/o) - 1; no window then */
  int32_t quantized;     /* 1: integers stand for numbers; the spec says which */
  int32_t spatial_rank;
  int64_t kernel[POOLJIT_ENGINE_MAX_RANK], stride[POOLJIT_ENGINE_MAX_RANK];
  int64_t dilation[POOLJIT_ENGINE_MAX_RANK];                                    /* 1: dense */
  int64_t pad_begin[POOLJIT_ENGINE_MAX_RANK], pad_end[POOLJIT_ENGINE_MAX_RANK]; /* an end < 0 crops */
  int32_t ceil_mode;         /* how output dims came to be: 0 floor; 1 as torch; 2 plain ceil */
  int32_t count_include_pad; /* avg */
  int64_t divisor_override;  /* avg; 0: none */
  /* Keywords of the spec that no field tells of, with blanks between them: "nan index_scope". An engine that
   * does not know them answers POOLJIT_ENGINE_UNSUPPORTED. */
  const char* other;
  pooljit_engine_tensor input, output;
  pooljit_engine_tensor indices; /* max with indices: written, or read by backward; offset in the plane */
} pooljit_engine_layer;
// NOLINTEND(modernize-use-using)

/* Pools. Returns one of the codes above. The pointers are to the first elements; `indices` is null if there
 * are none. Must be exported by the library. */
POOLJIT_ENGINE_EXPORT int pooljit_engine_run(const pooljit_engine_layer* layer, const void* input,
                                             void* output, void* indices);

/* May be left out: whether pooljit_engine_run does such layers, without any data: DONE or UNSUPPORTED. A
 * campaign finds out by asking, and draws mostly from what is done; without this function it asks by
 * pooljit_engine_run. It may say DONE of a layer that turns out to be UNSUPPORTED. */
POOLJIT_ENGINE_EXPORT int pooljit_engine_takes(const pooljit_engine_layer* layer);

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
