#include <kernels.h>
#include <stdio.h>

int main(void) {
  const float image[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  float result[4], again[4];
  int64_t indices[4];
  if (quarter(image, result, 1) != POOLJIT_EXPORT_OK) return puts("this processor has none of the ISAs"), 1;
  /* The same work as it is split among threads: here one after the other. */
  for (int part = 0; part < 2; ++part)
    if (best_part(image, again, indices, 1, part, 2) != POOLJIT_EXPORT_OK) return 1;
  for (int i = 0; i < 4; ++i)
    if (result[i] != again[i] || result[i] != image[indices[i]]) return puts("they differ"), 1;
  printf("%g %g %g %g\n", result[0], result[1], result[2], result[3]);
  fprintf(stderr, "%s: %s, %s\n", quarter_info.spec, quarter_info.bodies[0].isa,
          quarter_info.bodies[0].schedule);
  return 0;
}
