/* What each consumer of the matrix does with the C header, in C99 and in C++98: words, a layer as data, a run
 * with arguments, an error. 0 if all is right. */
#ifndef CONSUMER_H
#define CONSUMER_H

#include <pooljit.h>
#include <string.h>

static int use_pooljit(void) {
  const float input[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  float output[4] = {0, 0, 0, 0};
  char room[32];
  void* outputs[1];
  pooljit_layer layer;
  pooljit_options options;
  pooljit_args args;
  pooljit_spec* spec = 0;
  pooljit_kernel* kernel = 0;
  int64_t bytes = 0;

  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  if (pooljit_options_read("threads=1 isa=auto", &options, room, sizeof room)) return 1;
  memset(&layer, 0, sizeof layer);
  layer.size = sizeof layer;
  layer.operation = "max";
  layer.spatial_rank = 2;
  layer.input.dtype = "float32";
  layer.input.dims[0] = layer.input.dims[1] = 1;
  layer.input.dims[2] = layer.input.dims[3] = 4;
  layer.kernel[0] = layer.kernel[1] = 2;
  if (pooljit_spec_make(&layer, &options, &spec)) return 2;
  if (pooljit_spec_output(spec, 0, 0, &bytes) || bytes != (int64_t)sizeof output) return 3;
  if (pooljit_spec_compile(spec, &kernel)) return 4;
  memset(&args, 0, sizeof args);
  args.size = sizeof args;
  outputs[0] = output;
  args.input = input;
  args.outputs = outputs;
  args.output_count = 1;
  if (pooljit_run_with(kernel, &args) || output[0] != 6 || output[3] != 16) return 5;
  args.batch = 2;
  if (pooljit_run_with(kernel, &args) != POOLJIT_INVALID) return 6;
  if (strncmp(pooljit_last_error(), "run.batch: ", 11) != 0) return 7;
  pooljit_release(kernel);
  pooljit_spec_release(spec);
  return 0;
}

#endif /* CONSUMER_H */
