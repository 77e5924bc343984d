#include "runtime/proof/size_kinds.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "ir/general/general.h"
#include "ir/general/size_words.h"
#include "ir/isa.h"
#include "ir/schedules/families/separable_layout.h"
#include "ir/schedules/lowering/narrow_rows.h"
#include "ir/schedules/lowering/pieces.h"
#include "ir/schedules/lowering/size_layout.h"

namespace pooljit::runtime {
namespace {

// Taps of windows that follow the extent, by what loops over them tell apart.
int64_t kind_of_taps(int64_t taps) {
  if (taps <= most_taps_apart) return taps;
  const auto width = static_cast<int64_t>(std::bit_width(static_cast<uint64_t>(taps)));
  return most_taps_apart + 2 * width + taps % 2;
}

}  // namespace

int64_t kind_of_count(int64_t count, int64_t together) {
  const int64_t times = std::min(count / together, most_times), rest = count % together;
  if (times == most_times && together > together_of_channels) return times * (together + 1) + (rest > 0);
  const bool is_edge = rest <= 2 || rest == together / 2 || rest == together - 1;
  return times * (together + 1) + (is_edge ? rest : together);
}

SizeKind kind_of(const ir::NestDim& dim, bool follows, int64_t together) {
  SizeKind kind = {{-1, 0, kind_of_count(dim.output, together)}};
  for (const ir::Run& run : runs(dim)) {
    if (follows)
      kind.insert({kind_of_taps(run.window.taps), 0, 0});
    else
      kind.insert({run.window.taps, run.window.first_tap, kind_of_count(run.outputs(), together)});
  }
  if (dim.kind != ir::DimKind::gather) return kind;
  // The divisors of gradients.
  for (const ir::Run& run : runs(forward_of(dim))) kind.insert({-3, run.window.padded_taps, run.window.taps});
  return kind;
}

size_t count_windows(const SizeKind& kind) {
  std::set<std::pair<int64_t, int64_t>> windows;
  for (const auto& [taps, first_tap, count] : kind) windows.emplace(taps, first_tap);
  return windows.size();
}

SizeKind::value_type way_of_rows(const ir::PoolNest& sized, const ir::Schedule& schedule) {
  int64_t taken = 0;
  for (const ir::IsaInfo& isa : ir::isa_table)
    taken = 2 * taken + ir::NarrowRows::take(sized, schedule, isa.isa);
  return {-2, ir::NarrowRows::vectors(sized, schedule.lanes), taken};
}

SizeKind kinds_of_tiles(const ir::PoolNest& sized, int lanes) {
  using ir::SizeLayout;
  const auto general = ir::general_nest(sized, ir::Extents::any);
  const auto words = general.and_then([&](const ir::PoolNest& any) { return ir::size_words(any, sized); });
  if (!words) return {};
  const SizeLayout layout(*general);
  const auto word = [&](int number) { return (*words)[static_cast<size_t>(number)]; };
  const ir::NestDim& row = sized.dims.back();
  const int64_t whole =
      word(layout.column(SizeLayout::whole_end)) - word(layout.column(SizeLayout::whole_begin));
  SizeKind kinds = {{-4, -1, std::min(std::max<int64_t>(row.output - whole * row.stride, 0), most_times)}};
  for (const auto field : {SizeLayout::before, SizeLayout::inside, SizeLayout::last, SizeLayout::behind})
    kinds.insert({-4, field, std::min(word(layout.tiles(lanes, field)), most_times)});
  return kinds;
}

int64_t kind_of_pieces(const ir::NestDim& dim, int64_t length) {
  const int64_t outputs = ir::even_piece(dim.output, length), pieces = ir::ceil_div(dim.output, outputs);
  const int64_t last = dim.output - (pieces - 1) * outputs;
  const bool are_alike = ir::ceil_div(outputs, dim.kernel) == ir::ceil_div(last, dim.kernel);
  return 2 * std::min<int64_t>(pieces, 2) + are_alike;
}

SizeKind kinds_of_stretches(const ir::PoolNest& sized, int64_t lanes) {
  const ir::NestDim& row = sized.dims.back();
  SizeKind kinds;
  for (int64_t begin = 0, end = 0; begin < row.output; begin = end) {
    const ir::Window window = row.window(begin);
    const auto is_alike = [&](const ir::Window& other) {
      return other.first == window.first && other.taps == window.taps;
    };
    for (end = begin + 1; end < row.output && is_alike(row.window(end));) ++end;
    kinds.insert({kind_of_count(end - begin, lanes), 0, 0});
  }
  return kinds;
}

}  // namespace pooljit::runtime
