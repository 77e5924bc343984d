// Programs as text. print and parse_program are inverses on every Program that passes ir/verify.h:
// parse_program(print(p)) == p, and print(parse_program(text)) == text for text that print made. One
// instruction a line, so that "line 12" means something.
//
//   program "channels_first(lanes=16)" affine avx512 {
//     params input, output, table 0, begin 0
//     tasks n=batch, oh=56
//     scratch 4096
//     table 0 = [0, 1, 2]
//     %0 = param input : ptr
//     %1 = vconst splat(-inf) : f32x16
//     %2 = iconst 4 : index
//     %3, %4 = loop %2 (%1) : index, f32x16
//       %5 = load [%0 + %3*64 + 128] : f32x16
//       %6 = max %5, %4 : f32x16
//     %7 = end (%6) : f32x16
//     ret
//   }
//
// Types: index, ptr, <dtype>x<lanes>, m<bits>x<lanes> for masks. Lane lists: splat(x), [a, b, c, d] and
// [a, b, ..., z] for constant steps; a vmask is one digit per lane, lane 0 first. A NaN is nan(0x7fc00000),
// its bits. `#` begins a comment. Any white space separates.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "ir/error.h"
#include "ir/program.h"

namespace pooljit::ir {

struct PrintOptions {
  // Longer tables are cut and say how long they are; such a text does not parse.
  size_t table_limit = SIZE_MAX;
};

std::string print(const Program& program, const PrintOptions& options = {});
std::string print(const Program& program, const Inst& inst);  // without indentation
std::string print(const Type& type);

// The line of each instruction in print(program), from 1.
std::vector<int> lines(const Program& program, const PrintOptions& options = {});

// Fails with "program.text" and the line. The result is well formed, not yet valid: see ir/verify.h.
Result<Program> parse_program(std::string_view text);

}  // namespace pooljit::ir
