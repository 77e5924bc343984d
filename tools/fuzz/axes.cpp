// Axes of random specs and their settings. To widen the matrix and the fuzzers: a setting or an axis here.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "tools/fuzz/axes.h"

namespace pooljit::fuzz {

namespace {

using frontend::PoolSpec;
using frontend::SpecDim;

// Settings that put each of some values into one member.
template <typename T, typename Put>
Axis values(std::string name, const std::vector<T>& choices, const Put& put) {
  Axis axis = {std::move(name), {}};
  for (const T& choice : choices)
    axis.settings.push_back(
        {std::to_string(static_cast<int64_t>(choice)), [=](PoolSpec& s) { put(s, choice); }});
  return axis;
}

// A setting of every spatial dimension, by its number from the innermost one.
Setting each_dim(std::string label, const std::function<void(SpecDim&, int64_t)>& put) {
  return {std::move(label), [=](PoolSpec& spec) {
            for (size_t d = 0; d < spec.dims.size(); ++d)
              put(spec.dims[d], std::ssize(spec.dims) - 1 - static_cast<int64_t>(d));
          }};
}

Axis each_dim_values(std::string name, int64_t SpecDim::*member, const std::vector<int64_t>& choices) {
  Axis axis = {std::move(name), {}};
  for (int64_t choice : choices)
    axis.settings.push_back(
        each_dim(std::to_string(choice), [=](SpecDim& dim, int64_t) { dim.*member = choice; }));
  return axis;
}

Axis tabled(std::string name,
            const std::vector<std::pair<std::string, std::function<void(PoolSpec&)>>>& rows) {
  Axis axis = {std::move(name), {}};
  for (const auto& [label, apply] : rows) axis.settings.push_back({label, apply});
  return axis;
}

// The same axis with one setting chosen more often.
Axis often(Axis axis, size_t setting, unsigned weight) {
  axis.settings[setting].weight = weight;
  return axis;
}

Axis flag(std::string name, bool PoolSpec::*member) {
  return values(std::move(name), std::vector<bool>{false, true},
                [=](PoolSpec& s, bool on) { s.*member = on; });
}

Axis ranks() {
  Axis axis =
      values("rank", std::vector<size_t>{1, 2, 3}, [](PoolSpec& s, size_t rank) { s.dims.resize(rank); });
  // Of the higher ranks fewer combinations are small enough.
  for (size_t i = 0; i < axis.settings.size(); ++i)
    axis.settings[i].weight = static_cast<unsigned>(1 + 2 * i);
  return axis;
}

Axis reductions() {
  Axis axis = {"reduction", {}};
  for (size_t i = 0; i < std::size(ir::reduction_table); ++i)
    axis.settings.push_back({std::string(ir::reduction_table[i].text),
                             [=](PoolSpec& s) { s.reduction = static_cast<ir::Reduction>(i); }});
  return axis;
}

Axis dtypes() {
  Axis axis = {"dtype", {}};
  for (const ir::DTypeInfo& row : ir::dtype_table)
    if (row.tensor)
      axis.settings.push_back({std::string(row.spec_name), [=](PoolSpec& s) { s.dtype = row.dtype; }});
  return axis;
}

// After the dtypes, which say whether a tensor can be quantized.
Axis quantizations() {
  const auto quantized = [](double scale, int64_t zero_point) {
    return [=](PoolSpec& s) {
      s.quantized = !ir::is_float(s.dtype) && s.dtype != ir::DType::i16 && s.dtype != ir::DType::i64;
      if (s.quantized) s.scale = scale, s.zero_point = zero_point;
    };
  };
  const auto requantized = [=](PoolSpec& s) {
    quantized(0.1, 7)(s);
    if (s.quantized && info(s.reduction).divides) s.output_scale = 0.03, s.output_zero_point = 100;
  };
  return tabled("quantized",
                {{"no", [](PoolSpec&) {}}, {"kept", quantized(1.5, 3)}, {"requantized", requantized}});
}

Axis output_dtypes() {
  Axis axis = {"output_dtype", {{"same", [](PoolSpec&) {}, 12}}};
  for (const ir::DTypeInfo& row : ir::dtype_table)
    if (row.tensor)
      axis.settings.push_back({std::string(row.spec_name), [=](PoolSpec& s) { s.output_dtype = row.dtype; }});
  return axis;
}

Axis norms() {
  Axis axis = {"norm_type", {}};
  for (double p : {2.0, 1.0, 3.0, 0.5, 2.7, std::numeric_limits<double>::infinity()})
    axis.settings.push_back({fmt::format("{}", p), [=](PoolSpec& s) {
                               if (is_norm(s.reduction)) s.norm_type = p;
                             }});
  return axis;
}

Axis batches() {
  Axis axis = values("batch", std::vector<int64_t>{-1, 0, 1, 2, 3}, [](PoolSpec& s, int64_t batch) {
    s.batch = batch < 0 ? std::nullopt : std::optional(batch);  // -1: unbatched
  });
  for (Setting& setting : axis.settings) setting.weight = setting.label == "0" ? 1 : 6;  // 0 computes nothing
  return axis;
}

Axis kernels() {
  Axis axis = each_dim_values("kernel_size", &SpecDim::kernel, {1, 2, 3, 5, 7, 9});
  axis.settings.push_back(each_dim("mixed", [](SpecDim& dim, int64_t i) { dim.kernel = 3 - i % 2; }));
  axis.settings.push_back(
      each_dim("innermost", [](SpecDim& dim, int64_t i) { dim.kernel = i == 0 ? 4 : 1; }));
  axis.settings.push_back(each_dim("input", [](SpecDim& dim, int64_t) { dim.kernel = dim.input; }));
  return axis;
}

Axis strides() {
  Axis axis = each_dim_values("stride", &SpecDim::stride, {1, 2, 3, 4});
  axis.settings.push_back(each_dim("kernel", [](SpecDim& dim, int64_t) { dim.stride = dim.kernel; }));
  axis.settings.push_back(each_dim("mixed", [](SpecDim& dim, int64_t i) { dim.stride = 1 + i % 2; }));
  return axis;
}

Axis paddings() {
  const auto pads = [](int64_t begin, int64_t end) {
    return [=](SpecDim& dim, int64_t) { dim.pad_begin = begin, dim.pad_end = end; };
  };
  const auto both = [](SpecDim& dim, int64_t pad) { dim.pad_begin = dim.pad_end = pad; };
  return {
      "padding",
      {each_dim("none", pads(0, 0)), each_dim("1", pads(1, 1)), each_dim("begin", pads(2, 0)),
       each_dim("end", pads(0, 3)), each_dim("crop", pads(0, -1)), each_dim("begin and crop", pads(1, -2)),
       each_dim("half", [=](SpecDim& dim, int64_t) { both(dim, dim.kernel / 2); }),
       each_dim("beyond the kernel", [=](SpecDim& dim, int64_t) { both(dim, dim.kernel + 1); }),
       each_dim("mixed", [=](SpecDim& dim, int64_t i) { both(dim, i % 2); })}};
}

Axis dilations() {
  Axis axis = each_dim_values("dilation", &SpecDim::dilation, {1, 2, 3});
  axis.settings.push_back(each_dim("mixed", [](SpecDim& dim, int64_t i) { dim.dilation = 1 + i % 2; }));
  return axis;
}

Axis divisors() {
  return values("divisor_override", std::vector<int64_t>{0, 3, 8, -5}, [](PoolSpec& s, int64_t divisor) {
    s.divisor_override = divisor == 0 ? std::nullopt : std::optional(divisor);  // 0: not given
  });
}

// Of averages of integers, after the dtypes.
Axis roundings() {
  return tabled("rounding",
                {{"half_even", [](PoolSpec&) {}},
                 {"half_away", [](PoolSpec& s) {
                    const bool makes_integers = !ir::is_float(s.dtype) && !ir::is_float(output_dtype(s));
                    if (info(s.reduction).divides && makes_integers && s.direction == ir::Direction::forward)
                      s.rounding = ir::RoundingRule::half_away;
                  }}});
}

// Adaptive and global windows take the place of all that was chosen of the windows.
Axis forms() {
  const auto adaptive = [](std::string label, const std::function<int64_t(int64_t, int64_t)>& output) {
    const Setting dims = each_dim("", [=](SpecDim& dim, int64_t i) {
      dim = {.input = dim.input, .adaptive_output = output(dim.input, i)};
    });
    return Setting{std::move(label), [=](PoolSpec& spec) {
                     dims.apply(spec);
                     spec.ceil_mode = frontend::CeilMode::floor;
                     spec.count_include_pad = true;
                     spec.divisor_override.reset();
                   }};
  };
  Axis axis = {"form", {{"window", [](PoolSpec&) {}, 12}}};
  Setting global = adaptive("global", [](int64_t, int64_t) { return 0; });
  const Setting input = each_dim("", [](SpecDim& dim, int64_t) { dim.kernel = dim.stride = dim.input; });
  axis.settings.push_back({"global", [=](PoolSpec& spec) {
                             global.apply(spec), input.apply(spec);
                             spec.global = true;
                           }});
  // Planes that whole_planes takes, whose windows have more rows than the registers hold of partial lines.
  axis.settings.push_back(each_dim("tall windows", [](SpecDim& dim, int64_t i) {
    dim = {.input = i == 0 ? dim.input : 14, .kernel = i == 0 ? 3 : i == 1 ? 8 : 1};
  }));
  axis.settings.push_back(adaptive("adaptive 1", [](int64_t, int64_t) { return 1; }));
  axis.settings.push_back(adaptive("adaptive 3", [](int64_t, int64_t) { return 3; }));
  axis.settings.push_back(adaptive("adaptive mixed", [](int64_t, int64_t i) { return i == 0 ? 12 : 2; }));
  axis.settings.push_back(
      adaptive("adaptive larger", [](int64_t input, int64_t i) { return input + 1 + i; }));
  return axis;
}

// Backward takes the place of what only a forward pass has.
Axis directions() {
  return tabled("direction", {{"forward", [](PoolSpec&) {}}, {"backward", [](PoolSpec& s) {
                                                                s.direction = ir::Direction::backward;
                                                                s.return_indices = false;
                                                                s.nan = ir::NanRule::propagate;
                                                                s.zeros = ir::ZeroRule::any;
                                                              }}});
}

// Only of specs that have indices.
Axis indices() {
  using ir::DType, ir::IndexScope;
  const auto kind = [](DType dtype, IndexScope scope, int64_t storage_order = 0) {
    return [=](PoolSpec& s) {
      if (!has_indices(s)) return;
      s.index_dtype = dtype, s.index_scope = scope, s.storage_order = storage_order;
    };
  };
  return tabled("indices", {{"plane int64", [](PoolSpec&) {}},
                            {"plane int32", kind(DType::i32, IndexScope::plane)},
                            {"window uint8", kind(DType::u8, IndexScope::window)},
                            {"window int32", kind(DType::i32, IndexScope::window)},
                            {"tensor", kind(DType::i64, IndexScope::tensor)},
                            {"tensor by columns", kind(DType::i32, IndexScope::tensor, 1)},
                            {"nhwc", kind(DType::i32, IndexScope::nhwc)},
                            {"nhwc with batch", kind(DType::i64, IndexScope::nhwc_batch)}});
}

// One of each row of ir/epilogue.def, and some in a row. After the dtypes, which say whether there are
// integers to requantize to.
Axis epilogues() {
  using ir::StepKind;
  const auto steps = [](const std::vector<ir::EpilogueStep>& all) {
    return [=](PoolSpec& s) {
      s.epilogue = all;
      const auto makes_integers = [](const ir::EpilogueStep& step) {
        return info(step.kind).makes_integers();
      };
      if (std::any_of(all.begin(), all.end(), makes_integers) && ir::is_float(output_dtype(s)))
        s.output_dtype = ir::DType::u8;
    };
  };
  Axis axis = {"epilogue", {{"none", [](PoolSpec&) {}, 16}}};
  for (const ir::StepInfo& row : ir::step_table)
    axis.settings.push_back({std::string(row.text), steps({{row.kind, {0.75, 3}, {}}})});
  const ir::EpilogueStep relu{StepKind::relu, {}, {}}, channels{StepKind::scale_channel, {}, {}},
      add{StepKind::add, {}, {}}, scale{StepKind::scale, {-0.3, 1.7}, {}},
      clamp{StepKind::clamp, {-1, 60}, {}}, requantize{StepKind::requantize, {0.1, 3}, {}},
      add_floats{StepKind::add, {}, ir::DType::f32}, add_integers{StepKind::add, {}, ir::DType::i32};
  axis.settings.push_back({"scale and clamp", steps({scale, clamp})});
  axis.settings.push_back({"residual", steps({channels, add, relu})});
  axis.settings.push_back({"requantized residual", steps({scale, requantize, add, requantize})});
  axis.settings.push_back({"floats added", steps({add_floats, clamp})});
  axis.settings.push_back({"all operands", steps({channels, add_integers, channels, channels})});
  return axis;
}

// The layout that a spec does not have.
PoolSpec transposed(PoolSpec spec) {
  using frontend::Layout;
  spec.layout = spec.layout == Layout::nchw ? Layout::nhwc : Layout::nchw;
  return spec;
}
PoolSpec with_more_channels(PoolSpec spec) {
  spec.channels += 3;
  return spec;
}
PoolSpec with_wider_rows(PoolSpec spec) {
  spec.dims.back().input += 5;
  return spec;
}
std::vector<int64_t> spaced(std::vector<int64_t> strides) {
  for (int64_t& stride : strides) stride *= 2;
  return strides;
}

Axis input_views() {
  return tabled("strides",
                {
                    {"packed", [](PoolSpec&) {}},
                    {"transposed", [](PoolSpec& s) { s.strides = input_strides(transposed(s)); }},
                    {"channel slice", [](PoolSpec& s) { s.strides = input_strides(with_more_channels(s)); }},
                    {"crop", [](PoolSpec& s) { s.strides = input_strides(with_wider_rows(s)); }},
                    {"spaced", [](PoolSpec& s) { s.strides = spaced(input_strides(s)); }},
                    {"repeated rows",
                     [](PoolSpec& s) {
                       s.strides = input_strides(s);
                       s.strides[s.strides.size() - s.dims.size()] = 0;
                     }},
                    {"repeated",
                     [](PoolSpec& s) {
                       s.strides = input_strides(s);
                       s.strides[0] = 0;
                     }},
                });
}

Axis output_views() {
  return tabled(
      "output_strides",
      {
          {"packed", [](PoolSpec&) {}},
          {"transposed", [](PoolSpec& s) { s.output_strides = output_strides(transposed(s)); }},
          {"channel slice", [](PoolSpec& s) { s.output_strides = output_strides(with_more_channels(s)); }},
          {"spaced", [](PoolSpec& s) { s.output_strides = spaced(output_strides(s)); }},
      });
}

}  // namespace

const std::vector<Axis>& spec_axes() {
  using frontend::CeilMode;
  using frontend::Layout;
  static const auto& axes = *new std::vector<Axis>{
      ranks(),
      reductions(),
      dtypes(),
      often(quantizations(), 0, 4),
      output_dtypes(),
      norms(),
      batches(),
      values("channels", std::vector<int64_t>{1, 3, 7, 8, 9, 15, 16, 17, 31, 33, 64},
             [](PoolSpec& s, int64_t channels) { s.channels = channels; }),
      each_dim_values("input", &SpecDim::input, {1, 2, 4, 5, 9}),
      values("columns", std::vector<int64_t>{1, 3, 8, 13, 16, 17, 33, 40, 70},
             [](PoolSpec& s, int64_t columns) { s.dims.back().input = columns; }),
      tabled("layout", {{"nchw", [](PoolSpec& s) { s.layout = Layout::nchw; }},
                        {"nhwc", [](PoolSpec& s) { s.layout = Layout::nhwc; }},
                        {"nchw8c", [](PoolSpec& s) { s.layout = Layout::nchw8c; }},
                        {"nchw16c", [](PoolSpec& s) { s.layout = Layout::nchw16c; }}}),
      often(tabled("output_layout", {{"same", [](PoolSpec&) {}},
                                     {"nchw", [](PoolSpec& s) { s.output_layout = Layout::nchw; }},
                                     {"nhwc", [](PoolSpec& s) { s.output_layout = Layout::nhwc; }},
                                     {"nchw8c", [](PoolSpec& s) { s.output_layout = Layout::nchw8c; }},
                                     {"nchw16c", [](PoolSpec& s) { s.output_layout = Layout::nchw16c; }}}),
            0, 4),
      kernels(),
      strides(),
      paddings(),
      often(dilations(), 0, 4),
      tabled("ceil_mode", {{"floor", [](PoolSpec& s) { s.ceil_mode = CeilMode::floor; }},
                           {"torch", [](PoolSpec& s) { s.ceil_mode = CeilMode::torch; }},
                           {"plain", [](PoolSpec& s) { s.ceil_mode = CeilMode::plain; }}}),
      flag("return_indices", &PoolSpec::return_indices),
      often(tabled("nan", {{"propagate", [](PoolSpec& s) { s.nan = ir::NanRule::propagate; }},
                           {"ignore", [](PoolSpec& s) { s.nan = ir::NanRule::ignore; }}}),
            0, 2),
      often(tabled("zeros", {{"any", [](PoolSpec& s) { s.zeros = ir::ZeroRule::any; }},
                             {"first", [](PoolSpec& s) { s.zeros = ir::ZeroRule::first; }}}),
            0, 2),
      flag("count_include_pad", &PoolSpec::count_include_pad),
      often(divisors(), 0, 4),
      forms(),
      often(directions(), 0, 5),
      often(indices(), 0, 4),
      epilogues(),
      roundings(),
      often(input_views(), 0, 15),
      often(output_views(), 0, 9),
  };
  return axes;
}

}  // namespace pooljit::fuzz
