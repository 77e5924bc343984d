// oneDNN's benchdnn: knobs, then a problem descriptor.
//   --pool --dir=FWD_I --dt=u8 --tag=nhwc --alg=avg_np mb1ic64_ih112oh56kh3sh2ph1
// The defaults are benchdnn's: FWD_D, f32, nchw, max, mb2. A missing dim is that of the next larger letter, a
// missing output follows from the padding and a missing padding from the output; dilation 0 is a dense
// window; what oh asks for beyond ph is padding at the end. oneDNN's maximum ignores NaN; training keeps the
// winners' places in the window.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>

#include "frontend/dialects.h"
#include "frontend/dialects/arguments.h"
#include "frontend/dialects/benchdnn_post_ops.h"
#include "frontend/geometry.h"
#include "frontend/operators.h"
#include "frontend/rules.h"

namespace pooljit::frontend {

namespace {

constexpr Choosable<Layout> tags[] = {
    {"nchw", Layout::nchw},        {"nhwc", Layout::nhwc},      {"nChw8c", Layout::nchw8c},
    {"nChw16c", Layout::nchw16c},  {"abx", Layout::nchw},       {"axb", Layout::nhwc},
    {"aBx8b", Layout::nchw8c},     {"aBx16b", Layout::nchw16c}, {"ncw", Layout::nchw},
    {"nwc", Layout::nhwc},         {"nCw8c", Layout::nchw8c},   {"nCw16c", Layout::nchw16c},
    {"ncdhw", Layout::nchw},       {"ndhwc", Layout::nhwc},     {"nCdhw8c", Layout::nchw8c},
    {"nCdhw16c", Layout::nchw16c}, {"abc", Layout::nchw},       {"acb", Layout::nhwc},
    {"aBc8b", Layout::nchw8c},     {"aBc16b", Layout::nchw16c}, {"abcd", Layout::nchw},
    {"acdb", Layout::nhwc},        {"aBcd8b", Layout::nchw8c},  {"aBcd16b", Layout::nchw16c},
    {"abcde", Layout::nchw},       {"acdeb", Layout::nhwc},     {"aBcde8b", Layout::nchw8c},
    {"aBcde16b", Layout::nchw16c},
};
enum class Algorithm : uint8_t { max, avg_np, avg_p };
constexpr Choosable<Algorithm> algorithms[] = {
    {"max", Algorithm::max},
    {"avg_np", Algorithm::avg_np},
    {"avg_p", Algorithm::avg_p},
    {"pooling_max", Algorithm::max},
    {"pooling_avg_exclude_padding", Algorithm::avg_np},
    {"pooling_avg_include_padding", Algorithm::avg_p},
};
enum class Direction : uint8_t { training, inference, backward };
constexpr Choosable<Direction> directions[] = {
    {"FWD_D", Direction::training}, {"FWD_I", Direction::inference}, {"BWD_D", Direction::backward}};

// Numbers of one spatial dim; -1: not given.
struct Extents {
  int64_t i = -1, o = -1, k = -1, s = -1, p = -1, d = -1;
  bool is_given() const { return i >= 0 || o >= 0 || k >= 0 || s >= 0 || p >= 0 || d >= 0; }
};
constexpr std::string_view spatial = "dhw";

struct Problem {
  Direction direction = Direction::training;
  Algorithm algorithm = Algorithm::max;
  ir::DType source_dtype = ir::DType::f32, destination_dtype = ir::DType::f32;
  Layout layout = Layout::nchw;
  int64_t mb = -1, descriptor_mb = 2, ic = -1;
  std::array<Extents, 3> extents;  // d, h, w
  bool has_descriptor = false;
  Word post_ops;  // empty: none
};

constexpr int64_t Extents::*members[] = {&Extents::i, &Extents::o, &Extents::k,
                                         &Extents::s, &Extents::p, &Extents::d};
constexpr std::string_view letters = "iokspd";

Broken broke(const Word& word, std::string_view hint = "") {
  return broken(Rule::benchdnn, fmt::format("got {}", quote(word.text, word.at)), hint).value();
}

template <typename T>
Broken choose(const Word& word, std::span<const Choosable<T>> rows, T& result) {
  ArgumentValue value;
  value.text = word.text;
  value.at = word.at;
  return read_choice<T>(value, rows, result);
}

Word rest_of(const Word& word, size_t begin) { return {word.text.substr(begin), word.at + begin}; }

// The number that the text begins with; how many digits it has.
size_t read_digits(std::string_view text, int64_t& number) {
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  return status == std::errc() && number >= 0 ? static_cast<size_t>(end - text.data()) : 0;
}

// Where "mb", "ic" or a letter of `letters` with one of `spatial` is to be put.
int64_t* find_member(std::string_view name, Problem& problem) {
  if (name == "mb") return &problem.descriptor_mb;
  if (name == "ic") return &problem.ic;
  const size_t letter = letters.find(name[0]), dim = spatial.find(name[1]);
  if (letter == std::string_view::npos || dim == std::string_view::npos) return nullptr;
  return &(problem.extents[dim].*members[letter]);
}

Broken read_descriptor(const Word& word, Problem& problem) {
  problem.has_descriptor = true;
  for (size_t next = 0; next < word.text.size();) {
    const Word rest = rest_of(word, next);
    if (rest.text[0] == '_') {
      ++next;
      continue;
    }
    if (rest.text[0] == 'n') return std::nullopt;  // the problem's name
    int64_t* const member = rest.text.size() < 3 ? nullptr : find_member(rest.text.substr(0, 2), problem);
    const size_t digits = member == nullptr ? 0 : read_digits(rest.text.substr(2), *member);
    if (digits == 0) return broke(rest);
    next += 2 + digits;
  }
  return std::nullopt;
}

Broken read_one_dtype(const Word& word, ir::DType& result) {
  const auto dtype = benchdnn_dtype(word.text);
  constexpr std::string_view others[] = {"f8_e5m2", "f8_e4m3", "e8m0", "f4_e2m1",
                                         "f4_e3m0", "s4",      "u4",   "s64"};
  if (std::ranges::find(others, word.text) != std::end(others))
    return broke(Rule::unsupported_dtype, "got {}", quote(word.text, word.at));
  if (!dtype)
    return broken(Rule::value, fmt::format("got {}", quote(word.text, word.at)),
                  "f32, f64, f16, bf16, s8, u8 or s32 expected")
        .value();
  result = *dtype;
  return std::nullopt;
}

// "f32", or source and destination (and what lies between them in benchdnn's other drivers): "u8:f32".
Broken read_dtypes(const Word& word, Problem& problem) {
  const size_t first = std::min(word.text.find(':'), word.text.size()), last = word.text.rfind(':') + 1;
  if (auto error = read_one_dtype({word.text.substr(0, first), word.at}, problem.source_dtype)) return error;
  return read_one_dtype(rest_of(word, last), problem.destination_dtype);
}

Broken read_mb(const Word& word, Problem& problem) {
  int64_t mb = 0;
  if (word.text.empty() || read_digits(word.text, mb) != word.text.size()) return broke(word);
  if (mb != 0) problem.mb = mb;  // 0: that of the descriptor
  return std::nullopt;
}

struct Knob {
  std::string_view name;
  Broken (*read)(const Word&, Problem&);
};
constexpr Knob knobs[] = {
    {"--dir=", [](const Word& w, Problem& p) { return choose<Direction>(w, directions, p.direction); }},
    {"--alg=", [](const Word& w, Problem& p) { return choose<Algorithm>(w, algorithms, p.algorithm); }},
    {"--tag=", [](const Word& w, Problem& p) { return choose<Layout>(w, tags, p.layout); }},
    {"--dt=", read_dtypes},
    {"--cfg=", read_dtypes},
    {"--mb=", read_mb},
    {"--attr-post-ops=",
     [](const Word& w, Problem& p) -> Broken {
       p.post_ops = w;
       return std::nullopt;
     }},
};

// How benchdnn runs and reports, which is nothing of the layer.
constexpr std::string_view of_runs[] = {"--allow-enum-tags-only=",
                                        "--attr-deterministic=",
                                        "--attr-same-pd-check=",
                                        "--attr-scratchpad=",
                                        "--canonical=",
                                        "--check-ref-impl=",
                                        "--cold-cache=",
                                        "--cpu-isa-hints=",
                                        "--ctx-exe=",
                                        "--ctx-init=",
                                        "--engine=",
                                        "--execution-mode=",
                                        "--fast-ref=",
                                        "--fast-ref-gpu=",
                                        "--fix-times-per-prb=",
                                        "--global-impl=",
                                        "--impl=",
                                        "--max-ms-per-prb=",
                                        "--mem-check=",
                                        "--memory-kind=",
                                        "--mode=",
                                        "--mode-modifier=",
                                        "--num-streams=",
                                        "--perf-template=",
                                        "--repeats-per-prb=",
                                        "--skip-impl=",
                                        "--start=",
                                        "--stream-kind=",
                                        "--summary=",
                                        "--verbose=",
                                        "-v"};

Broken read_word(const Word& word, Problem& problem) {
  if (word.text == "--pool" || word.text.ends_with("benchdnn")) return std::nullopt;
  for (const Knob& knob : knobs)
    if (word.text.starts_with(knob.name)) return knob.read(rest_of(word, knob.name.size()), problem);
  if (std::ranges::any_of(of_runs, [&](auto option) { return word.text.starts_with(option); }))
    return std::nullopt;
  if (word.text.starts_with("-") || problem.has_descriptor) return broke(word);
  return read_descriptor(word, problem);
}

// The dims that there are: all from the first letter that is given on; a missing one is as the one before it.
Broken read_dims(const Problem& problem, PoolSpec& spec) {
  const auto first = std::find_if(problem.extents.begin(), problem.extents.end(),
                                  [](const Extents& extents) { return extents.is_given(); });
  for (auto extents = first; extents != problem.extents.end(); ++extents) {
    const Extents& e = extents->is_given() || extents == first ? *extents : extents[-1];
    if (e.i < 0 || e.k < 0)
      return broke(Rule::benchdnn, "got no input or kernel size of '{}'",
                   spatial[static_cast<size_t>(extents - problem.extents.begin())]);
    SpecDim dim{.input = e.i, .kernel = e.k, .stride = e.s < 0 ? 1 : e.s};
    const auto dilation = (Checked(e.d < 0 ? 0 : e.d) + 1).value();
    if (!dilation) return broke(Rule::overflow, "got dilation {}", e.d);
    dim.dilation = *dilation;
    const Checked reach = Checked(dim.dilation) * (Checked(dim.kernel) - 1) + 1;
    const auto total = ((Checked(e.o) - 1) * dim.stride + reach - e.i).value();
    if (!total) return broke(Rule::overflow, "got too large a dim");
    dim.pad_begin = dim.pad_end = e.p >= 0 ? e.p : e.o >= 0 ? std::max(*total / 2, int64_t{0}) : 0;
    if (e.o >= 0 && dim.stride > 0 && output_extent(dim, CeilMode::floor) != e.o)
      dim.pad_end = *total - dim.pad_begin;
    spec.dims.push_back(dim);
  }
  return std::nullopt;
}

ir::Result<PoolSpec> translate(const Problem& problem) {
  PoolSpec spec;
  const bool is_max = problem.algorithm == Algorithm::max;
  spec.reduction = is_max ? ir::Reduction::max : ir::Reduction::avg;
  spec.direction =
      problem.direction == Direction::backward ? ir::Direction::backward : ir::Direction::forward;
  spec.layout = problem.layout;
  spec.batch = problem.mb >= 0 ? problem.mb : problem.descriptor_mb;
  spec.channels = problem.ic;
  spec.count_include_pad = problem.algorithm != Algorithm::avg_np;
  spec.dtype = problem.source_dtype;
  if (problem.destination_dtype != spec.dtype) spec.output_dtype = problem.destination_dtype;
  Broken error;
  if (!problem.post_ops.text.empty()) error = read_post_ops(problem.post_ops, spec);
  if (!error && problem.ic < 0) error = broke(Rule::benchdnn, "got no ic");
  if (!error) error = read_dims(problem, spec);
  if (error) return tl::unexpected<ir::Error>(std::move(*error));
  if (is_max && spec.direction == ir::Direction::forward) spec.nan = ir::NanRule::ignore;
  if (!is_max || problem.direction == Direction::inference) return spec;
  spec.return_indices = spec.direction == ir::Direction::forward;
  spec.index_scope = ir::IndexScope::window;
  Checked taps = 1;
  for (const SpecDim& dim : spec.dims) taps = taps * dim.kernel;
  spec.index_dtype = taps.value().value_or(256) <= 255 ? ir::DType::u8 : ir::DType::i32;
  return spec;
}

tl::unexpected<ir::Error> no_words_for_epilogue(const PoolSpec& spec) {
  return broken(Rule::dialect, fmt::format("benchdnn has no words for epilogue of {}", print(spec)));
}

// "_kh3kw3".
void print_numbers(Printer& out, const PoolSpec& spec, std::string_view letter,
                   const std::function<int64_t(const SpecDim&)>& number) {
  const size_t first = spatial.size() - spec.dims.size();
  out.text("_");
  for (size_t i = 0; i < spec.dims.size(); ++i)
    out.text(letter).text(spatial.substr(first + i, 1)).number(number(spec.dims[i]));
}

}  // namespace

ir::Result<PoolSpec> parse_benchdnn(std::string_view text) {
  if (text.size() > 65536) return broken(Rule::length, fmt::format("got {}", text.size()));
  Problem problem;
  constexpr std::string_view blanks = " \t\r\n";
  const size_t first = text.find_first_not_of(blanks);  // positions count from here
  for (size_t begin = first; begin != std::string_view::npos;) {
    const size_t end = std::min(text.find_first_of(blanks, begin), text.size());
    if (auto error = read_word({text.substr(begin, end - begin), begin - first + 1}, problem))
      return tl::unexpected<ir::Error>(std::move(*error));
    begin = text.find_first_not_of(blanks, end);
  }
  return translate(problem);
}

ir::Result<std::string> print_benchdnn(const PoolSpec& spec) {
  const bool is_max = spec.reduction == ir::Reduction::max, is_avg = spec.reduction == ir::Reduction::avg;
  const std::string_view source = benchdnn_dtype_name(spec.dtype),
                         destination = benchdnn_dtype_name(output_dtype(spec));
  if ((!is_max && !is_avg) || is_adaptive(spec) || is_unpool(spec)) return no_operator("benchdnn", spec);
  const bool is_backward = spec.direction == ir::Direction::backward;
  const auto algorithm = is_max                   ? Algorithm::max
                         : spec.count_include_pad ? Algorithm::avg_p
                                                  : Algorithm::avg_np;
  const auto direction = is_backward                     ? Direction::backward
                         : is_avg || spec.return_indices ? Direction::training
                                                         : Direction::inference;
  Printer out;
  out.text("--pool --dir=").text(name_of_choice<Direction>(directions, direction));
  out.text(" --dt=").text(source);
  if (spec.output_dtype) out.text(":").text(destination);
  out.text(" --tag=").text(name_of_choice<Layout>(tags, spec.layout));
  out.text(" --alg=").text(name_of_choice<Algorithm>(algorithms, algorithm));
  if (!print_post_ops(out, spec)) return no_words_for_epilogue(spec);
  out.text(" mb").number(spec.batch.value_or(1)).text("ic").number(spec.channels);
  print_numbers(out, spec, "i", [](const SpecDim& dim) { return dim.input; });
  print_numbers(out, spec, "o", [&](const SpecDim& dim) { return *output_extent(dim, spec.ceil_mode); });
  print_numbers(out, spec, "k", [](const SpecDim& dim) { return dim.kernel; });
  print_numbers(out, spec, "s", [](const SpecDim& dim) { return dim.stride; });
  print_numbers(out, spec, "p", [](const SpecDim& dim) { return dim.pad_begin; });
  print_numbers(out, spec, "d", [](const SpecDim& dim) { return dim.dilation - 1; });
  return out.result();
}

}  // namespace pooljit::frontend
