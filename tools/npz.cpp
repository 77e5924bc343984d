#include "tools/npz.h"

#include <array>

#include "lab/check_data.h"
#include "tools/npy.h"

namespace pooljit::tools {
namespace {

void put(std::string& to, uint64_t number, int bytes) {
  for (int i = 0; i < bytes; ++i) to += static_cast<char>(number >> 8 * i);
}

constexpr std::array<uint32_t, 256> crc_table = [] {
  constexpr uint32_t polynomial = 0xedb88320;  // CRC-32 of zip, bits reversed
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < table.size(); ++i) {
    uint32_t rest = i;
    for (int bit = 0; bit < 8; ++bit) rest = rest >> 1 ^ (rest & 1 ? polynomial : 0);
    table[i] = rest;
  }
  return table;
}();

uint32_t crc32(std::string_view bytes) {
  uint32_t crc = 0xffffffff;
  for (const char byte : bytes) crc = crc >> 8 ^ crc_table[(crc ^ static_cast<uint8_t>(byte)) & 0xff];
  return ~crc;
}

// What the record before a file and its record in the directory have in common.
std::string description(const NpzArray& array) {
  constexpr uint64_t version = 20, first_of_1980 = 0x21;
  const std::string name = array.name + ".npy";
  std::string text;
  put(text, version, 2);
  put(text, 0, 2);  // flags
  put(text, 0, 2);  // stored
  put(text, 0, 2);  // time
  put(text, first_of_1980, 2);
  put(text, crc32(array.file), 4);
  put(text, array.file.size(), 4);
  put(text, array.file.size(), 4);
  put(text, name.size(), 2);
  put(text, 0, 2);  // extra field
  return text;
}

}  // namespace

NpzArray npz_array(const std::string& name, const runtime::MemoryView& view, ir::DType dtype,
                   std::span<const std::byte> memory) {
  std::vector<int64_t> shape;
  for (const runtime::MemoryView::Dim& dim : view.dims()) shape.push_back(dim.extent);
  NpzArray array = {name, npy_header(dtype, shape)};
  const auto bytes = static_cast<size_t>(view.element_bytes);
  runtime::for_each_element(view, [&](int64_t offset) {
    array.file.append(reinterpret_cast<const char*>(memory.data()) + offset, bytes);
  });
  return array;
}

std::string npz_bytes(const std::vector<NpzArray>& arrays) {
  std::string archive, directory;
  for (const NpzArray& array : arrays) {
    const std::string described = description(array);
    const size_t at = archive.size();
    archive += "PK\x03\x04" + described + array.name + ".npy" + array.file;
    directory += "PK\x01\x02";
    put(directory, 20, 2);  // version that made it
    directory += described;
    put(directory, 0, 2);  // comment
    put(directory, 0, 2);  // disk
    put(directory, 0, 2);  // attributes
    put(directory, 0, 4);
    put(directory, at, 4);
    directory += array.name + ".npy";
  }
  const size_t at = archive.size();
  archive += directory + "PK\x05\x06";
  put(archive, 0, 4);  // disks
  put(archive, arrays.size(), 2);
  put(archive, arrays.size(), 2);
  put(archive, directory.size(), 4);
  put(archive, at, 4);
  put(archive, 0, 2);  // comment
  return archive;
}

}  // namespace pooljit::tools
