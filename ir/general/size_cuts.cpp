#include "ir/general/size_cuts.h"

#include <algorithm>
#include <iterator>

#include "ir/schedules/lanes/row_tiles.h"
#include "ir/schedules/windows/divisors.h"
#include "ir/schedules/windows/stretch.h"

namespace pooljit::ir {

Interior alike_of_gather(const PoolNest& sized, const NestDim& gather) {
  const NestDim forward = forward_of(gather);
  return outputs_of(runs(forward),
                    [&](const Run& run) { return divisor_taps(sized, run.window) == forward.kernel; });
}

bool takes_among(const Run& run, const Interior& taps) {
  if (run.window.taps == 0) return true;
  const int64_t beyond = run.end - run.begin + (run.window.taps - 1) * run.window.step;
  return run.window.first >= taps.begin && run.window.first + beyond <= taps.end;
}

std::vector<Run> cut_at(const std::vector<Run>& all, const Interior& taps) {
  std::vector<Run> cut;
  for (const Run& run : all) {
    const int64_t beyond = (std::max<int64_t>(run.window.taps, 1) - 1) * run.window.step;
    const int64_t from = std::clamp(run.begin + taps.begin - run.window.first, run.begin, run.end);
    const int64_t to = std::clamp(run.begin + taps.end - beyond - run.window.first, from, run.end);
    const int64_t ends[] = {run.begin, from, to, run.end};
    for (size_t i = 0; i + 1 < std::size(ends); ++i) {
      if (ends[i] == ends[i + 1]) continue;
      Run& piece = cut.emplace_back(run);
      piece.begin = ends[i], piece.end = ends[i + 1];
      if (run.window.taps > 0) piece.window.first += ends[i] - run.begin;
    }
  }
  return cut;
}

TileCut cut_tiles(int64_t places, Interior masked, Interior whole) {
  TileCut cut;
  cut.before = ceil_div(whole.begin - masked.begin, places);
  cut.inside_begin = masked.begin + cut.before * places;
  cut.inside = std::max<int64_t>(0, (whole.end - cut.inside_begin) / places);
  const int64_t left = masked.end - cut.inside_begin - cut.inside * places;
  if (left > 0 && whole.end == masked.end && whole.end - places >= whole.begin) {
    cut.last = 1;
    return cut;
  }
  if (cut.inside == 0) cut.before = 0, cut.inside_begin = masked.begin;
  cut.behind = ceil_div(masked.end - cut.inside_begin - cut.inside * places, places);
  return cut;
}

Interior places_of_gather(const NestDim& dim) {
  return {dim.pad_begin / dim.stride, ceil_div(dim.output + dim.pad_begin, dim.stride)};
}

Interior whole_places_of_gather(const NestDim& dim, const Interior& taps) {
  const NestDim period = one_period(dim);
  int64_t first = 0, last = 0;  // positions of taps, from the period's own on
  for (int64_t phase = 0; phase < dim.stride; ++phase) {
    const Window window = period.whole_window(phase);
    if (window.taps == 0) continue;
    first = std::min(first, window.first);
    last = std::max(last, window.first + (window.taps - 1) * window.step);
  }
  return {std::max(taps.begin - first, ceil_div(dim.pad_begin, dim.stride)),
          std::min(taps.end - last, (dim.output + dim.pad_begin) / dim.stride)};
}

}  // namespace pooljit::ir
