#include "proof/program/symbolic_run.h"

#include <algorithm>
#include <optional>

#include "ir/general/size_words.h"
#include "ir/interp/interpreter.h"
#include "ir/window_taps.h"

namespace pooljit::ir {

using Extent = int64_t NestDim::*;

std::vector<bool> touchable_bytes(const PoolNest& nest, const View& view, int64_t batch, Extent extent) {
  std::vector<bool> touchable;
  const auto width = static_cast<size_t>(bytes(view.dtype));
  for_each_element(nest, view, batch, extent, [&](const PlaneElement& element) {
    const auto offset = static_cast<size_t>(element.offset) * width;
    if (touchable.size() < offset + width) touchable.resize(offset + width);
    std::fill_n(touchable.begin() + static_cast<std::ptrdiff_t>(offset), width, true);
  });
  return touchable;
}

namespace {

// A tensor between no pages at all: the machine checks each access.
struct Tensor {
  std::vector<bool> touchable;
  std::vector<uint8_t> memory;

  Tensor(const PoolNest& nest, const View& view, int64_t batch, Extent extent)
      : touchable(touchable_bytes(nest, view, batch, extent)), memory(touchable.size()) {}

  Region region() const { return {std::ssize(touchable), &touchable}; }
  uint64_t word() { return reinterpret_cast<uintptr_t>(memory.data()); }
};

struct Memory {
  Tensor input, output;
  std::optional<Tensor> indices;
  std::vector<Tensor> operands;

  Memory(const PoolNest& nest, int64_t batch)
      : input(nest, nest.input, batch, &NestDim::input), output(nest, nest.output, batch, &NestDim::output) {
    const Extent beside = nest.is_backward() ? &NestDim::input : &NestDim::output;
    if (nest.indices) indices.emplace(nest, *nest.indices, batch, beside);
    for (const View& view : operand_views(nest))
      operands.emplace_back(nest, view, batch, operand_extent(nest, operands.size()));
  }

  uint64_t word(const Param& param, const Program& program, const PoolNest& nest, int64_t batch,
                SizeWords sizes) {
    const auto number = static_cast<size_t>(param.number);
    switch (param.role) {
      case Param::Role::input:
        return input.word();
      case Param::Role::output:
        return output.word();
      case Param::Role::indices:
        return indices ? indices->word() : 0;
      case Param::Role::operand:
        return operands[number].word();
      case Param::Role::scratch:  // the machine has its own
        return 0;
      case Param::Role::table:
        return reinterpret_cast<uintptr_t>(program.tables[number].data());
      case Param::Role::size:
        return number < sizes.size() ? reinterpret_cast<uintptr_t>(sizes[number].data()) : 0;
      case Param::Role::begin:
        return 0;
      case Param::Role::count:
        return static_cast<uint64_t>(task_count(program.tasks[number], nest, batch));
    }
    return 0;
  }
};

}  // namespace

Result<void> run_symbolically(const Program& program, const PoolNest& nest, int64_t batch, Terms& terms,
                              SizeWords sizes) {
  Memory memory(nest, batch);
  std::vector<uint64_t> args;
  for (const Param& param : program.params) args.push_back(memory.word(param, program, nest, batch, sizes));
  std::vector<Region> operands;
  for (const Tensor& operand : memory.operands) operands.push_back(operand.region());
  std::vector<Region> words;
  for (const std::vector<int64_t>& size : sizes) words.push_back({std::ssize(size) * 8});
  const MemoryMap map{memory.input.region(), memory.output.region(),
                      memory.indices ? memory.indices->region() : Region{}, operands, words};
  return Interpreter<Terms>(program, args, map, terms).run();
}

}  // namespace pooljit::ir
