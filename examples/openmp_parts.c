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
  if (pooljit_compile("avg_pool2d(float32[N,32,56,56]:nhwc, kernel_size=3)", "threads=1", &kernel) ||
      pooljit_kernel_info(kernel, &info))
    return puts(pooljit_last_error()), 1;
  const pooljit_run_options options = {.size = sizeof options, .has_batch = 1, .batch = 3};
  const size_t inputs = (size_t)(options.batch * info.input_bytes),
               outputs = (size_t)(options.batch * info.output_bytes);
  float *input = malloc(inputs), *whole = malloc(outputs), *parts = malloc(outputs);
  for (size_t i = 0; i < inputs / sizeof *input; ++i) input[i] = (float)(i % 1009);

  atomic_int failures = 0;
#pragma omp parallel num_threads(4)
  failures += pooljit_run_part(kernel, input, parts, NULL, &options, omp_get_thread_num(),
                               omp_get_num_threads()) != 0;

  failures += pooljit_run_with(kernel, input, whole, NULL, &options) != 0;
  const int is_equal = failures == 0 && memcmp(whole, parts, outputs) == 0;
  puts(is_equal ? "equal" : "different");
  free(input), free(whole), free(parts);
  pooljit_release(kernel);
  return is_equal ? 0 : 1;
}
