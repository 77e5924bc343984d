// Reading and writing .npy files, strictly.
//
// Own code, because the packaged readers cannot say what is wrong: xtensor's xnpy.hpp (the only one in the
// distribution) takes a truncated file for a whole one, wants the header's keys in one order, accepts
// trailing text in a dimension, multiplies the shape without an overflow check and allocates what a corrupted
// header asks for. A check before it would be this parser already.
//
// Promised: a file is accepted only if its dtype, shape and order are the ones asked for and it holds exactly
// the data, not a byte more or less; nothing is allocated that the *caller's* shape did not ask for.
// Versions 1.0, 2.0 and 3.0. Not done: big-endian data, Fortran order, structured dtypes; each is refused
// with its own id.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/dtype.h"
#include "ir/error.h"
#include "tools/buffer.h"

namespace pooljit::tools {

struct NpyHeader {
  std::string descr;  // "<f4"; empty if it is not a plain string (a structured dtype)
  bool fortran_order = false;
  std::vector<int64_t> shape;
  bool operator==(const NpyHeader&) const = default;
};

// The Python dictionary of a header: "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }". Keys in
// any order.
ir::Result<NpyHeader> parse_npy_header(std::string_view dictionary);

// The data of the file, in file order. Errors: "npy.<rule>", "file.open", "file.read", "system.memory".
ir::Result<Buffer> read_npy(const std::string& path, ir::DType dtype, const std::vector<int64_t>& shape);

// What the file's header says; the data is not looked at. Errors: those of read_npy that show there.
ir::Result<NpyHeader> read_npy_header(const std::string& path);

// All that comes before the data; its size is a multiple of 64.
std::string npy_header(ir::DType dtype, const std::vector<int64_t>& shape);

// "(2, 3)", "(5,)", "()": a shape as Python writes it.
std::string npy_shape(const std::vector<int64_t>& shape);

}  // namespace pooljit::tools
