#include "runtime/native_code.h"

#include "ir/check.h"
#include "runtime/scratch.h"

namespace pooljit::runtime {
namespace {

uint64_t word(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

size_t table_bytes(const std::vector<std::vector<int64_t>>& tables) {
  size_t bytes = 0;
  for (const auto& table : tables) bytes += table.size() * sizeof(int64_t);
  return bytes;
}

}  // namespace

void fill_arguments(std::span<const ir::Param> params, const std::vector<std::vector<int64_t>>& tables,
                    const Call& call, const TaskRanges& ranges, uint64_t* args) {
  using Role = ir::Param::Role;
  for (const ir::Param& param : params) {
    const auto number = static_cast<size_t>(param.number);
    switch (param.role) {
      case Role::input:
        *args = word(call.input);
        break;
      case Role::output:
        *args = word(call.written(number).output);
        break;
      case Role::indices:
        *args = word(call.written(number).indices);
        break;
      case Role::scratch:
        *args = word(call.scratch);
        break;
      case Role::operand:
        *args = word(call.operands[number]);
        break;
      case Role::table:
        *args = word(tables[number].data());
        break;
      case Role::size:
        *args = word(call.sizes[number].data());
        break;
      case Role::begin:
        *args = static_cast<uint64_t>(ranges[number].begin);
        break;
      case Role::count:
        *args = static_cast<uint64_t>(ranges[number].count);
        break;
    }
    ++args;
  }
}

NativeCode::NativeCode(CodeInfo code_info, const ir::Program& program, jit::CodeBlob blob,
                       std::shared_ptr<void> names)
    : Code(std::move(code_info)),
      params_(program.params),
      tables_(program.tables),
      blob_(std::move(blob)),
      names_(std::move(names)) {
  POOLJIT_CHECK(params_.size() <= ir::most_params, "a Program has too many parameters");
  info.scratch_bytes = program.scratch_bytes;
  info.output_alignment = output_alignment(program);
  info.code_bytes = blob_.code.size();
  info.held_bytes = sizeof *this + blob_.bytes + table_bytes(tables_) + info.signature.size() +
                    blob_.lines.size() * sizeof(jit::CodeBlob::Line);
}

void NativeCode::run(const Call& call, const TaskRanges& ranges) const {
  if (info.scratch_bytes == 0 || call.scratch) return enter(call, ranges);
  const Scratch scratch;
  Call with_scratch = call;
  with_scratch.scratch = scratch.data();
  enter(with_scratch, ranges);
}

void NativeCode::enter(const Call& call, const TaskRanges& ranges) const {
  uint64_t args[ir::most_params];
  fill_arguments(params_, tables_, call, ranges, args);
  blob_.entry(args);
}

}  // namespace pooljit::runtime
