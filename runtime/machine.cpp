#include "runtime/machine.h"

#include <cpuid.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <fstream>

namespace pooljit::runtime {
namespace {

struct Registers {
  unsigned a = 0, b = 0, c = 0, d = 0;
};

Registers cpuid(unsigned leaf) {
  Registers found;
  __get_cpuid(leaf, &found.a, &found.b, &found.c, &found.d);
  return found;
}

std::string text_of(std::initializer_list<unsigned> words) {
  std::string text;
  for (const unsigned word : words) {
    char bytes[sizeof word];
    std::memcpy(bytes, &word, sizeof word);
    text.append(bytes, sizeof bytes);
  }
  return text;
}

// Printable, single blanks, none at the ends: it becomes a field of a text file.
std::string tidy(const std::string& text) {
  std::string tidied;
  for (const char c : text) {
    const bool is_blank = c <= ' ' || c > '~';
    if (c == '\0') break;
    if (!is_blank)
      tidied += c;
    else if (!tidied.empty() && tidied.back() != ' ')
      tidied += ' ';
  }
  if (tidied.ends_with(' ')) tidied.pop_back();
  return tidied;
}

std::string cpu_name() {
  std::string brand;
  if (cpuid(0x80000000).a >= 0x80000004)
    for (unsigned leaf = 0x80000002; leaf <= 0x80000004; ++leaf) {
      const Registers part = cpuid(leaf);
      brand += text_of({part.a, part.b, part.c, part.d});
    }
  const Registers vendor = cpuid(0);
  const unsigned model = cpuid(1).a;
  const unsigned base = model >> 8 & 15;
  const unsigned family = base + (base == 15 ? model >> 20 & 255 : 0);
  return fmt::format("{} ({} {}.{}.{})", tidy(brand), tidy(text_of({vendor.b, vendor.d, vendor.c})), family,
                     (model >> 4 & 15) + (model >> 16 & 15) * 16, model & 15);
}

std::string first_line(const std::string& path) {
  std::string line;
  std::ifstream file(path);
  std::getline(file, line);
  return line;
}

// "48K", as /sys has it.
int64_t bytes_of(const std::string& size) {
  int64_t number = 0;
  for (const char c : size) {
    if (c < '0' || c > '9') return number << (c == 'K' ? 10 : c == 'M' ? 20 : 0);
    number = number * 10 + (c - '0');
  }
  return number;
}

ir::Caches find_caches() {
  ir::Caches caches{.bytes = {}};
  constexpr int most_caches = 8;
  for (int i = 0; i < most_caches; ++i) {
    const std::string folder = fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/", i);
    const int64_t level = bytes_of(first_line(folder + "level"));
    if (level >= 1 && level <= static_cast<int64_t>(caches.bytes.size()) &&
        first_line(folder + "type") != "Instruction")
      caches.bytes[static_cast<size_t>(level) - 1] = bytes_of(first_line(folder + "size"));
  }
  return caches;
}

}  // namespace

const Machine& machine() {
  static const Machine& found = *new Machine{cpu_name(), find_caches()};
  return found;
}

std::string print(const ir::Caches& caches) {
  return fmt::format("{}K {}K {}K", caches.bytes[0] >> 10, caches.bytes[1] >> 10, caches.bytes[2] >> 10);
}

}  // namespace pooljit::runtime
