/* A toy engine for the tests of `pooljit fuzz --against`, `pooljit check --against` and `pooljit bench
 * --peers`: maxima of float32, two dimensions, no options, NCHW and NHWC. TOY_FAULT plants a mistake. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pooljit_engine.h"

enum {
  TOY_right,
  TOY_dropped_tap,   /* the last tap of windows in the last column is dropped */
  TOY_nan_ignored,   /* NaN never wins: a known divergence */
  TOY_stray_write,   /* one element too many is written behind the output */
  TOY_tail_channels, /* in NHWC, of channels beyond the last whole vector of 8 the last one loses a tap */
  TOY_reads_before,  /* the element before the input is read, and dropped */
  TOY_exits,         /* the process ends with success */
  TOY_hangs,         /* windows of stride 3 take for ever */
  TOY_one_ulp,       /* results of 3x2 windows are one unit in the last place nearer to zero */
  TOY_errors,        /* windows of stride 3 are an error, with a text */
  TOY_stale_plan     /* a layer as large as the one before it gets that one's dilation */
};

static int is_toy(const pooljit_engine_layer* layer) {
  return layer->size >= sizeof *layer && strcmp(layer->operation, "max") == 0 && !layer->backward &&
         !layer->adaptive && layer->spatial_rank == 2 && layer->other[0] == '\0' &&
         layer->indices.rank == 0 && strcmp(layer->input.dtype, "float32") == 0 &&
         strcmp(layer->output.dtype, "float32") == 0 && layer->pad_end[0] >= 0 && layer->pad_end[1] >= 0;
}

static int64_t place(const pooljit_engine_tensor* tensor, int64_t n, int64_t c, int64_t y, int64_t x) {
  return n * tensor->strides[0] + c / tensor->channel_block * tensor->strides[1] + c % tensor->channel_block +
         y * tensor->strides[2] + x * tensor->strides[3];
}

static int64_t dropped_columns(const pooljit_engine_layer* layer, int64_t c, int64_t x) {
  const int64_t channels = layer->input.dims[1];
  if (TOY_FAULT == TOY_dropped_tap) return x == layer->output.dims[3] - 1;
  return TOY_FAULT == TOY_tail_channels && strcmp(layer->input.layout, "nhwc") == 0 && channels > 8 &&
         channels % 8 != 0 && c == channels - 1;
}

static int64_t dilation_of(const pooljit_engine_layer* layer, int dim) {
  static int64_t columns, dilations[2];
  if (TOY_FAULT != TOY_stale_plan) return layer->dilation[dim];
  if (columns != layer->output.dims[3])
    columns = layer->output.dims[3], dilations[0] = layer->dilation[0], dilations[1] = layer->dilation[1];
  return dilations[dim];
}

static float window(const pooljit_engine_layer* layer, const float* plane, int64_t c, int64_t y, int64_t x) {
  const int64_t height = layer->input.dims[2], width = layer->input.dims[3];
  const int64_t columns = layer->kernel[1] - dropped_columns(layer, c, x);
  float most = -INFINITY;
  for (int64_t i = 0; i < layer->kernel[0]; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      const int64_t h = y * layer->stride[0] - layer->pad_begin[0] + i * dilation_of(layer, 0);
      const int64_t w = x * layer->stride[1] - layer->pad_begin[1] + j * dilation_of(layer, 1);
      if (h < 0 || h >= height || w < 0 || w >= width) continue;
      const float value = plane[place(&layer->input, 0, 0, h, w)];
      if (value > most || (isnan(value) && TOY_FAULT != TOY_nan_ignored)) most = value;
    }
  const int is_inexact = TOY_FAULT == TOY_one_ulp && layer->kernel[0] == 3 && layer->kernel[1] == 2;
  return is_inexact ? nextafterf(most, 0) : most;
}

int pooljit_engine_run(const pooljit_engine_layer* layer, const void* input, void* output, void* indices) {
  (void)indices;
  if (!is_toy(layer)) return POOLJIT_ENGINE_UNSUPPORTED;
  if (TOY_FAULT == TOY_exits) _exit(0);
  if (TOY_FAULT == TOY_errors && layer->stride[0] == 3) return POOLJIT_ENGINE_ERROR;
  const volatile int is_endless = TOY_FAULT == TOY_hangs && layer->stride[0] == 3;
  while (is_endless) continue;
  if (TOY_FAULT == TOY_reads_before) (void)*((const volatile float*)input - 1);
  const pooljit_engine_tensor* out = &layer->output;
  float* last = output;
  for (int64_t n = 0; n < out->dims[0]; ++n)
    for (int64_t c = 0; c < out->dims[1]; ++c)
      for (int64_t y = 0; y < out->dims[2]; ++y)
        for (int64_t x = 0; x < out->dims[3]; ++x) {
          float* to = (float*)output + place(out, n, c, y, x);
          *to = window(layer, (const float*)input + place(&layer->input, n, c, 0, 0), c, y, x);
          if (to > last) last = to;
        }
  if (TOY_FAULT == TOY_stray_write) last[1] = 0;
  return POOLJIT_ENGINE_DONE;
}

#ifdef TOY_TELLS /* the other toys leave it to the campaign to find out */
int pooljit_engine_takes(const pooljit_engine_layer* layer) {
  return is_toy(layer) ? POOLJIT_ENGINE_DONE : POOLJIT_ENGINE_UNSUPPORTED;
}
#endif

typedef struct {
  pooljit_engine_layer layer;
  const void* input;
  void* output;
} Prepared;

const char* pooljit_engine_version(void) { return "toy 1"; }

const char* pooljit_engine_error(void) { return TOY_FAULT == TOY_errors ? "no plan for a stride of 3" : ""; }

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
