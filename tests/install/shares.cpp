// A program of somebody else's: what it takes of the C++ library and of fmt, libpooljit.a has inside too.
#define FMT_HEADER_ONLY
#include <fmt/format.h>

#include <array>
#include <atomic>
#include <charconv>
#include <cstdio>
#include <map>
#include <memory>
#include <pooljit.hpp>
#include <string>

int main() {
  const auto shared = std::make_shared<std::string>("shared");
  std::map<int, std::string> map;
  map[3] = *shared + std::to_string(7);
  std::array<char, 32> digits = {};
  std::to_chars(digits.data(), digits.data() + digits.size() - 1, 3.5);
  std::atomic<int> number = 1;
  number.wait(0);
  const auto kernel = pooljit::compile("max_pool1d(float32[1,4], kernel_size=2)");
  const float in[] = {1, 2, 4, 3};
  float out[2] = {};
  kernel.run(in, out);
  std::printf("%s %s %s\n", map[3].c_str(), digits.data(),
              fmt::format("{} {:x}", out[0] + out[1], 255).c_str());
}
