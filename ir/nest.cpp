#include "ir/nest.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "ir/append.h"

namespace pooljit::ir {

namespace {

void print_view(std::string& out, std::string_view name, const View& view) {
  append(out, "{}: {}, strides batch {} channel {} spatial [{}]", name, info(view.dtype).spec_name,
         view.batch_stride, view.channel_stride, fmt::join(view.strides, ","));
  if (view.channel_block > 1) append(out, ", blocks of {} channels", view.channel_block);
  out += "\n";
}

void print_step(std::string& out, const EpilogueStep& step) {
  const StepInfo& row = info(step.kind);
  append(out, " {}", row.text);
  if (row.numbers > 0)
    append(out, "({})", fmt::join(step.numbers.begin(), step.numbers.begin() + row.numbers, ","));
  if (step.dtype) append(out, "({})", info(*step.dtype).spec_name);
}

void print_run(std::string& out, const NestDim& dim, const Run& run) {
  const Window& window = run.window;
  const Period period = dim.period();
  const int64_t first = run.phase + run.begin * period.output;
  if (period.output == 1)
    append(out, "  outputs {}..{}: ", run.begin, run.end - 1);
  else if (run.phases == 1)
    append(out, "  {} outputs from {} on: ", run.end - run.begin, first);
  else
    append(out, "  {} times outputs {}..{}: ", run.end - run.begin, first, first + run.phases - 1);
  if (window.taps == 0)
    out += "no taps";
  else
    append(out, "taps {}..{} from input {}", window.first_tap,
           window.first_tap + (window.taps - 1) * dim.tap_number_step(), window.first);
  if (dim.is_forward()) append(out, ", {} with padding", window.padded_taps);
  out += "\n";
}

void print_dim(std::string& out, size_t number, const NestDim& dim) {
  append(out, "dim {}: input {}, output {}", number, dim.input, dim.output);
  if (dim.kind == DimKind::adaptive)
    out += ", adaptive";
  else
    append(out, ", kernel {}, stride {}, dilation {}, padding [{},{}]", dim.kernel, dim.stride, dim.dilation,
           dim.pad_begin, dim.pad_end);
  const Period period = dim.period();
  if (dim.kind != DimKind::pool) append(out, ", every {} outputs move by {}", period.output, period.input);
  out += "\n";
  for (const Run& run : runs(dim)) print_run(out, dim, run);
}

}  // namespace

MemberPlace PoolNest::member_place(size_t number) const {
  MemberPlace place;
  if (member_offsets.empty())
    place.output = number;
  else
    place.offset = member_offsets.at(number);
  const auto pools = pools_of(*this);
  if (pools[number].indices)
    place.indices = static_cast<int>(
        std::ranges::count_if(pools.first(number), [](const PoolNest& pool) { return !!pool.indices; }));
  return place;
}

const PoolNest& PoolNest::with_indices(size_t number) const {
  for (const PoolNest& member : members)
    if (member.indices && number-- == 0) return member;
  return *this;
}

int64_t PoolNest::full_taps() const {
  int64_t taps = 1;
  for (const NestDim& dim : dims) taps *= dim.most_taps();
  return taps;
}

DType PoolNest::result_dtype() const {
  return epilogue.empty() ? output.dtype : epilogue_dtype(input.dtype, quantization.has_value());
}

std::vector<View> operand_views(const PoolNest& nest) {
  if (nest.is_norm_gradient()) return {nest.output, nest.input};
  std::vector<View> views;
  for (const EpilogueStep& step : nest.epilogue)
    for (char form : info(step.kind).operands) {
      if (form == 'T') {
        views.push_back(nest.output);
        views.back().dtype = step.dtype.value_or(nest.output.dtype);
      } else {
        views.push_back({.dtype = nest.result_dtype(),
                         .channel_stride = 1,
                         .strides = std::vector<int64_t>(nest.dims.size(), 0)});
      }
    }
  for (const PoolNest& member : nest.members)
    std::ranges::copy(operand_views(member), std::back_inserter(views));
  return views;
}

int64_t NestDim::*operand_extent(const PoolNest& nest, size_t operand) {
  return nest.is_norm_gradient() && operand == 1 ? &NestDim::input : &NestDim::output;
}

size_t operand_count(const PoolNest& pool) {
  return pool.is_norm_gradient() ? 2 : operand_count(pool.epilogue);
}

size_t first_operand(std::span<const PoolNest> pools, size_t pool) {
  size_t first = 0;
  for (const PoolNest& before : pools.first(pool)) first += operand_count(before);
  return first;
}

bool is_per_channel(const PoolNest& nest, size_t operand) {
  for (const EpilogueStep& step : nest.epilogue) {
    const std::string_view forms = info(step.kind).operands;
    if (operand < forms.size()) return forms[operand] == 'C';
    operand -= forms.size();
  }
  return false;
}

PoolNest forward_of(const PoolNest& backward) {
  PoolNest forward = backward;
  forward.direction = Direction::forward;
  std::swap(forward.input, forward.output);
  for (NestDim& dim : forward.dims) dim = forward_of(dim);
  return forward;
}

IndexRule index_rule(const PoolNest& nest) {
  IndexRule rule;
  rule.of_window = nest.index_scope == IndexScope::window;
  const size_t rank = nest.dims.size();
  rule.dims.resize(rank);
  int64_t weight = 1;
  for (size_t i = 0; i < rank; ++i) {
    const size_t d = nest.column_major && !rule.of_window ? i : rank - 1 - i;
    const NestDim& dim = nest.dims[d];
    rule.dims[d] = weight;
    if (!rule.of_window)
      weight *= nest.is_backward() ? dim.output : dim.input;
    else
      weight *= dim.kind == DimKind::adaptive ? dim.most_taps() : dim.kernel;
  }
  const bool is_nhwc = nest.index_scope == IndexScope::nhwc || nest.index_scope == IndexScope::nhwc_batch;
  if (is_nhwc) {
    for (int64_t& factor : rule.dims) factor *= nest.channels;
    rule.channel = 1;
  }
  if (nest.index_scope == IndexScope::nhwc_batch) rule.batch = weight * nest.channels;
  if (nest.index_scope == IndexScope::tensor) rule.channel = weight, rule.batch = weight * nest.channels;
  return rule;
}

int64_t index_reach(const PoolNest& nest) {
  const IndexRule rule = index_rule(nest);
  int64_t reach = 0;
  for (size_t i = 0; i < nest.dims.size(); ++i) {
    const NestDim& dim = nest.dims[i];
    const int64_t extent = dim.kind == DimKind::adaptive ? dim.most_taps() - 1
                           : rule.of_window              ? dim.kernel - 1
                                                         : (dim.kernel - 1) * dim.dilation;
    reach += extent * rule.dims[i];
  }
  return reach;
}

int64_t divisor(const PoolNest& nest, const std::vector<Window>& windows) {
  if (!nest.divides()) return 1;
  if (nest.divisor_override) return *nest.divisor_override;
  int64_t taps = 1, padded_taps = 1;
  for (const Window& window : windows) {
    taps *= window.taps;
    padded_taps *= window.padded_taps;
  }
  if (taps == 0) return 1;
  return nest.count_include_pad ? padded_taps : taps;
}

std::string PoolNest::print() const {
  std::string out;
  if (is_pools(*this)) {
    append(out, "{} pools of one input over {} channels\n", members.size(), channels);
    for (size_t i = 0; i < members.size(); ++i) {
      append(out, "\npool {}", i + 1);
      if (!member_offsets.empty())
        append(out, ", {} elements behind the first of the output", member_offsets[i]);
      out += "\n" + members[i].print();
    }
    return out;
  }
  append(out, "{}{} over {} channels", info(reduction).text,
         is_backward()                    ? " backward"
         : direction == Direction::unpool ? " unpool"
                                          : "",
         channels);
  if (is_extreme())
    append(out, ", nan {}, zeros {}", nan == NanRule::propagate ? "propagate" : "ignore",
           zeros == ZeroRule::any ? "any" : "first");
  else if (is_norm())
    append(out, ", p {}", norm_type);
  else if (divides() && divisor_override)
    append(out, ", divisor {}", *divisor_override);
  else if (divides())
    append(out, ", divisor: taps {}", count_include_pad ? "with padding" : "in the image");
  if (rounding == RoundingRule::half_away) out += ", ties away from zero";
  out += "\n";
  if (has_any_size()) out += "of any size: extents, padding and outer strides are stand-ins\n";
  if (quantization)
    append(out, "scale {} to {}, zero point {} to {}\n", quantization->scale, quantization->output_scale,
           quantization->zero_point, quantization->output_zero_point);
  if (!epilogue.empty()) append(out, "epilogue in {}:", info(result_dtype()).spec_name);
  for (const EpilogueStep& step : epilogue) print_step(out, step);
  if (!epilogue.empty()) out += "\n";
  print_view(out, "input", input);
  print_view(out, "output", output);
  if (indices) print_view(out, "indices", *indices);
  if (indices && (index_scope != IndexScope::plane || column_major)) {
    static constexpr std::string_view scopes[] = {"plane", "tensor", "nhwc", "nhwc_batch", "window"};
    append(out, "indices count in: {}{}\n", scopes[static_cast<int>(index_scope)],
           column_major ? ", column-major" : "");
  }
  for (size_t i = 0; i < dims.size(); ++i)
    if (direction == Direction::unpool)
      append(out, "dim {}: input {}, output {}\n", i, dims[i].input, dims[i].output);
    else
      print_dim(out, i, dims[i]);
  return out;
}

}  // namespace pooljit::ir
