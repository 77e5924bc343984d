#include "runtime/proof/expected.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ir/element_type.h"
#include "ir/reference.h"
#include "ir/window_taps.h"
#include "runtime/proof/rounds.h"
#include "runtime/proof/through.h"

namespace pooljit::runtime {
namespace {

// Norms that are not exact: their powers; roots of long floats, which the oracle rounds twice.
bool is_rounded(const ir::PoolNest& nest) {
  return has_tested_values(nest) || (argument_of(nest) == ProofArgument::norm &&
                                     !std::isinf(nest.norm_type) && nest.input.dtype == ir::DType::f64);
}

ir::View packed(ir::DType dtype, const ir::PoolNest& nest, Extent extent) {
  ir::View view;
  view.dtype = dtype;
  view.strides.resize(nest.dims.size());
  int64_t stride = 1;
  for (size_t d = nest.dims.size(); d-- > 0; stride *= nest.dims[d].*extent) view.strides[d] = stride;
  view.channel_stride = view.batch_stride = stride;
  return view;
}

ir::PoolNest one_plane(ir::PoolNest nest) {
  nest.channels = 1;
  nest.input = packed(nest.input.dtype, nest, &ir::NestDim::input);
  nest.output = packed(nest.output.dtype, nest, &ir::NestDim::output);
  nest.index_scope = ir::IndexScope::plane;
  nest.column_major = false;
  if (nest.indices) nest.indices = packed(ir::DType::i64, nest, index_extent(nest));
  return nest;
}

// Windows of at least so many times the taps that they have along their dimensions, one after the other.
constexpr int64_t worth_dimensions = 4;

int64_t positions(const ir::PoolNest& nest, Extent extent) {
  int64_t count = 1;
  for (const ir::NestDim& dim : nest.dims) count *= dim.*extent;
  return count;
}

std::vector<std::byte> to_bytes(const Plane& plane, ir::DType dtype) {
  return ir::with_element_type(dtype, [&]<typename T>(T) {
    std::vector<std::byte> bytes(plane.size() * sizeof(T));
    for (size_t i = 0; i < plane.size(); ++i) std::memcpy(&bytes[i * sizeof(T)], &plane[i], sizeof(T));
    return bytes;
  });
}

Plane from_bytes(const std::vector<std::byte>& bytes, ir::DType dtype) {
  return ir::with_element_type(dtype, [&]<typename T>(T) {
    Plane plane(bytes.size() / sizeof(T), 0);
    for (size_t i = 0; i < plane.size(); ++i) std::memcpy(&plane[i], &bytes[i * sizeof(T)], sizeof(T));
    return plane;
  });
}

// The operands of one plane, packed.
class PlaneOperands {
 public:
  PlaneOperands(const ir::PoolNest& nest, const std::vector<Plane>& planes) {
    const auto views = operand_views(nest);
    for (size_t i = 0; i < views.size(); ++i) {
      bytes_.push_back(to_bytes(planes[i], views[i].dtype));
      pointers_.push_back(bytes_.back().data());
    }
  }
  ir::Operands pointers() const { return pointers_; }

 private:
  std::vector<std::vector<std::byte>> bytes_;
  std::vector<const void*> pointers_;
};

std::vector<std::byte> outputs_of(const ir::PoolNest& nest, const void* input, int64_t* indices,
                                  ir::Operands operands) {
  std::vector<std::byte> output(size_t(positions(nest, &ir::NestDim::output) * ir::bytes(nest.output.dtype)));
  ir::evaluate(nest, 1, input, output.data(), indices, operands);
  return output;
}

// The same without indices, of a plane.
Plane outputs_of(const ir::PoolNest& nest, const Plane& plane, ir::Operands operands) {
  const std::vector<std::byte> input = to_bytes(plane, nest.input.dtype);
  return from_bytes(outputs_of(nest, input.data(), nullptr, operands), nest.output.dtype);
}

// Which outputs of a plane share a divisor.
std::map<int64_t, std::vector<size_t>> outputs_by_divisor(const ir::PoolNest& nest) {
  std::map<int64_t, std::vector<size_t>> outputs;
  size_t output = 0;
  ir::for_each_position(nest.dims, [&](const auto&, const std::vector<ir::Window>& windows) {
    outputs[ir::divisor(nest, windows)].push_back(output++);
  });
  return outputs;
}

// Whether they are whole numbers whose sums have their own float, whatever is added first.
bool have_exact_sums(const ir::PoolNest& nest, const Plane& plane) {
  constexpr double whole_floats = 0x1p24;
  const double most = whole_floats / double(nest.full_taps());
  return !ir::is_float(nest.input.dtype) || std::ranges::all_of(plane, [&](uint64_t bits) {
    const double number = number_of(nest.input.dtype, bits);
    return !std::isfinite(number) || (std::abs(number) <= most && number == std::floor(number));
  });
}

}  // namespace

Extent index_extent(const ir::PoolNest& nest) {
  return nest.is_backward() ? &ir::NestDim::input : &ir::NestDim::output;
}

Positions unravel(int64_t number, const std::vector<ir::NestDim>& dims, Extent extent) {
  Positions at(dims.size());
  for (size_t d = dims.size(); d-- > 0; number /= dims[d].*extent) at[d] = number % (dims[d].*extent);
  return at;
}

bool adds_by_dimensions(const ir::PoolNest& nest) {
  int64_t taps = 0;
  for (const ir::NestDim& dim : nest.dims) taps += dim.most_taps();
  return argument_of(nest) == ProofArgument::sum && !nest.quantization && nest.epilogue.empty() &&
         nest.input.dtype != ir::DType::i64 && nest.full_taps() >= worth_dimensions * taps;
}

std::vector<Plane> neutral_planes(const ir::PoolNest& nest) {
  const std::vector<double> numbers = neutral_operands(nest);
  std::vector<Plane> planes;
  for (size_t i = 0; i < numbers.size(); ++i) planes.push_back(operand_plane(nest, i, numbers[i]));
  return planes;
}

Plane operand_plane(const ir::PoolNest& nest, size_t operand, double number) {
  const auto size = is_per_channel(nest, operand) ? size_t{1} : size_t(positions(nest, &ir::NestDim::output));
  return Plane(size, bits_of(operand_views(nest)[operand].dtype, number));
}

Oracle::Oracle(const ir::PoolNest& nest)
    : nest_(nest),
      forward_(nest.is_backward() ? forward_of(nest) : nest),
      plane_nest_(one_plane(nest)),
      neutral_(neutral_planes(nest)) {
  if (adds_by_dimensions(nest)) by_divisor_ = outputs_by_divisor(nest);
}

// Windows are products, and so a maximum over one is a maximum along the last dimension, of these one along
// the dimension before, and so on: which of equals is the first, and whether there is a NaN, included. Large
// windows cost their widths' sum, not their product.
ir::PoolNest Oracle::along(size_t d, ir::DType from, ir::DType to) const {
  ir::PoolNest stage = plane_nest_;
  for (size_t e = 0; e < stage.dims.size(); ++e) {
    const int64_t extent = e < d ? nest_.dims[e].input : nest_.dims[e].output;
    if (e != d) stage.dims[e] = {.input = extent, .output = extent};
  }
  stage.input = packed(from, stage, &ir::NestDim::input);
  stage.output = packed(to, stage, &ir::NestDim::output);
  if (d > 0) stage.epilogue.clear();
  return stage;
}

Plane Oracle::extrema(Plane plane, ir::Operands operands) const {
  for (size_t d = nest_.dims.size(); d-- > 0;) {
    const ir::PoolNest stage = along(d, nest_.input.dtype, d == 0 ? nest_.output.dtype : nest_.input.dtype);
    plane = outputs_of(stage, plane, d > 0 ? ir::Operands{} : operands);
  }
  return plane;
}

// So are sums, where they are exact: of the whole numbers of probes. What divides them is the oracle's own,
// on the sums of those outputs that share a divisor; they have the type that the oracle rounds quotients to.
Plane Oracle::sums(const Plane& plane) const {
  const bool is_float = ir::is_float(nest_.input.dtype);
  const ir::DType accumulator = !is_float                           ? ir::DType::i64
                                : ir::bytes(nest_.input.dtype) <= 4 ? ir::DType::f32
                                                                    : ir::DType::f64;
  Plane sums = plane;
  for (size_t d = nest_.dims.size(); d-- > 0;) {
    const bool is_first = d + 1 == nest_.dims.size();
    ir::PoolNest stage = along(d, is_first ? nest_.input.dtype : accumulator, accumulator);
    stage.reduction = ir::Reduction::sum;
    sums = outputs_of(stage, sums, {});
  }
  Plane results(sums.size());
  for (const auto& [divisor, outputs] : by_divisor_) {
    Plane shared;
    for (const size_t output : outputs) shared.push_back(sums[output]);
    ir::PoolNest line = plane_nest_;
    line.dims = {{.input = std::ssize(outputs), .output = std::ssize(outputs)}};
    line.divisor_override = divisor;
    line.input = packed(accumulator, line, &ir::NestDim::input);
    line.output = packed(nest_.output.dtype, line, &ir::NestDim::output);
    const Plane divided = outputs_of(line, shared, {});
    for (size_t i = 0; i < outputs.size(); ++i) results[outputs[i]] = divided[i];
  }
  return results;
}

Expected Oracle::evaluate(const Probe& probe, const std::vector<bool>& used) const {
  const bool has_indices = nest_.indices.has_value();
  const bool is_separable = argument_of(nest_) == ProofArgument::extremum && !has_indices;
  Expected expected;
  expected.outputs.resize(probe.planes.size());
  expected.indices.resize(probe.planes.size());
  if (is_rounded(nest_)) expected.bounds.resize(probe.planes.size());
  for (size_t i = 0; i < probe.planes.size(); ++i) {
    if (!used[i]) continue;
    const PlaneOperands operands(plane_nest_, probe.operands.empty() ? neutral_ : probe.operands[i]);
    if (is_separable) {
      expected.outputs[i] = extrema(probe.planes[i], operands.pointers());
      continue;
    }
    if (!by_divisor_.empty() && have_exact_sums(nest_, probe.planes[i])) {
      expected.outputs[i] = sums(probe.planes[i]);
      continue;
    }
    const std::vector<std::byte> input = to_bytes(probe.planes[i], nest_.input.dtype);
    std::vector<int64_t> indices(has_indices ? size_t(positions(nest_, index_extent(nest_))) : 0);
    if (has_indices && nest_.is_backward()) std::ranges::copy(probe.indices[i], indices.begin());
    const auto output =
        outputs_of(plane_nest_, input.data(), has_indices ? indices.data() : nullptr, operands.pointers());
    expected.outputs[i] = from_bytes(output, nest_.output.dtype);
    for (size_t at = 0; at < indices.size(); ++at) expected.indices[i].push_back(numbered(indices[at], at));
    if (is_rounded(nest_))
      expected.bounds[i] = ir::error_bounds(plane_nest_, 1, input.data(), operands.pointers());
  }
  return expected;
}

// A row-major index in the plane as the nest numbers it, without channel and batch.
uint64_t Oracle::numbered(int64_t row_major, size_t output) const {
  if (row_major < 0) return no_index;
  const ir::IndexRule rule = ir::index_rule(forward_);
  const auto tap = unravel(row_major, forward_.dims, &ir::NestDim::input);
  const auto place = unravel(int64_t(output), forward_.dims, &ir::NestDim::output);
  int64_t index = 0;
  for (size_t d = 0; d < tap.size(); ++d) {
    const ir::Window window = forward_.dims[d].window(place[d]);
    const int64_t at = rule.of_window ? (tap[d] - window.first) / window.step + window.first_tap : tap[d];
    index += at * rule.dims[d];
  }
  return uint64_t(index);
}

}  // namespace pooljit::runtime
