// All windows follow from series: those of one phase move by a constant from period to period, and a limit of
// the image cuts them by a count of taps. Adaptive dimensions whose sizes have no common divisor are one
// period long, or rather: their outputs are told apart one by one.
#include "ir/windows.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace pooljit::ir {

namespace {

__extension__ using Wide = __int128;  // products of two extents

// Floor and ceiling that hold for negative dividends too; C++ division truncates.
int64_t ceil_div(int64_t dividend, int64_t divisor) {
  return dividend / divisor + (dividend % divisor > 0 ? 1 : 0);
}
int64_t floor_div(int64_t dividend, int64_t divisor) {
  return dividend / divisor - (dividend % divisor < 0 ? 1 : 0);
}

// The windows of one phase as if the image had no end: in period p the taps are at start + p * shift + j *
// step.
struct Series {
  int64_t start = 0, shift = 1, step = 1;
  int64_t taps = 0;
  int64_t first_tap = 0;  // number of the first one
  int64_t periods = 0;    // that have an output of this phase
  int64_t alive = 0;      // periods before this one have windows, the others have none: backward, a crop
};

// floor(a * n / o) without overflow.
int64_t adaptive_begin(const NestDim& dim, int64_t output) {
  const auto product = static_cast<Wide>(output) * dim.input;
  return static_cast<int64_t>(product / dim.output);
}
int64_t adaptive_end(const NestDim& dim, int64_t output) {
  const auto product = static_cast<Wide>(output + 1) * dim.input;
  return static_cast<int64_t>((product + dim.output - 1) / dim.output);
}

// x with a * x = gcd(a, m) modulo m, in 0 .. m-1.
int64_t inverse(int64_t a, int64_t m) {
  int64_t old_rest = a % m, rest = m, old_x = 1, x = 0;
  while (rest != 0) {
    const int64_t quotient = old_rest / rest;
    old_rest = std::exchange(rest, old_rest - quotient * rest);
    old_x = std::exchange(x, old_x - quotient * x);
  }
  return (old_x % m + m) % m;
}

// Tap t of forward window a lies at a * stride - pad_begin + t * dilation; solved for the a of position
// `phase`, whose t are tap_step of the forward's outputs apart.
Series gather_series(const NestDim& dim, int64_t phase) {
  const int64_t common = std::gcd(dim.stride, dim.dilation), apart = dim.stride / common;
  const int64_t from_pad = phase + dim.pad_begin;
  Series series{.start = 0, .shift = 1, .step = dim.dilation / common, .periods = 0};
  series.periods = ceil_div(dim.output - phase, dim.stride);
  const int64_t visible = dim.pad_end < 0 ? dim.output + dim.pad_end : dim.output;
  series.alive = std::clamp(ceil_div(visible - phase, dim.stride), int64_t{0}, series.periods);
  if (from_pad % common != 0) return series;
  const auto solved = static_cast<Wide>(from_pad / common % apart) *
                      inverse(dim.dilation / common, std::max<int64_t>(apart, 1));
  const int64_t lowest = static_cast<int64_t>(solved % apart);
  if (lowest >= dim.kernel) return series;
  series.taps = (dim.kernel - 1 - lowest) / apart + 1;
  series.first_tap = lowest + (series.taps - 1) * apart;
  series.start = (from_pad - series.first_tap * dim.dilation) / dim.stride;
  return series;
}

Series series_of(const NestDim& dim, int64_t phase) {
  switch (dim.kind) {
    case DimKind::pool:
      return {-dim.pad_begin, dim.stride, dim.dilation, dim.kernel, 0, dim.output, dim.output};
    case DimKind::adaptive: {
      const int64_t begin = adaptive_begin(dim, phase), periods = dim.periods();
      return {begin, dim.period().input, 1, adaptive_end(dim, phase) - begin, 0, periods, periods};
    }
    case DimKind::gather:
      return gather_series(dim, phase);
    case DimKind::pixels: {
      const int64_t periods = dim.periods();
      return {phase - dim.pad_begin, dim.stride, dim.dilation, dim.kernel, 0, periods, periods};
    }
  }
  return {};
}

// The three limits that cut a window: where the image begins, where it ends, where its padding ends.
struct Limits {
  int64_t begin = 0, visible, padded;
};
Limits limits(const NestDim& dim) {
  if (!dim.is_forward()) return {.visible = dim.input, .padded = dim.input};
  return {.visible = dim.visible_input(), .padded = dim.input + dim.pad_end};
}

// How many taps of the window lie before `limit`. Never grows with the period.
int64_t taps_before(const Series& series, int64_t period, int64_t limit) {
  const int64_t start = series.start + period * series.shift;
  return std::clamp(ceil_div(limit - start, series.step), int64_t{0}, series.taps);
}

// The first period that has fewer taps before `limit` than `period` has; series.periods if there is none.
int64_t next_change(const Series& series, int64_t period, int64_t limit) {
  const int64_t taps = taps_before(series, period, limit);
  if (taps == 0 || series.shift == 0) return series.periods;
  return ceil_div(limit - series.start - (taps - 1) * series.step, series.shift);
}

Window clip(const NestDim& dim, const Series& series, int64_t period) {
  const Limits limit = limits(dim);
  Window window;
  window.step = series.step;
  if (period >= series.alive) return window;
  const int64_t before = taps_before(series, period, limit.begin);
  window.taps = std::max(taps_before(series, period, limit.visible) - before, int64_t{0});
  window.padded_taps = dim.is_forward() ? taps_before(series, period, limit.padded) : window.taps;
  if (window.taps == 0) return window;  // first and first_tap stay 0, so that empty windows compare equal
  window.first_tap = series.first_tap + before * dim.tap_number_step();
  window.first = series.start + period * series.shift + before * series.step;
  return window;
}

bool same_taps(const Window& a, const Window& b) {
  return a.first_tap == b.first_tap && a.taps == b.taps && a.padded_taps == b.padded_taps;
}

// Where the windows from `period` on have other taps.
int64_t end_of_run(const NestDim& dim, const Series& series, int64_t period) {
  const Limits limit = limits(dim);
  const int64_t end =
      std::min({series.periods, next_change(series, period, limit.begin),
                next_change(series, period, limit.visible), next_change(series, period, limit.padded)});
  return period < series.alive ? std::min(end, series.alive) : end;
}

std::vector<Run> runs_of_phase(const NestDim& dim, int64_t phase) {
  constexpr size_t usual = 3;  // a border, the middle, a border
  constexpr size_t few = 64;   // more are counted before they are kept
  const Series series = series_of(dim, phase);
  std::vector<Run> result;
  result.reserve(usual);
  bool is_counted = false;
  for (int64_t period = 0; period < series.periods;) {
    if (result.size() == few && !is_counted) {  // a vector that doubles would take several times as much
      is_counted = true;
      size_t more = 0;
      for (int64_t at = period; at < series.periods; at = end_of_run(dim, series, at)) ++more;
      result.reserve(few + more);
    }
    const int64_t end = end_of_run(dim, series, period);
    const Window window = clip(dim, series, period);
    // Where no tap is left, a change of the counts may be none of the window.
    if (!result.empty() && same_taps(result.back().window, window))
      result.back().end = end;
    else
      result.push_back({period, end, window, phase, 1});
    period = end;
  }
  return result;
}

// Adds the runs of one more phase to those of the phases before it: where all are alike, as wider runs.
void join(std::vector<Run>& all, const std::vector<Run>& phase, int64_t tap_step) {
  const bool fits = all.size() >= phase.size() && [&] {
    const Run* before = &all[all.size() - phase.size()];
    for (const Run& run : phase) {
      Window expected = before->window;
      if (expected.taps > 0) expected.first_tap += before->phases * tap_step;
      if (before->phase + before->phases != run.phase || before->begin != run.begin ||
          before->end != run.end || !(expected == run.window))
        return false;
      ++before;
    }
    return true;
  }();
  if (!fits) {
    all.insert(all.end(), phase.begin(), phase.end());
    return;
  }
  for (size_t i = all.size() - phase.size(); i < all.size(); ++i) ++all[i].phases;
}

// Adaptive sizes without a common divisor.
bool is_irregular(const NestDim& dim) {
  return dim.kind == DimKind::adaptive && std::gcd(dim.input, dim.output) == 1;
}

std::vector<Run> irregular_runs(const NestDim& dim) {
  std::vector<Run> result;
  for (int64_t output = 0; output < dim.output; ++output) {
    const Window window = dim.window(output);
    const Run* last = result.empty() ? nullptr : &result.back();
    if (last && same_taps(last->window, window) &&
        window.first == last->window.first + (output - last->begin) * dim.period().input)
      ++result.back().end;
    else
      result.push_back({output, output + 1, window, 0, 1});
  }
  return result;
}

Interior gather_interior(const NestDim& dim) {
  const auto is_whole = [&](int64_t output) {
    const Period period = dim.period();
    const Series series = series_of(dim, output % period.output);
    return output / period.output < series.alive && dim.window(output).taps == series.taps;
  };
  int64_t begin = 0, end = dim.output;  // in periods at first
  for (int64_t phase = 0; phase < std::min(dim.stride, dim.output); ++phase) {
    const Series series = series_of(dim, phase);
    end = std::min(end, series.alive);
    if (series.taps == 0) continue;
    begin = std::max(begin, -series.start);
    end = std::min(end, dim.input - series.start - (series.taps - 1) * series.step);
  }
  begin = std::min(begin, ceil_div(dim.output, dim.stride)) * dim.stride;
  end = std::max(std::min(end * dim.stride, dim.output), begin);
  if (begin == end) return {};
  while (begin > 0 && is_whole(begin - 1)) --begin;
  while (end < dim.output && is_whole(end)) ++end;
  return {begin, end};
}

// What most windows of an irregular adaptive dimension move by: the quotient, or one more, which `larger` of
// its steps are.
int64_t usual_step(int64_t input, int64_t output) {
  const int64_t step = input / output, larger = input % output - 1;
  return step > 0 && 2 * larger > output - 1 ? step + 1 : step;
}

}  // namespace

Period NestDim::period() const {
  switch (kind) {
    case DimKind::pool:
      return {1, stride};
    case DimKind::adaptive: {
      const int64_t common = std::gcd(input, output);
      if (common == 1) return {1, usual_step(input, output)};
      return {output / common, input / common};
    }
    case DimKind::gather:
      return {stride, 1};
    case DimKind::pixels:
      return {pixel, stride};
  }
  return {};
}

int64_t NestDim::periods() const { return ceil_div(output, period().output); }

int64_t NestDim::tap_step() const {
  if (kind == DimKind::adaptive) return 1;
  return kind == DimKind::gather ? dilation / std::gcd(stride, dilation) : dilation;
}

int64_t NestDim::tap_number_step() const {
  return kind == DimKind::gather ? -(stride / std::gcd(stride, dilation)) : 1;
}

int64_t NestDim::most_taps() const {
  if (is_forward()) return kernel;
  if (kind == DimKind::gather) return std::min(input, unclipped_taps());
  return std::min(input, ceil_div(input - 1, output) + 1);
}

int64_t NestDim::unclipped_taps() const {
  return kind == DimKind::gather ? (kernel - 1) / -tap_number_step() + 1 : kernel;
}

Window NestDim::window(int64_t output_position) const {
  if (is_irregular(*this)) {
    const int64_t begin = adaptive_begin(*this, output_position);
    const int64_t taps = adaptive_end(*this, output_position) - begin;
    return {begin, taps, 1, 0, taps};
  }
  const int64_t phases = period().output;
  return clip(*this, series_of(*this, output_position % phases), output_position / phases);
}

Window NestDim::whole_window(int64_t output_position) const {
  if (kind == DimKind::adaptive) return window(output_position);
  const int64_t phases = period().output, number = output_position / phases;
  const Series series = series_of(*this, output_position % phases);
  if (number >= series.alive) return {.step = series.step};
  return {series.start + number * series.shift, series.taps, series.step, series.first_tap, series.taps};
}

NestDim forward_of(const NestDim& gather) {
  NestDim forward = gather;
  std::swap(forward.input, forward.output);
  forward.kind = gather.kind == DimKind::gather ? DimKind::pool : gather.kind;
  return forward;
}

std::vector<Run> runs(const NestDim& dim) {
  if (is_irregular(dim)) return irregular_runs(dim);
  std::vector<Run> all = runs_of_phase(dim, 0);
  const int64_t tap_step = tap_of_phase(dim);
  for (int64_t phase = 1; phase < std::min(dim.period().output, dim.output); ++phase)
    join(all, runs_of_phase(dim, phase), tap_step);
  return all;
}

int64_t tap_of_phase(const NestDim& dim) { return dim.kind == DimKind::gather && dim.dilation == 1 ? 1 : 0; }

int64_t usual_taps(const NestDim& dim, const std::vector<Run>& runs) {
  const auto is_whole = [&](const Run& run) { return run.window.taps == dim.kernel; };
  if (dim.kind == DimKind::pool && std::any_of(runs.begin(), runs.end(), is_whole)) return dim.kernel;
  std::map<int64_t, int64_t> outputs;  // by taps
  for (const Run& run : runs) outputs[run.window.taps] += run.outputs();
  outputs.erase(0);
  if (outputs.empty()) return 1;
  return std::max_element(outputs.begin(), outputs.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

Interior interior(const NestDim& dim) {
  if (dim.kind == DimKind::adaptive) return {0, dim.output};
  if (dim.kind == DimKind::gather) return gather_interior(dim);
  const int64_t extent = dim.dilation * (dim.kernel - 1) + dim.pixel;
  const int64_t first = ceil_div(dim.pad_begin, dim.stride) * dim.pixel;
  const int64_t last = floor_div(dim.visible_input() - extent + dim.pad_begin, dim.stride) * dim.pixel;
  const int64_t begin = std::clamp(first, int64_t{0}, dim.output);
  return {begin, std::clamp(last + dim.pixel, begin, dim.output)};
}

bool has_borders(const NestDim& dim) {
  const Interior inside = interior(dim);
  return inside.begin > 0 || inside.end < dim.output;
}

}  // namespace pooljit::ir
