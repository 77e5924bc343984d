#include "runtime/cpu_caches.h"

#include <cpuid.h>
#include <fmt/format.h>

#include <algorithm>
#include <fstream>

namespace pooljit::runtime {
namespace {

std::string first_line(const std::string& path) {
  std::string line;
  std::ifstream file(path);
  std::getline(file, line);
  return line;
}

// "48K", as /sys has it.
int64_t bytes_of(const std::string& size) {
  constexpr int64_t most = int64_t{1} << 40;
  int64_t number = 0;
  for (const char c : size) {
    if (c < '0' || c > '9') return number << (c == 'K' ? 10 : c == 'M' ? 20 : 0);
    number = std::min(number * 10 + (c - '0'), most);
  }
  return number;
}

bool knows_any(const ir::Caches& caches) {
  return std::ranges::any_of(caches.bytes, [](int64_t bytes) { return bytes > 0; });
}

// Leaf 4 and 0x8000001d say the same in the same bits: a cache for each subleaf.
ir::Caches caches_of_leaf(const Cpuid& ask, unsigned leaf) {
  constexpr unsigned most_caches = 16, none = 0, instructions = 2;
  ir::Caches found{.bytes = {}};
  for (unsigned i = 0; i < most_caches; ++i) {
    const CpuidWords words = ask(leaf, i);
    const unsigned type = words.a & 31, level = words.a >> 5 & 7;
    if (type == none) break;
    if (type == instructions || level < 1 || level > found.bytes.size()) continue;
    const int64_t ways = (words.b >> 22) + 1, partitions = (words.b >> 12 & 1023) + 1,
                  line = (words.b & 4095) + 1;
    found.bytes[level - 1] = ways * partitions * line * (int64_t{words.c} + 1);
  }
  return found;
}

// The older leaves of AMD, which Intel fills for L2 only: KiB of L1 and L2, units of 512 KiB of L3.
ir::Caches caches_of_old_leaves(const Cpuid& ask) {
  constexpr int64_t kib = 1024;
  const unsigned last = ask(0x80000000, 0).a;
  ir::Caches found{.bytes = {}};
  if (last >= 0x80000005) found.bytes[0] = (ask(0x80000005, 0).c >> 24) * kib;
  if (last < 0x80000006) return found;
  const CpuidWords words = ask(0x80000006, 0);
  found.bytes[1] = (words.c >> 16) * kib;
  found.bytes[2] = (words.d >> 18) * 512 * kib;
  return found;
}

void fill(ir::Caches& caches, const ir::Caches& more) {
  for (size_t level = 0; level < caches.bytes.size(); ++level)
    if (caches.bytes[level] == 0) caches.bytes[level] = more.bytes[level];
}

}  // namespace

CpuidWords cpuid(unsigned leaf, unsigned subleaf) {
  CpuidWords words;
  __get_cpuid_count(leaf, subleaf, &words.a, &words.b, &words.c, &words.d);
  return words;
}

ir::Caches caches_of_folder(const std::string& folder) {
  constexpr int most_caches = 8;
  ir::Caches caches{.bytes = {}};
  for (int i = 0; i < most_caches; ++i) {
    const std::string cache = fmt::format("{}/index{}/", folder, i);
    const int64_t level = bytes_of(first_line(cache + "level"));
    if (level >= 1 && level <= static_cast<int64_t>(caches.bytes.size()) &&
        first_line(cache + "type") != "Instruction")
      caches.bytes[static_cast<size_t>(level) - 1] = bytes_of(first_line(cache + "size"));
  }
  return caches;
}

ir::Caches caches_of_cpuid(const Cpuid& ask) {
  ir::Caches caches{.bytes = {}};
  if (ask(0, 0).a >= 4) fill(caches, caches_of_leaf(ask, 4));
  if (ask(0x80000000, 0).a >= 0x8000001d) fill(caches, caches_of_leaf(ask, 0x8000001d));
  fill(caches, caches_of_old_leaves(ask));
  return caches;
}

FoundCaches find_caches(const std::string& folder, const Cpuid& ask) {
  FoundCaches found{caches_of_folder(folder), "the system"};
  const ir::Caches of_system = found.caches;
  fill(found.caches, caches_of_cpuid(ask));
  if (!knows_any(found.caches))
    found.source = "nothing";
  else if (found.caches != of_system)
    found.source = knows_any(of_system) ? "the system and cpuid" : "cpuid";
  return found;
}

}  // namespace pooljit::runtime
