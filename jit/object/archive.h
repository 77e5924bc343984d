// A static library: members and the index by which linkers find them, in the form of ar(5) that GNU and LLVM
// share. Dates, owners and modes are constants, so that the same members give the same bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace pooljit::jit {

struct ArchiveMember {
  std::string name;
  std::vector<uint8_t> bytes;
  std::vector<std::string> symbols;  // global ones that it defines
};

// Less than 4 GiB in all.
std::vector<uint8_t> archive(std::span<const ArchiveMember> members);

}  // namespace pooljit::jit
