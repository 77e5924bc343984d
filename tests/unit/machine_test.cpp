// Which row of ir/machine.def a processor is, and what its caches are: of folders and cpuid words as real
// machines and virtual ones show them. Nothing here depends on this machine.
#include "ir/machine.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include <unistd.h>

#include "runtime/cpu_caches.h"
#include "runtime/cpu_features.h"

namespace pooljit {
namespace {

using runtime::CpuidWords;

TEST(Machine, RowsAreFoundByVendorFamilyAndModel) {
  const struct {
    const char* vendor;
    unsigned family, model;
    const char* name;
  } table[] = {
      {"AuthenticAMD", 25, 0x01, "zen3"},
      {"AuthenticAMD", 25, 0x21, "zen3"},
      {"AuthenticAMD", 25, 0x11, "zen4"},
      {"AuthenticAMD", 25, 0x61, "zen4"},
      {"AuthenticAMD", 26, 0x02, "zen5"},
      {"GenuineIntel", 6, 0x8f, "sapphire_rapids"},
      {"GenuineIntel", 6, 0xcf, "sapphire_rapids"},
      {"GenuineIntel", 6, 0x55, "generic"},
      {"AuthenticAMD", 23, 0x31, "generic"},
      {"GenuineIntel", 25, 0x01, "generic"},
      {"", 0, 0, "generic"},
  };
  for (const auto& row : table)
    EXPECT_EQ(ir::find_machine(row.vendor, row.family, row.model).name, row.name)
        << row.vendor << ' ' << row.family << ' ' << row.model;
  EXPECT_EQ(ir::find_machine("zen5")->caches.bytes[0], 48 << 10);
  EXPECT_FALSE(ir::find_machine("zen"));
  EXPECT_EQ(ir::find_machine("generic"), ir::generic_machine);
}

TEST(Machine, CachesThatAreNotKnownAreTheRows) {
  const ir::Machine generic = ir::with_caches(ir::generic_machine, {.bytes = {0, 2 << 20, 0}});
  EXPECT_EQ(generic.caches.bytes[1], 2 << 20);
  EXPECT_EQ(generic.caches.bytes[0], ir::generic_machine.caches.bytes[0]) << "not known: the row's";
  EXPECT_EQ(ir::with_caches(ir::generic_machine, {.bytes = {0, 0, 0}}), ir::generic_machine);
}

// A processor that has these leaves only; by leaf and subleaf.
using Leaves = std::map<std::pair<unsigned, unsigned>, CpuidWords>;
runtime::Cpuid processor(Leaves leaves) {
  return [leaves = std::move(leaves)](unsigned leaf, unsigned subleaf) {
    const auto found = leaves.find({leaf, subleaf});
    return found == leaves.end() ? CpuidWords{} : found->second;
  };
}

// type and level; ways, partitions and line, each less one; sets less one.
CpuidWords cache(unsigned type, unsigned level, unsigned ways, unsigned line, unsigned sets) {
  return {type | level << 5, (ways - 1) << 22 | (line - 1), sets - 1, 0};
}

// A processor with all that the ISAs promise, and what is changed about it.
runtime::Processor full(
    uint32_t saved_registers, const std::function<void(Leaves&)>& change = [](Leaves&) {}) {
  Leaves leaves = {{{0, 0}, {.a = 13}}};
  for (const ir::CpuFeature& feature : ir::cpu_features) {
    CpuidWords& words = leaves[{feature.leaf, 0}];
    unsigned* const by_word[] = {&words.a, &words.b, &words.c, &words.d};
    *by_word[static_cast<size_t>(feature.word)] |= 1U << feature.bit;
  }
  change(leaves);
  return {processor(leaves), saved_registers};
}

TEST(Machine, AnIsaIsThereWithAllItsFeaturesAndRegisters) {
  constexpr uint32_t all = 0xe7, no_zmm = 0x7, no_ymm = 0x3;
  const auto has = [](const runtime::Processor& one, ir::Isa isa) { return runtime::has(one, isa); };
  for (const ir::IsaInfo& isa : ir::isa_table) {
    EXPECT_TRUE(has(full(all), isa.isa)) << isa.text;
    EXPECT_FALSE(has(full(no_ymm), isa.isa)) << isa.text;
    EXPECT_FALSE(has(full(all, [](Leaves& leaves) { leaves[{0, 0}].a = 6; }), isa.isa)) << "no leaf 7";
    for (const ir::CpuFeature& feature : ir::cpu_features) {
      const auto without = full(all, [&](Leaves& leaves) {
        CpuidWords& words = leaves[{feature.leaf, 0}];
        unsigned* const by_word[] = {&words.a, &words.b, &words.c, &words.d};
        *by_word[static_cast<size_t>(feature.word)] &= ~(1U << feature.bit);
      });
      EXPECT_EQ(has(without, isa.isa), feature.since > isa.isa) << isa.text << " without " << feature.text;
    }
  }
  EXPECT_TRUE(has(full(no_zmm), ir::Isa::avx2));
  EXPECT_FALSE(has(full(no_zmm), ir::Isa::avx512));
}

TEST(Machine, CachesOfCpuid) {
  const std::array<int64_t, 3> none = {0, 0, 0};
  EXPECT_EQ(runtime::caches_of_cpuid(processor({})).bytes, none) << "a virtual machine that hides all";
  const Leaves intel = {{{0, 0}, {.a = 32}},
                        {{4, 0}, cache(1, 1, 12, 64, 64)},
                        {{4, 1}, cache(2, 1, 8, 64, 64)},
                        {{4, 2}, cache(3, 2, 16, 64, 2048)},
                        {{4, 3}, cache(3, 3, 15, 64, 32768)}};
  EXPECT_EQ(runtime::caches_of_cpuid(processor(intel)).bytes,
            (std::array<int64_t, 3>{48 << 10, 2 << 20, 30 << 20}));
  const Leaves amd = {{{0x80000000, 0}, {.a = 0x8000001f}},
                      {{0x8000001d, 0}, cache(1, 1, 8, 64, 64)},
                      {{0x8000001d, 1}, cache(3, 2, 8, 64, 1024)}};
  EXPECT_EQ(runtime::caches_of_cpuid(processor(amd)).bytes, (std::array<int64_t, 3>{32 << 10, 512 << 10, 0}));
  const Leaves old = {{{0x80000000, 0}, {.a = 0x80000008}},
                      {{0x80000005, 0}, {.c = 32U << 24}},
                      {{0x80000006, 0}, {.c = 512U << 16, .d = 64U << 18}}};
  EXPECT_EQ(runtime::caches_of_cpuid(processor(old)).bytes,
            (std::array<int64_t, 3>{32 << 10, 512 << 10, 32 << 20}));
}

TEST(Machine, TheSystemComesFirstAndCpuidFillsItsGaps) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("pooljit_caches_" + std::to_string(::getpid()));
  const auto write = [&](const char* file, const char* text) {
    std::filesystem::create_directories((folder / file).parent_path());
    std::ofstream(folder / file) << text << '\n';
  };
  const auto ask = processor({{{0x80000000, 0}, {.a = 0x80000006}},
                              {{0x80000005, 0}, {.c = 32U << 24}},
                              {{0x80000006, 0}, {.c = 512U << 16}}});
  EXPECT_EQ(runtime::find_caches(folder.string(), ask).source, "cpuid");
  EXPECT_EQ(runtime::find_caches(folder.string(), processor({})).source, "nothing");
  write("index0/level", "1"), write("index0/type", "Data"), write("index0/size", "48K");
  write("index1/level", "1"), write("index1/type", "Instruction"), write("index1/size", "64K");
  write("index2/level", "3"), write("index2/type", "Unified"), write("index2/size", "30720K");
  const runtime::FoundCaches both = runtime::find_caches(folder.string(), ask);
  EXPECT_EQ(both.source, "the system and cpuid");
  EXPECT_EQ(both.caches.bytes, (std::array<int64_t, 3>{48 << 10, 512 << 10, 30 << 20}));
  EXPECT_EQ(runtime::find_caches(folder.string(), processor({})).source, "the system");
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace pooljit
