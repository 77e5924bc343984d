// C++17 and later: the C++ header, with strings, vectors and exceptions of this program's own standard
// library.
#include <pooljit.hpp>
#include <string>
#include <vector>

#include "consumer.h"

int main() {
  if (const int wrong = use_pooljit()) return wrong;
  const pooljit::Spec spec("pools(float32[N,1,4,4], max_pool2d(2), avg_pool2d(4))");
  const pooljit::Kernel kernel = pooljit::compile(spec);
  std::vector<float> input(32), maxima(spec.output_bytes(0) / 2), averages(8);
  for (size_t i = 0; i < input.size(); ++i) input[i] = float(i);
  const std::vector<void*> outputs = {maxima.data(), averages.data()};
  pooljit::Args args;
  args.input = input.data();
  args.set_outputs(outputs);
  args.set_batch(2);
  kernel.run_with(args);
  if (spec.output_count() != 2 || maxima[7] != 31 || averages[1] != 23.5F) return 11;
  if (std::string(kernel.backend()).empty() || pooljit::schedules(spec).empty()) return 12;
  try {
    pooljit::compile("max_pool2d(float32[1,1,4,4], kernel_size=9)");
  } catch (const pooljit::Error& error) {
    return error.id() == "spec.output_size" && !error.hint().empty() ? 0 : 13;
  }
  return 14;
}
