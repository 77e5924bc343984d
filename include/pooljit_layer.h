/* A pooling layer as data. pooljit_spec_make (pooljit.h) makes a spec of it; engines that pooljit is compared
 * with are handed it (pooljit_engine.h). docs/semantics.md defines the numbers.
 *
 *   pooljit_layer layer = {.size = sizeof layer};
 *   layer.operation = "max";
 *   layer.spatial_rank = 2;
 *   layer.input.dtype = "float32";
 *   layer.input.dims[0] = 1, layer.input.dims[1] = 64, layer.input.dims[2] = layer.input.dims[3] = 112;
 *   for (int d = 0; d < 2; ++d) {
 *     layer.kernel[d] = 3;
 *     layer.stride[d] = 2;
 *     layer.pad_begin[d] = layer.pad_end[d] = 1;
 *   }
 *
 * Zero is the default of every field that has one, and means the default of the text. A field that the layer
 * does not use is refused, not ignored: kernel[2] of two spatial dims, say. The struct grows at its end only:
 * `size` says how much of it there is. Strings belong to whoever filled the struct in.
 */
#ifndef POOLJIT_LAYER_H
#define POOLJIT_LAYER_H

#include <stddef.h>
#include <stdint.h>

#define POOLJIT_LAYER_MAX_RANK 8
#define POOLJIT_LAYER_MAX_STEPS 4

typedef struct pooljit_tensor {
  /* "float32" float64 float16 bfloat16 uint8 int8 int16 int32 int64; "" or null if there is none */
  const char* dtype;
  /* "nchw" nhwc nchw8c nchw16c if it is packed in one of these, whatever the rank; else "" */
  const char* layout;
  int32_t rank;                            /* 2 + spatial_rank */
  int64_t dims[POOLJIT_LAYER_MAX_RANK];    /* N (1 where the spec has none), C, spatial */
  int64_t strides[POOLJIT_LAYER_MAX_RANK]; /* in elements; of blocks along C where channel_block > 1 */
  int64_t channel_block;                   /* channels that lie together, or 1 */
} pooljit_tensor;

/* A step of an epilogue: docs/specs.md lists them. */
typedef struct pooljit_step {
  const char* name; /* "relu" clamp scale scale_channel mul_channel add_channel add mul requantize */
  double numbers[2];
  const char* dtype; /* of the tensor that add and mul take; null: the output's */
} pooljit_step;

typedef struct pooljit_layer {
  size_t size;           /* sizeof(pooljit_layer) of whoever filled it in */
  const char* operation; /* "max" min avg sum lp prod */
  int32_t spatial_rank;  /* 1 to 3 */
  int32_t adaptive;      /* 1: output a takes input floor(a*n/o) .. ceil((a+1)*n/o) - 1; no window then */
  int32_t global;        /* 1: the window is the input, whatever its dims; none of the next five is read */
  int64_t kernel[POOLJIT_LAYER_MAX_RANK];
  int64_t stride[POOLJIT_LAYER_MAX_RANK];    /* 0: the kernel's */
  int64_t dilation[POOLJIT_LAYER_MAX_RANK];  /* 0 or 1: dense */
  int64_t pad_begin[POOLJIT_LAYER_MAX_RANK]; /* of the input's absent border, at least 0 */
  int64_t pad_end[POOLJIT_LAYER_MAX_RANK];   /* an end < 0 crops */
  int32_t ceil_mode;         /* how output dims came to be: 0 floor; 1 as torch; 2 plain ceil */
  int32_t count_exclude_pad; /* avg: 1: padding does not count, as in ONNX; 0: it does, as in torch */
  int64_t divisor_override;  /* avg; 0: none */
  int32_t backward;          /* 1: input is the gradient of the output, output that of the input */
  int32_t unpool;            /* 1: max_unpool; with backward its gradient */
  int32_t unbatched;         /* 1: the spec has no N */
  int32_t free_batch;        /* 1: N is said at each run, dims[0] is 0 or 1 */
  int32_t free_dims;         /* bit d: spatial dim d is said at each run, dims[2 + d] is 0 */
  int32_t nan_ignore;        /* max, min: 1: a NaN loses instead of winning */
  int32_t zeros_first;       /* max, min: 1: of -0 and +0 the first one, instead of any */
  int32_t half_away; /* avg of integers: 1: ties are rounded away from zero, instead of to the even one */
  int32_t quantized; /* 1: integers stand for numbers; scale and zero_point say which */
  /* Of a tensor whose layout is "" the strides say where the elements lie; strides that are all 0 mean packed
   * in the layout, "" then being nchw. rank 0: 2 + spatial_rank. */
  pooljit_tensor input;
  /* rank 0: what follows from the input, packed in its layout and of its dtype; also dtype, layout and
   * strides by themselves. Dims are needed if backward, adaptive or unpool, else they must be right. */
  pooljit_tensor output;
  /* max, min: with indices if it has a dtype; written, or read by backward and unpool. They lie as the
   * output, backward and unpool as the input, both together as the output; what else is said here must be
   * that. */
  pooljit_tensor indices;
  /* The layout that the spec's text names for a tensor whose strides decide; null: nchw. */
  const char *input_order, *output_order;
  const char* index_scope; /* "plane" tensor nhwc nhwc_batch window: what indices count; null: plane */
  int64_t storage_order;   /* index_scope tensor: 1 counts a plane column by column */
  double norm_type;        /* lp: p, which may be infinite; 0: 2 */
  double scale;            /* quantized: numbers are scale * (q - zero_point); 0: 1 */
  int64_t zero_point;
  double output_scale; /* quantized avg; 0: scale */
  int64_t output_zero_point;
  int32_t has_output_zero_point; /* 0: it is zero_point */
  int32_t epilogue_steps;
  pooljit_step epilogue[POOLJIT_LAYER_MAX_STEPS];

  /* What pooljit writes, for messages and for engines; pooljit_spec_make does not read it. */
  const char* spec; /* pooljit's canonical text */
  /* Keywords of the spec that the fields of a simple layer, up to divisor_override, and its tensors do not
   * tell of, with blanks between them: "nan index_scope". An engine that does not know them answers
   * POOLJIT_ENGINE_UNSUPPORTED. */
  const char* other;
} pooljit_layer;

/* Several pools of one tensor, as pools(INPUT, MEMBER, ...) in a text: docs/specs.md. */
typedef struct pooljit_pools {
  size_t size;                  /* sizeof(pooljit_pools) */
  const pooljit_layer* members; /* one to eight, each with the same input; all of the size of the first */
  int32_t member_count;
  int32_t concat;        /* 1: the outputs lie one after the other along the channels of one output */
  int32_t include_input; /* concat: 1: the input before them */
  int32_t chain;         /* 1: each member pools the result of the one before it */
  /* concat: where the one output lies, as a layer's output; rank 0: as follows from the members. */
  pooljit_tensor output;
  const char* output_order; /* as a layer's */
} pooljit_pools;

#endif /* POOLJIT_LAYER_H */
