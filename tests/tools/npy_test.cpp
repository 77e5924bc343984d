// npy files: every rule has a text that breaks it and the id that says so; every truncation of a file is
// found.
#include "tools/npy.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>

#include "tools/temp_folder.h"

namespace pooljit::tools {
namespace {

using test::TempFolder;
using test::write_file;

const std::string good_dictionary = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
const std::string good_data(24, '\x2a');

// A whole file; the parts may be wrong.
std::string file_of(const std::string& dictionary, const std::string& data, char major = 1) {
  std::string file = "\x93NUMPY";
  file += major;
  file += '\0';
  const size_t length_bytes = major == 1 ? 2 : 4;
  for (size_t i = 0; i < length_bytes; ++i) file += static_cast<char>(dictionary.size() >> (8 * i));
  return file + dictionary + data;
}

std::string id_of(const std::string& content) {
  const TempFolder folder;
  write_file(folder / "x.npy", content);
  const auto data = read_npy(folder / "x.npy", ir::DType::f32, {2, 3});
  return data ? "read" : data.error().id;
}

std::string with(const std::string& from, const std::string& to) {
  std::string dictionary = good_dictionary;
  dictionary.replace(dictionary.find(from), from.size(), to);
  return file_of(dictionary, good_data);
}

TEST(Npy, WhatIsWrittenIsReadBack) {
  const std::vector<int64_t> shapes[] = {{}, {6}, {2, 3}, {1, 2, 3, 1, 1}};
  for (const auto& shape : shapes) {
    const TempFolder folder;
    std::string data;
    size_t count = 1;
    for (const int64_t size : shape) count *= static_cast<size_t>(size);
    for (size_t i = 0; i < count * 4; ++i) data += static_cast<char>(i);
    write_file(folder / "x.npy", npy_header(ir::DType::f32, shape) + data);
    const auto read = read_npy(folder / "x.npy", ir::DType::f32, shape);
    ASSERT_TRUE(read) << to_string(read.error());
    ASSERT_EQ(read->size(), data.size());
    EXPECT_EQ(std::memcmp(read->data(), data.data(), data.size()), 0);
  }
}

// The bytes that numpy.save() writes for numpy.zeros((2, 3), numpy.float32), up to the data.
TEST(Npy, HeaderIsNumpys) {
  const std::string text = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  const std::string expected =
      std::string("\x93NUMPY\x01\x00\x76\x00", 10) + text + std::string(117 - text.size(), ' ') + "\n";
  EXPECT_EQ(npy_header(ir::DType::f32, {2, 3}).size() % 64, 0u);
  // numpy leaves room for a longer first dimension; the dictionary and the alignment are what counts.
  EXPECT_EQ(npy_header(ir::DType::f32, {2, 3}).substr(10, text.size()), expected.substr(10, text.size()));
}

// numpy has no bfloat16: two opaque bytes, or the bits as integers. Those are no other dtype's.
TEST(Npy, BitsOfBfloat16AreRead) {
  const TempFolder folder;
  for (const char* descr : {"|V2", "<V2", "<u2"}) {
    std::string dictionary = good_dictionary;
    dictionary.replace(dictionary.find("<f4"), 3, descr);
    write_file(folder / "x.npy", file_of(dictionary, good_data.substr(0, 12)));
    EXPECT_TRUE(read_npy(folder / "x.npy", ir::DType::bf16, {2, 3})) << descr;
    EXPECT_FALSE(read_npy(folder / "x.npy", ir::DType::f16, {2, 3})) << descr;
  }
  EXPECT_NE(npy_header(ir::DType::bf16, {2, 3}).find("'|V2'"), std::string::npos);
}

TEST(Npy, EveryVersionIsRead) {
  EXPECT_EQ(id_of(file_of(good_dictionary, good_data, 1)), "read");
  EXPECT_EQ(id_of(file_of(good_dictionary, good_data, 2)), "read");
  EXPECT_EQ(id_of(file_of(good_dictionary, good_data, 3)), "read");
  EXPECT_EQ(id_of(file_of(good_dictionary, good_data, 4)), "npy.version");
}

TEST(Npy, KeysMayComeInAnyOrder) {
  EXPECT_EQ(id_of(file_of("{\"shape\":(2,3),'fortran_order':False,'descr':'<f4'}\n", good_data)), "read");
}

TEST(Npy, EveryRuleHasItsId) {
  const struct {
    std::string content, id;
  } rows[] = {
      {"P6 2 3 255 picture", "npy.magic"},
      {std::string("\x93NUMPX\x01\x00", 8), "npy.magic"},
      {with("<f4", "<f8"), "npy.dtype"},
      {with("<f4", ">f4"), "npy.dtype"},
      {with("'<f4'", "[('a', '<f4'), ('b', '<f4', (2,))]"), "npy.dtype"},
      {with("(2, 3)", "(3, 2)"), "npy.shape"},
      {with("(2, 3)", "(6,)"), "npy.shape"},
      {with("(2, 3)", "(1, 2, 3)"), "npy.shape"},
      {with("(2, 3)", "(4611686018427387904, 4611686018427387904)"), "npy.shape"},
      {with("False", "True"), "npy.fortran"},
      {with("(2, 3)", "(2, -3)"), "npy.header"},
      {with("(2, 3)", "(2 3)"), "npy.header"},
      {with("(2, 3)", "(2, 3"), "npy.header"},
      {with("(2, 3)", "(6)"), "npy.header"},
      {with("(2, 3)", "(99999999999999999999,)"), "npy.header"},
      {with("False", "No"), "npy.header"},
      {with("'<f4'", "''"), "npy.header"},
      {with("'<f4'", "[('a'"), "npy.header"},
      {with("'descr'", "'shape'"), "npy.header"},
      {with("'descr': '<f4',", ""), "npy.header"},
      {with("'descr'", "'extra': 1, 'descr'"), "npy.header"},
      {with(", }", ", } {}"), "npy.header"},
      {with("{", ""), "npy.header"},
      {file_of("", good_data), "npy.header"},
      {file_of(good_dictionary, good_data + "x"), "npy.trailing"},
      {std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12) + good_dictionary, "npy.header_size"},
  };
  for (const auto& row : rows) EXPECT_EQ(id_of(row.content), row.id) << row.content;
}

TEST(Npy, TruncationIsFoundAtEveryLength) {
  for (const char major : {1, 2}) {
    const std::string whole = file_of(good_dictionary, good_data, major);
    for (size_t length = 0; length < whole.size(); ++length)
      EXPECT_EQ(id_of(whole.substr(0, length)), "npy.truncated") << length;
    EXPECT_EQ(id_of(whole), "read");
  }
}

// Whoever opens one waits until somebody writes.
TEST(Npy, APipeIsRefusedUnopened) {
  const TempFolder folder;
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const auto data = read_npy(pipe, ir::DType::f32, {2, 3});
  EXPECT_EQ(data ? "" : data.error().id, "file.special");
  const auto header = read_npy_header(pipe);
  EXPECT_EQ(header ? "" : header.error().id, "file.special");
}

TEST(Npy, WhatCannotBeOpenedOrReadIsSaid) {
  EXPECT_EQ(read_npy("/nowhere/x.npy", ir::DType::f32, {2, 3}).error().id, "file.open");
  EXPECT_EQ(read_npy("/", ir::DType::f32, {2, 3}).error().id, "file.read");
}

TEST(Npy, NothingHugeIsAllocatedForASmallFile) {
  const TempFolder folder;
  write_file(folder / "x.npy", npy_header(ir::DType::u8, {int64_t{1} << 60}) + "x");
  EXPECT_EQ(read_npy(folder / "x.npy", ir::DType::u8, {int64_t{1} << 60}).error().id, "npy.truncated");
}

}  // namespace
}  // namespace pooljit::tools
