// Code: what compiling makes and the cache keeps. It serves every batch size, and is run from many threads at
// once.
#pragma once

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/error.h"
#include "ir/nest.h"
#include "ir/program.h"
#include "ir/schedule.h"
#include "jit/backend.h"
#include "runtime/split.h"

namespace pooljit::runtime {

// Where a pool writes. Not initialised: each call makes an array of these.
struct MemberOutput {
  void* output;
  void* indices;
};

// The first elements of the views, and how many batches they hold. Operands: of the epilogue, as
// ir::operand_views() lists them.
struct Call {
  const void* input = nullptr;
  void* output = nullptr;
  void* indices = nullptr;
  int64_t batch = 0;
  std::array<const void*, ir::most_operands> operands = {};
  void* scratch =
      nullptr;  // CodeInfo::scratch_bytes, aligned to ir::scratch_alignment; null: the thread's own
  const MemberOutput* members =
      nullptr;  // one for each pool, instead of output and indices; null: there is one
  // Where one Program serves all extents (ir/general/general.h): the layer at those of this call, and their
  // words, of each pool.
  const ir::PoolNest* sized = nullptr;
  ir::SizeWords sizes = {};

  // Where the pool of this number writes.
  MemberOutput written(size_t pool) const { return members ? members[pool] : MemberOutput{output, indices}; }
};

// The facts of code, however it was made.
struct CodeInfo {
  ir::PoolNest nest;
  std::string signature;
  std::string_view backend;  // a row of runtime/engines.def
  std::string_view isa;      // a row of ir/isa.def, or "none"
  std::string schedule;      // empty: there is none
  std::string origin;        // why it has its schedule, where that was measured; else empty
  std::string proof;         // what was proved of it; empty: nothing was asked for
  std::vector<ir::TaskDim> tasks;
  size_t code_bytes = 0;      // of machine code
  int64_t scratch_bytes = 0;  // of memory that each run needs to itself
  int64_t output_alignment =
      1;                     // of Call::output, that run() asks for; more only for one of several versions
  size_t held_bytes = 0;     // of memory in all: what the cache counts
  bool checks_data = false;  // Code::check() may refuse data
  std::chrono::nanoseconds compile_time{};
};

// The parts that proofs look at.
struct MachineCode {
  const jit::CodeBlob* blob;
  std::span<const ir::Param> params;
  const std::vector<std::vector<int64_t>>* tables;
  // Where it is the code of several pools: which of them is looked at, and all of them.
  int member = 0;
  std::span<const ir::PoolNest> members = {};
  // Where one Program serves all extents: the words of those that are looked at, of each pool.
  ir::SizeWords sizes = {};
};

class Code {
 public:
  explicit Code(CodeInfo code_info) : info(std::move(code_info)) {}
  virtual ~Code() = default;
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;

  // Whether the data of these ranges can be done at all, asked before anything is written. Programs take any
  // data.
  virtual ir::Result<void> check(const Call&, const TaskRanges&) const { return {}; }

  // Does ranges[i] of info.tasks[i], for all of them.
  virtual void run(const Call& call, const TaskRanges& ranges) const = 0;
  // The call, completed with what run() gives the code itself: for a member of several pools, where the
  // others write; for code for all extents, the extents.
  virtual Call completed(const Call& call, std::span<MemberOutput>) const { return call; }
  // The versions that run() chooses from by the output's alignment; most code has one. Proofs take them one
  // by one.
  virtual std::vector<const Code*> versions() const { return {this}; }
  // Absent: it runs none.
  virtual std::optional<MachineCode> machine() const { return std::nullopt; }
  // The nest that was lowered: info.nest, or of code for all extents the nest of any size, whose Program
  // reads these words of info.nest, of each pool.
  virtual const ir::PoolNest& lowered() const { return info.nest; }
  virtual ir::SizeWords sizes() const { return {}; }

  CodeInfo info;  // complete when the code is handed out
};

using CodePtr = std::shared_ptr<const Code>;

}  // namespace pooljit::runtime
