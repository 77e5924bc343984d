#include <pooljit.h>
#include <stdio.h>

int main(void) {
  const float image[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  float result[4];
  pooljit_kernel* pool;
  if (pooljit_compile("max_pool2d(float32[1,1,4,4], kernel_size=2)", NULL, &pool) != 0)
    return puts(pooljit_last_error()), 1;
  if (pooljit_run(pool, image, result, NULL) != 0) return puts(pooljit_last_error()), 1;
  pooljit_release(pool);
  printf("%g %g %g %g\n", result[0], result[1], result[2], result[3]);
}
