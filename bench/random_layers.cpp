// Prints random pooling layers of the sizes that networks and images have, one spec a line: layers that
// nobody tuned for, for `pooljit tune`, `pooljit bench --file` and scripts/same-code. The same seed prints
// the same layers.
//   random_layers COUNT [SEED [DTYPE [LAYOUT]]]   without a dtype or layout, those of each layer are drawn
//   too
#include <fmt/format.h>

#include <charconv>
#include <cstdio>
#include <cstring>
#include <optional>
#include <set>

#include "frontend/check.h"
#include "tools/fuzz/draw.h"

namespace {

using pooljit::frontend::Layout;
using pooljit::frontend::PoolSpec;
using pooljit::frontend::SpecDim;
using pooljit::fuzz::Draw;
using pooljit::ir::DType;
using pooljit::ir::Reduction;

constexpr int64_t least_elements = 2'000, most_elements = 6'000'000;
constexpr int64_t most_work = 400'000'000;  // outputs times taps

constexpr int64_t channel_counts[] = {1,   3,   4,   8,   16,  24,  32,  40,  48,   56,   64,  72,  80,
                                      96,  112, 120, 128, 144, 160, 192, 224, 240,  256,  320, 384, 480,
                                      512, 576, 640, 672, 728, 768, 832, 960, 1024, 1280, 2048};
constexpr int64_t extents[] = {4,   5,   6,   7,   8,   10,  12,  13,  14,  15,  16,   17,  19,
                               20,  24,  26,  27,  28,  32,  35,  38,  40,  48,  52,   55,  56,
                               64,  71,  75,  80,  96,  104, 109, 111, 112, 128, 147,  150, 160,
                               192, 208, 224, 240, 256, 300, 320, 416, 512, 640, 1080, 1920};
constexpr DType dtypes[] = {DType::f32, DType::bf16, DType::f16, DType::u8, DType::i8};

template <size_t n, typename T>
T one_of(Draw& draw, const T (&values)[n]) {
  return values[draw.below(n)];
}

// A window as people write them: mostly 2x2 and 3x3, now and then large, a quarter of them padded to keep
// their size.
void draw_window(Draw& draw, SpecDim& dim) {
  constexpr int64_t kernels[] = {2, 2, 2, 3, 3, 3, 3, 3, 4, 5, 5, 7, 9, 11, 13, 15, 21, 31};
  dim.kernel = one_of(draw, kernels);
  dim.stride = draw.one_in(2) ? 1 : draw.one_in(4) ? dim.kernel : 2;
  dim.dilation = draw.one_in(16) ? 2 : 1;
  const int64_t reach = (dim.kernel - 1) * dim.dilation;
  dim.pad_begin = dim.pad_end = draw.one_in(2) ? reach / 2 : 0;
}

PoolSpec draw_layer(Draw& draw, std::optional<DType> dtype, std::optional<Layout> layout) {
  PoolSpec spec;
  constexpr Reduction reductions[] = {Reduction::max, Reduction::max, Reduction::max, Reduction::avg,
                                      Reduction::avg};
  spec.reduction = one_of(draw, reductions);
  spec.count_include_pad = draw.one_in(2);
  spec.return_indices = spec.reduction == Reduction::max && draw.one_in(8);
  spec.dtype = dtype ? *dtype : one_of(draw, dtypes);
  spec.layout = layout ? *layout : draw.one_in(2) ? Layout::nchw : Layout::nhwc;
  spec.batch = draw.one_in(8) ? draw.between(2, 16) : 1;
  spec.channels = one_of(draw, channel_counts);
  const size_t rank = draw.one_in(12) ? 1 : draw.one_in(10) ? 3 : 2;
  const bool adapts = draw.one_in(10), is_global = draw.one_in(12), is_square = !draw.one_in(4);
  for (size_t i = 0; i < rank; ++i) {
    SpecDim dim;
    dim.input = i > 0 && is_square ? spec.dims[0].input : one_of(draw, extents);
    if (i > 0 && is_square) {
      const int64_t input = dim.input;
      dim = spec.dims[0];
      dim.input = input;
    } else if (adapts) {
      dim.adaptive_output = std::min(dim.input, draw.between(1, 7));
    } else if (is_global) {
      dim.kernel = dim.stride = dim.input;
    } else {
      draw_window(draw, dim);
    }
    spec.dims.push_back(dim);
  }
  if (adapts) spec.count_include_pad = true;
  return spec;
}

bool has_real_size(const PoolSpec& spec) {
  int64_t elements = spec.batch.value_or(1) * spec.channels, outputs = elements, taps = 1;
  for (const SpecDim& dim : spec.dims) {
    elements *= dim.input;
    const int64_t output =
        dim.adaptive_output ? dim.adaptive_output : (dim.input + dim.pad_begin + dim.pad_end) / dim.stride;
    outputs *= output;
    taps *= dim.adaptive_output ? dim.input / dim.adaptive_output + 1 : dim.kernel;
    if (elements > most_elements || outputs * taps > most_work) return false;
  }
  return elements >= least_elements;
}

bool parse(const char* text, uint64_t& number) {
  const auto [end, error] = std::from_chars(text, text + std::strlen(text), number);
  return error == std::errc() && *end == '\0';
}

std::optional<Layout> find_layout(std::string_view text) {
  if (text == "nchw") return Layout::nchw;
  if (text == "nhwc") return Layout::nhwc;
  return std::nullopt;
}

std::optional<DType> find_dtype(std::string_view text) {
  for (const DType dtype : dtypes)
    if (pooljit::ir::info(dtype).spec_name == text) return dtype;
  return std::nullopt;
}

}  // namespace

int main(int argc, char** argv) {
  uint64_t count = 0, seed = 1;
  std::optional<DType> dtype;
  std::optional<Layout> layout;
  bool is_right = argc >= 2 && argc <= 5 && parse(argv[1], count);
  if (is_right && argc > 2) is_right = parse(argv[2], seed);
  if (is_right && argc > 3) is_right = (dtype = find_dtype(argv[3])).has_value();
  if (is_right && argc > 4) is_right = (layout = find_layout(argv[4])).has_value();
  if (!is_right) {
    fmt::print(stderr,
               "usage: random_layers COUNT [SEED [float32|bfloat16|float16|uint8|int8 [nchw|nhwc]]]\n");
    return 2;
  }
  Draw draw(static_cast<uint32_t>(seed));
  std::set<std::string> seen;
  while (seen.size() < count) {
    const PoolSpec layer = draw_layer(draw, dtype, layout);
    if (!has_real_size(layer)) continue;
    const auto checked = pooljit::frontend::check_spec(layer);
    if (!checked) continue;
    const std::string text = print(*checked);
    if (seen.insert(text).second) fmt::print("{}\n", text);
  }
}
