/* A toy engine for the tests of `pooljit fuzz --against` and `pooljit bench --peers`: maxima of float32 in
 * NCHW, two dimensions, no options. TOY_FAULT plants a mistake: the last tap of windows in the last column is
 * dropped; NaN never wins (a known divergence); one element too many is written behind the output. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pooljit_engine.h"

enum { TOY_right, TOY_dropped_tap, TOY_nan_ignored, TOY_stray_write };

static int is_toy(const pooljit_engine_layer* layer) {
  return layer->version == POOLJIT_ENGINE_VERSION && strcmp(layer->operation, "max") == 0 &&
         !layer->backward && !layer->adaptive && layer->spatial_rank == 2 && layer->other[0] == '\0' &&
         layer->indices.rank == 0 && strcmp(layer->input.dtype, "float32") == 0 &&
         strcmp(layer->output.dtype, "float32") == 0 && layer->pad_end[0] >= 0 && layer->pad_end[1] >= 0;
}

static int64_t place(const pooljit_engine_tensor* tensor, int64_t n, int64_t c, int64_t y, int64_t x) {
  return n * tensor->strides[0] + c / tensor->channel_block * tensor->strides[1] + c % tensor->channel_block +
         y * tensor->strides[2] + x * tensor->strides[3];
}

static float window(const pooljit_engine_layer* layer, const float* plane, int64_t y, int64_t x) {
  const int64_t height = layer->input.dims[2], width = layer->input.dims[3];
  const int is_last_column = x == layer->output.dims[3] - 1;
  const int64_t columns = layer->kernel[1] - (TOY_FAULT == TOY_dropped_tap && is_last_column);
  float most = -INFINITY;
  for (int64_t i = 0; i < layer->kernel[0]; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      const int64_t h = y * layer->stride[0] - layer->pad_begin[0] + i * layer->dilation[0];
      const int64_t w = x * layer->stride[1] - layer->pad_begin[1] + j * layer->dilation[1];
      if (h < 0 || h >= height || w < 0 || w >= width) continue;
      const float value = plane[place(&layer->input, 0, 0, h, w)];
      if (value > most || (isnan(value) && TOY_FAULT != TOY_nan_ignored)) most = value;
    }
  return most;
}

int pooljit_engine_run(const pooljit_engine_layer* layer, const void* input, void* output, void* indices) {
  (void)indices;
  if (!is_toy(layer)) return POOLJIT_ENGINE_UNSUPPORTED;
  const pooljit_engine_tensor* out = &layer->output;
  float* last = output;
  for (int64_t n = 0; n < out->dims[0]; ++n)
    for (int64_t c = 0; c < out->dims[1]; ++c)
      for (int64_t y = 0; y < out->dims[2]; ++y)
        for (int64_t x = 0; x < out->dims[3]; ++x) {
          float* to = (float*)output + place(out, n, c, y, x);
          *to = window(layer, (const float*)input + place(&layer->input, n, c, 0, 0), y, x);
          if (to > last) last = to;
        }
  if (TOY_FAULT == TOY_stray_write) last[1] = 0;
  return POOLJIT_ENGINE_DONE;
}

typedef struct {
  pooljit_engine_layer layer;
  const void* input;
  void* output;
} Prepared;

const char* pooljit_engine_version(void) { return "toy 1"; }

int pooljit_engine_start(int threads, const char* isa) {
  return threads >= 1 && strncmp(isa, "avx", 3) == 0 ? POOLJIT_ENGINE_DONE : POOLJIT_ENGINE_ERROR;
}

void* pooljit_engine_prepare(const pooljit_engine_layer* layer, const void* input, void* output,
                             void* indices, const char** why) {
  (void)indices;
  *why = "does maxima of float32 only";
  if (!is_toy(layer)) return NULL;
  Prepared* made = malloc(sizeof *made);
  made->layer = *layer, made->input = input, made->output = output;
  made->layer.operation = "max", made->layer.other = "";
  made->layer.input.dtype = made->layer.output.dtype = "float32";
  return made;
}

int pooljit_engine_call(void* prepared) {
  const Prepared* made = prepared;
  return pooljit_engine_run(&made->layer, made->input, made->output, NULL);
}

void pooljit_engine_release(void* prepared) { free(prepared); }
