/* Pools images of any height and width with code that was made ahead of time. */
#include <any_size.h>
#include <stdio.h>

int main(void) {
  const float image[18] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18};
  const int64_t square[] = {4, 4}, wide[] = {2, 9}, empty[] = {1, 18};
  float result[4];
  if (quarter_of(image, result, 1, square) != POOLJIT_EXPORT_OK) return puts(pooljit_last_error()), 1;
  printf("%g %g %g %g\n", result[0], result[1], result[2], result[3]);
  if (quarter_of(image, result, 1, wide) != POOLJIT_EXPORT_OK) return puts(pooljit_last_error()), 1;
  printf("%g %g %g %g\n", result[0], result[1], result[2], result[3]);
  /* No window fits into one row. */
  if (quarter_of(image, result, 1, empty) != POOLJIT_EXPORT_INVALID) return 1;
  fprintf(stderr, "%s\n", pooljit_last_error());
  return 0;
}
