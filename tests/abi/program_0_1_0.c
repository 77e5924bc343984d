/* A program that was compiled against the headers of pooljit 0.1.0, which lie beside it, and runs with the
 * library of today: every function that they declare. Prints "ok". */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "pooljit_0_1_0.h"
#include "pooljit_engine_0_1_0.h"

static int failures = 0;

static void expect(int is_right, const char* what) {
  if (is_right) return;
  ++failures;
  printf("%s: %s\n", what, pooljit_last_error());
}

int main(void) {
  const float input[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  const float addend[4] = {1, 1, 1, 1};
  const void* operands[1] = {addend};
  float output[4];
  int64_t indices[4], dims[POOLJIT_MAX_RANK];
  int rank = 0;
  pooljit_kernel *kernel, *added, *none;
  pooljit_spec* spec;

  expect(strcmp(pooljit_last_error(), "") == 0, "no error yet");
  expect(pooljit_version()[0] != '\0', "version");
  expect(pooljit_compile("max_pool2d(float32[1,1,4,4], kernel_size=2, return_indices=True)", "threads=1",
                         &kernel) == POOLJIT_OK,
         "compile");
  expect(pooljit_output_shape(kernel, dims, &rank) == POOLJIT_OK && rank == 4 && dims[3] == 2, "shape");
  expect(pooljit_run(kernel, input, output, indices) == POOLJIT_OK && output[3] == 16 && indices[3] == 15,
         "run");
  expect(strcmp(pooljit_proof(kernel), "") == 0, "proof");

  expect(pooljit_spec_read("max_pool2d(float32[1,1,4,4], kernel_size=2, epilogue=[add])", NULL, &spec) ==
             POOLJIT_OK,
         "spec_read");
  expect(pooljit_spec_compile(spec, &added) == POOLJIT_OK, "spec_compile");
  expect(pooljit_run_operands(added, input, output, NULL, operands, 1) == POOLJIT_OK && output[0] == 7,
         "run_operands");
  expect(pooljit_compile("nonsense", NULL, &none) == POOLJIT_INVALID && none == NULL, "an error");
  expect(strncmp(pooljit_last_error(), "spec.", 5) == 0, "its text");

  /* Engines that were compiled against it find every field where it was. */
  expect(sizeof(pooljit_engine_tensor) == 160 && offsetof(pooljit_engine_layer, spec) == 8 &&
             offsetof(pooljit_engine_layer, kernel) == 40 &&
             offsetof(pooljit_engine_layer, ceil_mode) == 360 &&
             offsetof(pooljit_engine_layer, input) == 384 && sizeof(pooljit_engine_layer) == 864,
         "the layer of engines");

  pooljit_spec_release(spec);
  pooljit_release(added);
  pooljit_release(kernel);
  if (failures == 0) puts("ok");
  return failures;
}
