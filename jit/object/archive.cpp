#include "jit/object/archive.h"

#include <ar.h>
#include <fmt/format.h>

#include "jit/object/bytes.h"

namespace pooljit::jit {

namespace {

void append(std::vector<uint8_t>& out, std::string_view text) {
  out.insert(out.end(), text.begin(), text.end());
}

// Begins a member: struct ar_hdr. Members begin at even offsets.
void append_member(std::vector<uint8_t>& out, std::string_view name, std::string_view mode,
                   std::span<const uint8_t> bytes) {
  append(out, fmt::format("{:<16}{:<12}{:<6}{:<6}{:<8}{:<10}{}", name, 0, 0, 0, mode, bytes.size(), ARFMAG));
  out.insert(out.end(), bytes.begin(), bytes.end());
  if (out.size() % 2 != 0) out.push_back('\n');
}

void append_big_endian(std::vector<uint8_t>& out, uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<uint8_t>(value >> shift));
}

size_t member_bytes(size_t bytes) { return align_up(sizeof(ar_hdr) + bytes, 2); }

}  // namespace

std::vector<uint8_t> archive(std::span<const ArchiveMember> members) {
  // All names in one member, from where the others' are taken: the 16 bytes of a header are few.
  std::vector<uint8_t> names;
  std::vector<size_t> name_offsets;
  size_t symbol_count = 0, symbol_bytes = 0;
  for (const ArchiveMember& member : members) {
    name_offsets.push_back(names.size());
    append(names, member.name + "/\n");
    symbol_count += member.symbols.size();
    for (const std::string& symbol : member.symbols) symbol_bytes += symbol.size() + 1;
  }
  const size_t index_bytes = align_up(4 + 4 * symbol_count + symbol_bytes, 2);
  size_t offset = SARMAG + member_bytes(index_bytes) + member_bytes(names.size());
  std::vector<uint8_t> index;
  append_big_endian(index, static_cast<uint32_t>(symbol_count));
  for (const ArchiveMember& member : members) {
    for (size_t i = 0; i < member.symbols.size(); ++i)
      append_big_endian(index, static_cast<uint32_t>(offset));
    offset += member_bytes(member.bytes.size());
  }
  for (const ArchiveMember& member : members)
    for (const std::string& symbol : member.symbols)
      index.insert(index.end(), symbol.c_str(), symbol.c_str() + symbol.size() + 1);
  index.resize(index_bytes);

  std::vector<uint8_t> out;
  append(out, ARMAG);
  append_member(out, "/", "0", index);
  append_member(out, "//", "", names);
  for (size_t i = 0; i < members.size(); ++i)
    append_member(out, fmt::format("/{}", name_offsets[i]), "644", members[i].bytes);
  return out;
}

}  // namespace pooljit::jit
