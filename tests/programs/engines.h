// A Program run by every engine: the interpreter on each stage, and each back end's kernel. All must leave
// the same bytes.
#pragma once

#include <fmt/format.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "ir/error.h"
#include "ir/interp/interpret.h"
#include "ir/passes/pipeline.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "jit/backend.h"
#include "runtime/cpu_features.h"

namespace pooljit::test {

// A place in the output where `count` elements lie.
struct Expected {
  std::string name;
  ir::DType dtype = ir::DType::u8;
  size_t offset = 0;
  int count = 0;
  bool any_nan = false;  // a NaN may be any NaN
};

// A Program and what it runs on. Outputs begin as 0xa5 bytes, so a byte that is not written shows.
struct Case {
  std::string name;
  ir::Program program;  // affine
  std::vector<uint8_t> input;
  size_t output_bytes = 0, index_bytes = 0;
  int64_t begin = 0, count = 0;       // of every task
  std::vector<Expected> places = {};  // in the output; bytes outside of them are compared as they are
  std::string may_refuse = {};        // an error id with which passes and back ends may decline
  std::vector<std::vector<uint8_t>> operands = {};
};

struct Outputs {
  std::vector<uint8_t> output, indices;
  bool operator==(const Outputs&) const = default;
};

struct Run {
  std::string engine;
  ir::Result<Outputs> result;
};

class Arguments {
 public:
  Arguments(const Case& c, const ir::Program& program)
      : outputs_{std::vector<uint8_t>(c.output_bytes, 0xa5), std::vector<uint8_t>(c.index_bytes, 0xa5)} {
    map_ = {{static_cast<int64_t>(c.input.size())},
            {static_cast<int64_t>(c.output_bytes)},
            {static_cast<int64_t>(c.index_bytes)}};
    for (const std::vector<uint8_t>& operand : c.operands) regions_.push_back({std::ssize(operand)});
    map_.operands = regions_;
    for (const ir::Param& param : program.params) words_.push_back(word(c, program, param));
  }
  std::span<const uint64_t> words() const { return words_; }
  const ir::MemoryMap& map() const { return map_; }
  Outputs take() { return std::move(outputs_); }

 private:
  static uint64_t address(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }
  uint64_t word(const Case& c, const ir::Program& program, const ir::Param& param) {
    switch (param.role) {
      case ir::Param::Role::input:
        return address(c.input.data());
      case ir::Param::Role::output:
        return address(outputs_.output.data());
      case ir::Param::Role::indices:
        return address(outputs_.indices.data());
      case ir::Param::Role::operand:
        return param.number < std::ssize(c.operands)
                   ? address(c.operands[static_cast<size_t>(param.number)].data())
                   : 0;
      case ir::Param::Role::table:
        return address(program.tables[static_cast<size_t>(param.number)].data());
      case ir::Param::Role::begin:
        return static_cast<uint64_t>(c.begin);
      default:
        return static_cast<uint64_t>(c.count);
    }
  }

  Outputs outputs_;
  std::vector<ir::Region> regions_;  // of the operands
  ir::MemoryMap map_;
  std::vector<uint64_t> words_;
};

inline ir::Result<Outputs> run_interpreter(const Case& c, const ir::Program& program) {
  if (auto valid = ir::verify(program); !valid) return tl::unexpected(valid.error());
  Arguments arguments(c, program);
  if (auto done = ir::interpret(program, arguments.words(), arguments.map()); !done)
    return tl::unexpected(done.error());
  return arguments.take();
}

inline ir::Result<Outputs> run_native(const Case& c, const ir::Program& program, jit::BackendId backend) {
  const auto blob = jit::emit(backend, program);
  if (!blob) return tl::unexpected(blob.error());
  Arguments arguments(c, program);
  blob->entry(arguments.words().data());
  return arguments.take();
}

// First the definition: the interpreter on the affine Program.
inline std::vector<Run> run_everywhere(const Case& c) {
  std::vector<Run> runs = {{"interpreter", run_interpreter(c, c.program)}};
  const auto legal = ir::legalize(c.program);
  runs.push_back({"interpreter(legal)", legal ? run_interpreter(c, *legal) : tl::unexpected(legal.error())});
  if (!runs[0].result || !runtime::can_run(c.program.isa)) return runs;
  for (const jit::BackendInfo& backend : jit::backends()) {
    const bool wants_legal = backend.consumes == ir::Stage::legal;
    if (wants_legal && !legal) continue;  // said above
    runs.push_back({std::string(backend.text), run_native(c, wants_legal ? *legal : c.program, backend.id)});
  }
  return runs;
}

// --- comparing

inline bool is_nan(ir::DType dtype, const uint8_t* at) {
  float single = 0;
  double wide = 0;
  if (dtype == ir::DType::f32) std::memcpy(&single, at, sizeof single);
  if (dtype == ir::DType::f64) std::memcpy(&wide, at, sizeof wide);
  return single != single || wide != wide;
}

inline std::string hex(const uint8_t* at, int bytes) {
  std::string out = "0x";
  for (int i = bytes; i-- > 0;) out += fmt::format("{:02x}", at[i]);
  return out;
}

// The first difference, or "".
inline std::string difference(const Case& c, Outputs want, const Outputs& got) {
  for (const Expected& place : c.places) {
    const int width = ir::bytes(place.dtype);
    for (int i = 0; i < place.count; ++i) {
      const size_t at = place.offset + static_cast<size_t>(i * width);
      uint8_t* const wanted = want.output.data() + at;
      const uint8_t* const given = got.output.data() + at;
      if (std::memcmp(wanted, given, static_cast<size_t>(width)) == 0) continue;
      if (!place.any_nan || !is_nan(place.dtype, wanted) || !is_nan(place.dtype, given))
        return fmt::format("{} element {}: {} instead of {}", place.name, i, hex(given, width),
                           hex(wanted, width));
      std::memcpy(wanted, given, static_cast<size_t>(width));
    }
  }
  return want == got ? "" : "bytes outside the expected places differ";
}

// What is wrong with a case, or "": an engine that fails, refuses without leave or differs from the
// definition.
inline std::string complaint(const Case& c) {
  const std::vector<Run> runs = run_everywhere(c);
  for (const Run& run : runs) {
    std::string wrong;
    if (!run.result)
      wrong = run.result.error().id == c.may_refuse ? "" : ir::to_string(run.result.error());
    else
      wrong = difference(c, *runs[0].result, *run.result);
    if (!wrong.empty()) return fmt::format("{}: {}: {}\n{}", c.name, run.engine, wrong, ir::print(c.program));
  }
  return "";
}

}  // namespace pooljit::test
