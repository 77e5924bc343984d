#include "tools/fuzz/shrink.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <set>
#include <span>

#include "frontend/check.h"
#include "frontend/pool_spec.h"
#include "ir/dtype.h"
#include "lab/check_case.h"
#include "lab/elements.h"

namespace pooljit::fuzz {
namespace {

using Clock = std::chrono::steady_clock;

std::string without(const std::string& text, size_t begin, size_t end) {
  return text.substr(0, begin) + text.substr(end);
}

// "f(a, b=[1,2], c=3)" without one of the arguments behind the first.
void drop_arguments(const std::string& text, std::vector<std::string>& found) {
  const size_t open = text.find('('), close = text.rfind(')');
  if (open == std::string::npos || close == std::string::npos) return;
  int depth = 0;
  std::vector<size_t> commas;
  for (size_t i = open + 1; i < close; ++i) {
    depth += text[i] == '[' || text[i] == '(' ? 1 : text[i] == ']' || text[i] == ')' ? -1 : 0;
    if (depth == 0 && text[i] == ',') commas.push_back(i);
  }
  commas.push_back(close);
  for (size_t i = 0; i + 1 < commas.size(); ++i) found.push_back(without(text, commas[i], commas[i + 1]));
}

// ":nhwc" behind the dims.
void drop_layout(const std::string& text, std::vector<std::string>& found) {
  const size_t begin = text.find("]:");
  if (begin != std::string::npos)
    found.push_back(without(text, begin + 1, text.find_first_of(",)", begin + 1)));
}

void simplify_dtype(const std::string& text, std::vector<std::string>& found) {
  const size_t begin = text.find('(') + 1, end = text.find('[');
  if (begin == 0 || end == std::string::npos || end < begin) return;
  for (const ir::DType dtype : {ir::DType::u8, ir::DType::f32}) {
    std::string simpler = text;
    simpler.replace(begin, end - begin, info(dtype).spec_name);
    found.push_back(std::move(simpler));
  }
}

bool is_of_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.'; }

// Whole numbers; not those in words, nor the digits of a fraction.
void lower_numbers(const std::string& text, std::vector<std::string>& found) {
  for (size_t begin = 0; begin < text.size(); ++begin) {
    if (!is_of_word(text[begin])) continue;
    size_t end = begin;
    while (end < text.size() && is_of_word(text[end])) ++end;
    int64_t number = 0;
    const auto [stop, error] = std::from_chars(&text[begin], text.data() + end, number);
    const bool is_number = error == std::errc() && stop == text.data() + end;
    std::set<int64_t> lower = {0, 1, number / 4, number / 2, number - number / 4, number - 1};
    for (const int64_t value : lower) {
      if (!is_number || value < 0 || value >= number) continue;
      std::string simpler = text;
      simpler.replace(begin, end - begin, std::to_string(value));
      found.push_back(std::move(simpler));
    }
    begin = end;
  }
}

// The spec with that change of each pool, packed; none where it is no spec.
std::optional<frontend::PoolSpec> changed(frontend::PoolSpec spec,
                                          const std::function<void(frontend::PoolSpec&)>& change) {
  spec.output_strides.clear();
  for (frontend::PoolSpec& pool : pools_of(spec)) {
    change(pool);
    pool.strides.clear();
    pool.output_strides.clear();
  }
  share_input(spec);
  auto checked = frontend::check_spec(std::move(spec));
  return checked ? std::optional(std::move(*checked)) : std::nullopt;
}

// The spec with one spatial dimension less, and without a batch.
void drop_extents(const std::string& text, std::vector<std::string>& found) {
  const auto spec = frontend::parse_spec(text);
  if (!spec) return;
  for (size_t d = 0; d < spec->dims.size() && spec->dims.size() > 1; ++d)
    if (const auto simpler = changed(*spec, [&](frontend::PoolSpec& pool) {
          pool.dims.erase(pool.dims.begin() + static_cast<std::ptrdiff_t>(d));
        }))
      found.push_back(print(*simpler));
  if (!spec->batch) return;
  if (const auto simpler = changed(*spec, [](frontend::PoolSpec& pool) { pool.batch.reset(); }))
    found.push_back(print(*simpler));
}

int64_t element_count(std::span<const int64_t> shape) {
  int64_t count = 1;
  for (const int64_t extent : shape) count *= extent;
  return count;
}

class Shrinker {
 public:
  Shrinker(FuzzCase failing, const std::function<bool(const FuzzCase&)>& fails, const ShrinkLimits& limits)
      : best_(std::move(failing)), fails_(fails), tries_(limits.tries), end_(Clock::now() + limits.time) {}

  FuzzCase run() {
    shrink_texts();
    choose_data();
    accept(&FuzzCase::before, "");
    accept(&FuzzCase::general, false);
    if (list_elements())
      for (FuzzCase before; before != best_ && !is_over();) {
        before = best_;
        while (drop_slice()) {
        }
        shrink_elements();
        shrink_texts();
      }
    accept(&FuzzCase::seed, 1);
    return best_;
  }

 private:
  bool is_over() const { return tries_ <= 0 || Clock::now() >= end_; }

  bool accept(const FuzzCase& candidate) {
    if (candidate == best_ || is_over()) return false;
    --tries_;
    if (!fails_(candidate)) return false;
    best_ = candidate;
    return true;
  }
  template <typename T>
  bool accept(T FuzzCase::*field, const std::type_identity_t<T>& value) {
    FuzzCase candidate = best_;
    candidate.*field = value;
    return accept(candidate);
  }

  // Until no simpler spec or schedule fails.
  void shrink_texts() {
    bool is_better = true;
    while (is_better && !is_over()) {
      is_better = false;
      while (accept_simpler_spec()) is_better = true;
      while (accept_first(&FuzzCase::schedule, simpler_texts(best_.schedule))) is_better = true;
    }
  }

  bool accept_simpler_spec() {
    std::vector<std::string> texts, meant;
    drop_extents(best_.spec, texts);
    for (std::string& text : simpler_texts(best_.spec)) texts.push_back(std::move(text));
    for (const std::string& text : texts)
      if (const auto spec = frontend::parse_spec(text)) meant.push_back(print(*spec));
    return accept_first(&FuzzCase::spec, meant);
  }

  bool accept_first(std::string FuzzCase::*field, const std::vector<std::string>& candidates) {
    for (const std::string& text : candidates) {
      FuzzCase candidate = best_;
      candidate.*field = text;
      if (seen_.insert(nlohmann::json(candidate).dump()).second && accept(candidate)) return true;
    }
    return false;
  }

  // One kind in place of all.
  void choose_data() {
    if (!best_.data.empty()) return;
    const auto spec = frontend::parse_spec(best_.spec);
    if (!spec) return;
    const ir::PoolNest nest = make_nest(*spec);
    for (const ir::PoolNest& pool : pools_of(nest))
      for (const runtime::DataKind kind : runtime::data_kinds(pool))
        if (accept(&FuzzCase::data, std::string(name(kind)))) return;
  }

  // The elements that the kind of data has, if they are few enough to be listed and still fail.
  bool list_elements() {
    constexpr int64_t most_listed = 1024;
    const auto spec = frontend::parse_spec(best_.spec);
    const auto kind = runtime::find_data_kind(best_.data);
    if (!spec || !kind) return false;
    const ir::PoolNest nest = make_nest(*spec);
    const int64_t batch = std::max<int64_t>(spec->batch.value_or(1), 1);
    if (runtime::input_view(nest, batch).element_count() > most_listed) return false;
    return std::ranges::any_of(pools_of(nest), [&](const ir::PoolNest& pool) {
      const std::span<const runtime::DataKind> kinds = runtime::data_kinds(pool);
      const auto number = static_cast<uint64_t>(std::ranges::find(kinds, *kind) - kinds.begin());
      const auto made = runtime::Case::make(pool, *kind, batch, best_.seed * 1000 + number);
      if (!made) return false;
      const auto& input = made->input;
      return accept(&FuzzCase::data, print_elements(input.view, pool.input.dtype, input.at[0].bytes()));
    });
  }

  // The input without some of its images, channels, rows or columns, and the elements that lay in them.
  bool drop_slice() {
    const auto spec = frontend::parse_spec(best_.spec);
    if (!spec || runtime::find_data_kind(best_.data)) return false;
    const std::vector<std::string> words = words_of_data();
    const std::vector<int64_t> shape = input_shape(*spec);
    if (std::ssize(words) != element_count(shape)) return false;
    for (size_t axis = 0; axis < shape.size(); ++axis)
      for (int64_t count = shape[axis] / 2; count > 0; count /= 2)
        for (int64_t at = 0; at + count <= shape[axis]; at += count)
          if (accept_without(*spec, words, axis, at, count)) return true;
    return false;
  }

  bool accept_without(const frontend::PoolSpec& spec, const std::vector<std::string>& words, size_t axis,
                      int64_t at, int64_t count) {
    const std::vector<int64_t> shape = input_shape(spec);
    const size_t of_batch = spec.batch ? 1 : 0;
    const auto simpler = changed(spec, [&](frontend::PoolSpec& pool) {
      int64_t& extent = axis < of_batch    ? *pool.batch
                        : axis == of_batch ? pool.channels
                                           : pool.dims[axis - of_batch - 1].input;
      extent -= count;
    });
    if (!simpler) return false;
    const int64_t behind = element_count(std::span(shape).subspan(axis + 1));
    std::vector<std::string> left;
    for (size_t i = 0; i < words.size(); ++i) {
      const int64_t position = static_cast<int64_t>(i) / behind % shape[axis];
      if (position < at || position >= at + count) left.push_back(words[i]);
    }
    FuzzCase candidate = best_;
    candidate.spec = print(*simpler);
    candidate.data = fmt::format("{}", fmt::join(left, " "));
    return accept(candidate);
  }

  std::vector<std::string> words_of_data() const {
    std::vector<std::string> words;
    for (size_t at = 0; at < best_.data.size();) {
      const size_t end = std::min(best_.data.find(' ', at), best_.data.size());
      words.push_back(best_.data.substr(at, end - at));
      at = end + 1;
    }
    return words;
  }

  // Fewer elements, then zeros in place of runs of them, then ones in place of what is left.
  void shrink_elements() {
    std::vector<std::string> words;
    const auto read = [&] { words = words_of_data(); };
    const auto accept_words = [&](const std::vector<std::string>& candidate) {
      return accept(&FuzzCase::data, fmt::format("{}", fmt::join(candidate, " ")));
    };
    for (read(); words.size() > 1; read()) {
      words.resize(words.size() - std::max<size_t>(words.size() / 4, 1));
      if (!accept_words(words)) break;
    }
    for (const char* simple : {"0", "1"})
      for (size_t run = (read(), words.size()); run > 0; run /= 2)
        for (size_t at = 0; at < words.size(); at += run) {
          std::vector<std::string> candidate = words;
          for (size_t i = at; i < std::min(at + run, words.size()); ++i)
            if (candidate[i] != "0") candidate[i] = simple;
          if (accept_words(candidate)) words = candidate;
        }
  }

  FuzzCase best_;
  const std::function<bool(const FuzzCase&)>& fails_;
  int64_t tries_;
  Clock::time_point end_;
  std::set<std::string> seen_;  // none is tried twice, so that no two of them take turns
};

}  // namespace

std::vector<std::string> simpler_texts(const std::string& text) {
  std::vector<std::string> found;
  drop_arguments(text, found);
  drop_layout(text, found);
  simplify_dtype(text, found);
  lower_numbers(text, found);
  return found;
}

FuzzCase shrink(FuzzCase failing, const std::function<bool(const FuzzCase&)>& fails,
                const ShrinkLimits& limits) {
  return Shrinker(std::move(failing), fails, limits).run();
}

}  // namespace pooljit::fuzz
