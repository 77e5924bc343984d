/* A program that AddressSanitizer was compiled into, and a library that it was not: a call with a buffer that
 * is too short, or freed, is an error and writes nothing. */
#include <pooljit.h>
#include <sanitizer/asan_interface.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;

static void expect(int is_right, const char* what) {
  if (is_right) return;
  ++failures;
  printf("%s: %s\n", what, pooljit_last_error());
}

static pooljit_kernel* compile(const char* spec, pooljit_info* info) {
  pooljit_kernel* kernel = NULL;
  memset(info, 0, sizeof *info);
  info->size = sizeof *info;
  if (pooljit_compile(spec, NULL, &kernel) || pooljit_kernel_info(kernel, info)) {
    printf("%s: %s\n", spec, pooljit_last_error());
    exit(1);
  }
  return kernel;
}

static int refuses(const pooljit_kernel* kernel, const void* input, void* output, void* indices,
                   const char* what) {
  const char* const said =
      pooljit_run(kernel, input, output, indices) == POOLJIT_INVALID ? pooljit_last_error() : "";
  return strncmp(said, "run.buffer: ", 12) == 0 && strstr(said, what) != NULL;
}

static int all_are(const unsigned char* bytes, size_t count, unsigned char value) {
  size_t i;
  for (i = 0; i < count && bytes[i] == value; ++i) {
  }
  return i == count;
}

static void check_whole_buffers(void) {
  pooljit_info info;
  pooljit_kernel* const kernel =
      compile("max_pool2d(float32[2,8,16,16], kernel_size=2, return_indices=True)", &info);
  const size_t in = (size_t)info.input_bytes, out = (size_t)info.output_bytes,
               index = (size_t)info.indices_bytes, missing = 256;
  void* const input = calloc(1, in);
  void* const short_input = malloc(in - missing);
  unsigned char* const output = malloc(out);
  unsigned char* const short_output = malloc(out - missing);
  void* const indices = malloc(index);
  void* const short_indices = malloc(index - missing);
  memset(output, 7, out);
  memset(short_output, 7, out - missing);
  expect(refuses(kernel, input, short_output, indices, "output may not be touched at byte 3840 of 4096"),
         "a short output");
  expect(all_are(short_output, out - missing, 7), "a short output is written");
  expect(refuses(kernel, short_input, output, indices, "input may"), "a short input");
  expect(refuses(kernel, input, output, short_indices, "indices may"), "short indices");
  expect(all_are(output, out, 7), "a refused call writes");
  expect(pooljit_run(kernel, input, output, indices) == POOLJIT_OK, "buffers of the right size");
  free(input);
  expect(refuses(kernel, input, output, indices, "input may not be touched at byte 0"), "a freed input");
  free(short_input), free(output), free(short_output), free(indices), free(short_indices);
  pooljit_release(kernel);
}

/* Rows of 8 elements, 16 apart: what lies between is nobody's. */
static void check_gaps(void) {
  pooljit_info info;
  pooljit_kernel* const kernel =
      compile("max_pool1d(float32[4,1,16], kernel_size=2, output_strides=[16,16,1])", &info);
  const size_t row = 8 * sizeof(float);
  float input[4 * 16] = {0};
  char* const output = malloc(4 * 2 * row);
  int i;
  for (i = 0; i < 4; ++i) ASAN_POISON_MEMORY_REGION(output + (2 * i + 1) * row, row);
  expect(pooljit_run(kernel, input, output, NULL) == POOLJIT_OK, "gaps that are poisoned");
  ASAN_POISON_MEMORY_REGION(output + 4 * row, 8);
  expect(refuses(kernel, input, output, NULL, "output may not be touched at byte 128 of 224"),
         "a row that is poisoned");
  ASAN_UNPOISON_MEMORY_REGION(output, 4 * 2 * row);
  free(output);
  pooljit_release(kernel);
}

/* 12 channels in blocks of 8: the last block ends with its 4th channel. */
static void check_blocks(void) {
  pooljit_info info;
  pooljit_kernel* const kernel = compile("max_pool1d(float32[1,12,4]:nchw8c, kernel_size=2)", &info);
  void* const input = calloc(1, (size_t)info.input_bytes);
  void* const output = malloc((size_t)info.output_bytes);
  void* const short_output = malloc((size_t)info.output_bytes - sizeof(float));
  expect(pooljit_run(kernel, input, output, NULL) == POOLJIT_OK, "blocks of channels");
  expect(refuses(kernel, input, short_output, NULL, "output may"), "a channel that is missing");
  free(input), free(output), free(short_output);
  pooljit_release(kernel);
}

int main(void) {
  check_whole_buffers();
  check_gaps();
  check_blocks();
  if (failures == 0) puts("ok");
  return failures != 0;
}
