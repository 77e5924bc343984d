/* The table of pools.h: each kernel, found by its texts, does by the one signature what its own functions do.
 */
#include <pools.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;

static void expect(int is_right, const char* kernel, const char* what) {
  if (is_right) return;
  ++failures;
  printf("%s: %s\n", kernel, what);
}

static void* zeros(int64_t bytes) { return calloc(1, (size_t)bytes); }

/* All of the work, and the same in three parts. */
static void run_all(const pooljit_export_kernel* kernel) {
  const pooljit_export_info* const info = kernel->info;
  unsigned char* const input = (unsigned char*)zeros(info->input.bytes);
  void* outputs[2][8];
  void* indices[2][8];
  pooljit_export_args args;
  int64_t i;
  int way, part;
  for (i = 0; i < info->input.bytes; ++i) input[i] = (unsigned char)(i % 61);
  memset(&args, 0, sizeof args);
  args.input = input;
  args.batch = info->input.shape[0];
  for (way = 0; way < 2; ++way) {
    for (i = 0; i < info->output_count; ++i) outputs[way][i] = zeros(info->outputs[i].bytes);
    for (i = 0; i < info->indices_count; ++i) indices[way][i] = zeros(info->all_indices[i].bytes);
    args.outputs = outputs[way];
    args.indices = indices[way];
    args.parts = way == 0 ? 0 : 3;
    for (part = 0; part < (way == 0 ? 1 : 3); ++part) {
      args.part = part;
      expect(kernel->run(&args) == POOLJIT_EXPORT_OK, kernel->name, "it does not run");
    }
  }
  for (i = 0; i < info->output_count; ++i) {
    expect(memcmp(outputs[0][i], outputs[1][i], (size_t)info->outputs[i].bytes) == 0, kernel->name,
           "parts give other results");
    free(outputs[0][i]), free(outputs[1][i]);
  }
  for (i = 0; i < info->indices_count; ++i) {
    expect(memcmp(indices[0][i], indices[1][i], (size_t)info->all_indices[i].bytes) == 0, kernel->name,
           "parts give other indices");
    free(indices[0][i]), free(indices[1][i]);
  }
  free(input);
}

static void refuse(const pooljit_export_kernel* kernel) {
  char memory[8] = {0};
  void* none[8] = {0};
  pooljit_export_args args;
  memset(&args, 0, sizeof args);
  expect(kernel->run(0) == POOLJIT_EXPORT_INVALID, kernel->name, "it runs without arguments");
  args.input = memory;
  expect(kernel->run(&args) == POOLJIT_EXPORT_INVALID, kernel->name, "it runs without outputs");
  args.outputs = none;
  args.indices = none;
  args.batch = 1;
  expect(kernel->run(&args) == POOLJIT_EXPORT_INVALID, kernel->name, "it writes to null");
  args.batch = -1;
  expect(kernel->run(&args) == POOLJIT_EXPORT_INVALID, kernel->name, "it takes a negative batch");
  args.batch = 1;
  args.part = 1;
  expect(kernel->run(&args) == POOLJIT_EXPORT_INVALID, kernel->name, "it takes a part of none");
}

int main(void) {
  int64_t count = 0, i;
  const pooljit_export_kernel* const kernels = pools_kernels(&count);
  expect(count > 0, "the table", "it is empty");
  for (i = 0; i < count; ++i) {
    const pooljit_export_kernel* const kernel = &kernels[i];
    const pooljit_export_kernel* const of_signature = pools_find(kernel->signature);
    expect(pools_find(kernel->name) == kernel, kernel->name, "its name finds another");
    expect(pools_find(kernel->spec) && strcmp(pools_find(kernel->spec)->spec, kernel->spec) == 0,
           kernel->name, "its spec finds another");
    expect(of_signature && strcmp(of_signature->signature, kernel->signature) == 0, kernel->name,
           "its signature finds another");
    expect(strcmp(kernel->spec, kernel->info->spec) == 0, kernel->name, "another's info");
    run_all(kernel);
    refuse(kernel);
  }
  expect(!pools_find("") && !pools_find("max_pool2d"), "the table", "it finds what is not there");
  if (failures == 0) printf("%d kernels\n", (int)count);
  return failures != 0;
}
