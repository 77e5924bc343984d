#include <cstdio>
#include <pooljit.hpp>

int main() {
  const pooljit::Kernel pool = pooljit::compile("max_pool2d(float32[1,1,4,4], kernel_size=2)");
  const float image[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  float result[4];
  pool.run(image, result);  // from any thread; throws pooljit::Error
  std::printf("%g %g %g %g\n", result[0], result[1], result[2], result[3]);
}
