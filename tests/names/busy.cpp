// A program that is busy in one kernel, for perf and gdb (tests/names/run): busy BACKEND SECONDS [NAMES
// [LABEL]]
#include <chrono>
#include <cstdlib>
#include <pooljit.hpp>
#include <vector>

int main(int argc, char** argv) {
  if (argc < 3 || argc > 5) return 2;
  const pooljit::Kernel kernel =
      pooljit::compile("max_pool2d(float32[1,64,112,112], kernel_size=3, stride=2, padding=1)",
                       {.backend = argv[1],
                        .isa = "avx2",
                        .threads = 1,
                        .names = argc > 3 ? argv[3] : "",
                        .label = argc > 4 ? argv[4] : ""});
  std::vector<std::byte> input(kernel.input_bytes()), output(kernel.output_bytes());
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(std::atof(argv[2]));
  do {
    for (int i = 0; i < 20; ++i) kernel.run(input.data(), output.data());
  } while (std::chrono::steady_clock::now() < end);
}
