// Machine: the facts of a processor that the choice of a schedule depends on. It is passed in: nothing in ir
// asks the processor. Rows of ir/machine.def are the processors that were measured; runtime/machine.h finds
// the one that it runs on.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace pooljit::ir {

// Data caches, in bytes, as one core sees them.
struct Caches {
  std::array<int64_t, 3> bytes = {32 << 10, 1 << 20,
                                  32 << 20};  // L1, L2, L3; 0: there is none, or it is not known
  bool operator==(const Caches&) const = default;
};

// Images of more bytes outgrow a core's own caches. The same for all: a Zen 3 with 512 KiB of its own and a
// Granite Rapids with 2 MiB were measured.
inline constexpr int64_t near_bytes = int64_t{1} << 20;

struct Machine {
  std::string_view name = "generic";
  Caches caches;
  // From so many bytes of a row on that lie in few sets of the caches, what rolls along it loses (see
  // ir/schedules/choose/rules.def); 0: not seen.
  int64_t crowded_row = 0;
  // A vector of 64 bytes is taken as two of 32, one after the other.
  bool halves_vectors = false;
  // Of long pixels, a part for all taps and then the next is faster than what rolls or whole pixels (see
  // ir/schedules/choose/rules.def).
  bool parts_of_pixels = false;
  bool operator==(const Machine&) const = default;
};

// The row for the vendor's cpuid text, e.g. "AuthenticAMD", and for the family and model of cpuid's leaf 1,
// extensions included; the generic row if no other is that processor's.
const Machine& find_machine(std::string_view vendor, unsigned family, unsigned model);
// By its text; none if there is no such row.
std::optional<Machine> find_machine(std::string_view text);
// The texts of all rows, each once: "generic, zen3, ...".
std::string_view machine_names();

// The row for a processor whose caches are these (0: not known, the row's).
Machine with_caches(Machine row, const Caches& found);

inline constexpr Machine generic_machine;

}  // namespace pooljit::ir
