#include "runtime/machine.h"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>

#include "runtime/cpu_caches.h"

namespace pooljit::runtime {
namespace {

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

struct CpuId {
  std::string vendor;
  unsigned family, model, stepping;
};

CpuId cpu_id() {
  const CpuidWords vendor = cpuid(0);
  const unsigned word = cpuid(1).a;
  const unsigned base = word >> 8 & 15;
  return {tidy(text_of({vendor.b, vendor.d, vendor.c})), base + (base == 15 ? word >> 20 & 255 : 0),
          (word >> 4 & 15) + (word >> 16 & 15) * 16, word & 15};
}

std::string cpu_name(const CpuId& id) {
  std::string brand;
  if (cpuid(0x80000000).a >= 0x80000004)
    for (unsigned leaf = 0x80000002; leaf <= 0x80000004; ++leaf) {
      const CpuidWords part = cpuid(leaf);
      brand += text_of({part.a, part.b, part.c, part.d});
    }
  return fmt::format("{} ({} {}.{}.{})", tidy(brand), id.vendor, id.family, id.model, id.stepping);
}

std::string_view forced_name() {
  const char* name = std::getenv("POOLJIT_MACHINE");
  return name ? name : "";
}

ThisMachine find_this_machine() {
  const CpuId id = cpu_id();
  ThisMachine found{cpu_name(id), {}, {}, {}};
  if (const auto forced = ir::find_machine(forced_name())) {
    found.row = *forced;
    found.caches_source = "POOLJIT_MACHINE";
  } else {
    const FoundCaches caches = find_caches("/sys/devices/system/cpu/cpu0/cache", cpuid);
    found.caches_source = caches.source;
    found.row = ir::with_caches(ir::find_machine(id.vendor, id.family, id.model), caches.caches);
  }
  found.caches = found.row.caches;
  return found;
}

}  // namespace

const ThisMachine& machine() {
  static const ThisMachine& found = *new ThisMachine(find_this_machine());
  return found;
}

ir::Result<void> check_machine() {
  const std::string_view name = forced_name();
  if (name.empty() || ir::find_machine(name)) return {};
  return ir::invalid("runtime.machine", fmt::format("POOLJIT_MACHINE=\"{}\" is no machine", name),
                     fmt::format("one of {}; or leave it out for this one", ir::machine_names()));
}

std::string print(const ir::Caches& caches) {
  return fmt::format("{}K {}K {}K", caches.bytes[0] >> 10, caches.bytes[1] >> 10, caches.bytes[2] >> 10);
}

}  // namespace pooljit::runtime
