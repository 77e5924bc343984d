// Mutants: kernels with one planted fault, in the Program that Xbyak consumes (then emitted anew) or in the
// emitted bytes, or in a table of a size that code for all sizes reads. What proof and random testing say of
// each.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pooljit::tests {

struct MutantKind {
  std::string_view name;
  bool in_bytes;
};
std::vector<MutantKind> mutant_kinds();

enum class Verdict : uint8_t { passes, caught, no_mutant };

struct MutantResult {
  std::string_view kind;
  std::string spec, change;  // the instruction before and after
  Verdict proof = Verdict::no_mutant, random = Verdict::no_mutant;
  std::string why;  // what the proof says; where it passes: why the bytes were not read
  // The mutated Program or its bytes are proved symbolically, or store the same terms: the fault is none (a
  // lane that nobody reads, a store that a later one covers).
  bool is_equivalent = false;
};

// Why the kernel of that number is not proved before anything is planted in it; empty: it is.
std::string fault_of_right_kernel(uint64_t number);

// One mutant of the kind, of the kernel that the seed counts up to. Runs in child processes. `proof` is
// no_mutant where the kind has no place in that kernel.
MutantResult try_mutant(const MutantKind& kind, uint64_t seed);

}  // namespace pooljit::tests
