/* Runs every kernel of pools.h on exactly as much memory as it needs and prints what comes out, in one number
 * each: by its own choice of a body, and by the body of AVX2, in shares with scratch memory of the caller's
 * as in one. Only the order in which an average adds may be another one for another instruction set.
 */
#include <pools.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Each kernel with the same arguments, whether it has indices or not. */
#define ROW(name)                                                                             \
  static int whole_##name(const void* input, void* output, void* indices) {                   \
    (void)indices;                                                                            \
    return name(input, output, 1);                                                            \
  }                                                                                           \
  static int part_##name(const void* input, void* output, void* indices, int part, int parts, \
                         void* scratch) {                                                     \
    (void)indices;                                                                            \
    return name##_part_with_avx2(input, output, 1, part, parts, scratch);                     \
  }
#define ROW_WITH_INDICES(name)                                                                \
  static int whole_##name(const void* input, void* output, void* indices) {                   \
    return name(input, output, indices, 1);                                                   \
  }                                                                                           \
  static int part_##name(const void* input, void* output, void* indices, int part, int parts, \
                         void* scratch) {                                                     \
    return name##_part_with_avx2(input, output, indices, 1, part, parts, scratch);            \
  }
#include <rows.h>

struct row {
  const char* name;
  int (*whole)(const void*, void*, void*);
  int (*part_of_avx2)(const void*, void*, void*, int, int, void*);
  const pooljit_export_info* info;
};
static const struct row rows[] = {
#undef ROW
#undef ROW_WITH_INDICES
#define ROW(name) {#name, whole_##name, part_##name, &name##_info},
#define ROW_WITH_INDICES ROW
#include <rows.h>
};

/* Of a batch of 1. */
static size_t bytes_of(const pooljit_export_tensor* tensor) {
  return tensor->rank == 0 ? 0 : (size_t)(tensor->bytes / tensor->shape[0]);
}

/* Bytes that are valid numbers of any type. */
static unsigned char* input_of(size_t bytes) {
  unsigned char* const input = malloc(bytes);
  uint64_t state = 1;
  for (size_t i = 0; i + 8 <= bytes; i += 8) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const uint64_t word = (state ^ state >> 29) & 0x3f3f3f3f3f3f3f3fU;
    memcpy(input + i, &word, 8);
  }
  for (size_t i = bytes / 8 * 8; i < bytes; ++i) input[i] = (unsigned char)(i % 63);
  return input;
}

static uint64_t digest(const unsigned char* bytes, size_t count) {
  uint64_t sum = count;
  for (size_t i = 0; i + 8 <= count; i += 8) {
    uint64_t word;
    memcpy(&word, bytes + i, 8);
    sum = (sum ^ word) * 1099511628211U;
    sum ^= sum >> 31;
  }
  for (size_t i = count / 8 * 8; i < count; ++i) sum = (sum ^ bytes[i]) * 1099511628211U;
  return sum;
}

/* Its results are elements of the input. */
static int is_exact(const pooljit_export_info* info) {
  return strstr(info->spec, "max_pool") != NULL || strstr(info->spec, "min_pool") != NULL;
}

struct results {
  unsigned char *outputs, *indices;
};

static int run(const struct row* row) {
  const size_t inputs = bytes_of(&row->info->input), outputs = bytes_of(&row->info->output),
               indices = bytes_of(&row->info->indices), scratch_bytes = (size_t)row->info->scratch_bytes;
  unsigned char* const input = input_of(inputs);
  struct results all[3]; /* by its own choice, by AVX2 in one and in shares */
  for (int i = 0; i < 3; ++i) all[i] = (struct results){malloc(outputs), malloc(indices)};
  void* const scratch = scratch_bytes > 0 ? aligned_alloc(64, scratch_bytes) : NULL;
  int failed = row->whole(input, all[0].outputs, all[0].indices) != POOLJIT_EXPORT_OK;
  failed |= row->part_of_avx2(input, all[1].outputs, all[1].indices, 0, 1, scratch);
  for (int part = 2; part >= 0; --part)
    failed |= row->part_of_avx2(input, all[2].outputs, all[2].indices, part, 3, scratch);
  failed |= memcmp(all[1].outputs, all[2].outputs, outputs) != 0;
  failed |= memcmp(all[1].indices, all[2].indices, indices) != 0;
  if (is_exact(row->info)) failed |= memcmp(all[0].outputs, all[1].outputs, outputs) != 0;
  failed |= memcmp(all[0].indices, all[1].indices, indices) != 0;
  printf("%s", row->name);
  for (int i = 0; i < 2; ++i)
    printf(" %016llx %016llx", (unsigned long long)digest(all[i].outputs, outputs),
           (unsigned long long)digest(all[i].indices, indices));
  printf("%s\n", failed ? " FAILED" : "");
  for (int i = 0; i < 3; ++i) free(all[i].outputs), free(all[i].indices);
  free(input), free(scratch);
  return failed;
}

int main(void) {
  int failures = 0;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) failures += run(&rows[i]);
  return failures != 0;
}
