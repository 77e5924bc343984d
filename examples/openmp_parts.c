/* Threads that are there already ask for their share: inside a parallel region of OpenMP, each thread does
 * one part. Prints "equal" if the parts make what one run makes. */
#include <omp.h>
#include <pooljit.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
  pooljit_kernel* kernel;
  pooljit_info info = {.size = sizeof info};
  const pooljit_options one_thread = {.size = sizeof one_thread, .threads = 1};
  if (pooljit_compile("avg_pool2d(float32[N,32,56,56]:nhwc, kernel_size=3)", &one_thread, &kernel) ||
      pooljit_kernel_info(kernel, &info))
    return puts(pooljit_last_error()), 1;
  pooljit_args args = {.size = sizeof args, .has_batch = 1, .batch = 3, .output_count = 1};
  const size_t inputs = (size_t)(args.batch * info.input_bytes),
               outputs = (size_t)(args.batch * info.output_bytes);
  float *input = malloc(inputs), *whole = malloc(outputs), *parts = malloc(outputs);
  for (size_t i = 0; i < inputs / sizeof *input; ++i) input[i] = (float)(i % 1009);

  args.input = input;
  args.outputs = (void*[]){whole};
  atomic_int failures = pooljit_run_with(kernel, &args) != 0;

  args.outputs = (void*[]){parts};
#pragma omp parallel num_threads(4)
  {
    pooljit_args mine = args;
    mine.part = omp_get_thread_num();
    mine.parts = omp_get_num_threads();
    failures += pooljit_run_with(kernel, &mine) != 0;
  }
  const int is_equal = failures == 0 && memcmp(whole, parts, outputs) == 0;
  puts(is_equal ? "equal" : "different");
  free(input), free(whole), free(parts);
  pooljit_release(kernel);
  return is_equal ? 0 : 1;
}
