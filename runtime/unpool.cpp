#include "runtime/unpool.h"

#include <fmt/format.h>

#include <cstring>
#include <optional>

#include "ir/offsets.h"

namespace pooljit::runtime {
namespace {

using Position = std::vector<int64_t>;

// Steps to the next position in row-major order; false behind the last one.
bool advance(Position& position, const std::vector<ir::NestDim>& dims, int64_t ir::NestDim::*extent) {
  for (size_t d = dims.size(); d-- > 0;) {
    if (++position[d] < dims[d].*extent) return true;
    position[d] = 0;
  }
  return false;
}

class Unpool final : public Code {
 public:
  explicit Unpool(CodeInfo code_info) : Code(std::move(code_info)), rule_(rule_of(info.nest)) {
    info.held_bytes = sizeof *this;
  }

  ir::Result<void> check(const Call& call, const TaskRanges& ranges) const override {
    for (int64_t n = ranges[0].begin; n < ranges[0].begin + ranges[0].count; ++n)
      for (int64_t c = ranges[1].begin; c < ranges[1].begin + ranges[1].count; ++c) {
        Position window(info.nest.dims.size(), 0);
        do {
          const int64_t index = index_at(call, n, c, window);
          if (!place(index, n, c, window))
            return ir::invalid("run.index_range",
                               fmt::format("the index {} at n={} c={} [{}] names no place of its plane",
                                           index, n, c, fmt::join(window, ",")),
                               "give the indices of the forward pass, in the same index_scope");
        } while (advance(window, info.nest.dims, &ir::NestDim::input));
      }
    return {};
  }

  void run(const Call& call, const TaskRanges& ranges) const override {
    for (int64_t n = ranges[0].begin; n < ranges[0].begin + ranges[0].count; ++n)
      for (int64_t c = ranges[1].begin; c < ranges[1].begin + ranges[1].count; ++c) run_plane(call, n, c);
  }

 private:
  // Indices count in the output.
  static ir::IndexRule rule_of(const ir::PoolNest& nest) {
    ir::PoolNest forward = nest;
    forward.direction = ir::Direction::forward;
    for (ir::NestDim& dim : forward.dims) dim.input = dim.output;
    return ir::index_rule(forward);
  }

  int64_t index_at(const Call& call, int64_t n, int64_t c, const Position& window) const {
    const ir::View& view = *info.nest.indices;
    return ir::load_index(view.dtype, call.indices,
                          ir::plane_offset(view, n, c) + ir::position_offset(view, window));
  }

  // The place that the index of a window names; none if it lies outside the plane.
  std::optional<Position> place(int64_t index, int64_t n, int64_t c, const Position& window) const {
    const std::vector<ir::NestDim>& dims = info.nest.dims;
    if (index < 0) return std::nullopt;
    int64_t rest = index - n * rule_.batch - c * rule_.channel;
    if (rest < 0) return std::nullopt;
    Position position(dims.size());
    for (size_t step = 0; step < dims.size(); ++step) {  // the largest weight first
      const size_t d = info.nest.column_major && !rule_.of_window ? dims.size() - 1 - step : step;
      position[d] = rest / rule_.dims[d];
      rest %= rule_.dims[d];
      if (rule_.of_window) {
        if (position[d] >= dims[d].kernel) return std::nullopt;
        position[d] += window[d] * dims[d].stride - dims[d].pad_begin;
      }
      if (position[d] < 0 || position[d] >= dims[d].output) return std::nullopt;
    }
    return rest == 0 ? std::optional(position) : std::nullopt;
  }

  void run_plane(const Call& call, int64_t n, int64_t c) const {
    const ir::PoolNest& nest = info.nest;
    const auto width = static_cast<int64_t>(ir::bytes(nest.output.dtype));
    const auto* const input =
        static_cast<const std::byte*>(call.input) + ir::plane_offset(nest.input, n, c) * width;
    auto* const output = static_cast<std::byte*>(call.output) + ir::plane_offset(nest.output, n, c) * width;
    Position position(nest.dims.size(), 0);
    do {
      std::memset(output + ir::position_offset(nest.output, position) * width, 0, size_t(width));
    } while (advance(position, nest.dims, &ir::NestDim::output));
    Position window(nest.dims.size(), 0);
    do {
      const auto to = place(index_at(call, n, c, window), n, c, window);
      if (!to) continue;  // check() has refused it
      std::memcpy(output + ir::position_offset(nest.output, *to) * width,
                  input + ir::position_offset(nest.input, window) * width, size_t(width));
    } while (advance(window, nest.dims, &ir::NestDim::input));
  }

  const ir::IndexRule rule_;
};

}  // namespace

std::shared_ptr<Code> make_unpool(const frontend::PoolSpec& spec) {
  CodeInfo code;
  code.nest = frontend::make_nest(spec);
  code.isa = "none";
  code.tasks = {{"n", ir::TaskDim::batch_extent}, {"c", code.nest.channels}};
  return std::make_shared<Unpool>(std::move(code));
}

}  // namespace pooljit::runtime
