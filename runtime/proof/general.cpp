#include "runtime/proof/general.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <set>
#include <tuple>

#include "ir/schedule_fields.h"
#include "ir/schedule_text.h"
#include "ir/schedules/family.h"
#include "runtime/sized_code.h"

namespace pooljit::runtime {
namespace {

using Extents = std::vector<int64_t>;

// Outputs that code of neighbouring channels takes together: windows that roll along a row.
constexpr int64_t together_of_channels = 2;
// The most extents of a dimension that are looked at.
constexpr int64_t most_extents = 4096;

// Of a number of outputs that are taken `together`: how many times, up to what makes a loop, and the kind of
// what remains.
int64_t kind_of_count(int64_t count, int64_t together) {
  const int64_t most_times = together <= together_of_channels ? 2 : 1;
  const int64_t times = std::min(count / together, most_times), rest = count % together;
  const bool is_edge = rest <= 2 || rest == together / 2 || rest == together - 1;
  return times * (together + 1) + (is_edge ? rest : together);
}

// So many taps of windows that follow the extent are told apart by their number.
constexpr int64_t most_taps_apart = 8;

// Taps of windows that follow the extent, by what loops over them tell apart.
int64_t kind_of_taps(int64_t taps) {
  if (taps <= most_taps_apart) return taps;
  return most_taps_apart + 2 * std::bit_width(static_cast<uint64_t>(taps)) + taps % 2;
}

// What code tells apart of the outputs along a dimension: the windows, by how they are clipped, each with the
// kind of their number.
using Kind = std::set<std::tuple<int64_t, int64_t, int64_t>>;
Kind kind_of(const ir::NestDim& dim, bool follows, int64_t together) {
  Kind kind = {{-1, 0, kind_of_count(dim.output, together)}};
  for (const ir::Run& run : runs(dim)) {
    if (follows)
      kind.insert({kind_of_taps(run.window.taps), 0, 0});
    else
      kind.insert({run.window.taps, run.window.first_tap, kind_of_count(run.outputs(), together)});
  }
  return kind;
}

// Kinds of windows alone, however many there are of each.
size_t count_windows(const Kind& kind) {
  std::set<std::pair<int64_t, int64_t>> windows;
  for (const auto& [taps, first_tap, count] : kind) windows.emplace(taps, first_tap);
  return windows.size();
}

class SizeChooser {
 public:
  SizeChooser(const frontend::PoolSpec& spec, const ir::Schedule& schedule) : spec_(spec) {
    for (const frontend::SpecDim& dim : spec.dims) least_.push_back(dim.input);
    rich_ = last_ = least_;
    const bool has_rows = info(schedule.family()).lanes != ir::LaneUse::fixed;
    for (size_t i = 0; i < least_.size(); ++i) {
      const bool is_inner = i + 1 == least_.size();
      const int64_t together = !is_inner  ? 1
                               : has_rows ? int64_t{schedule.lanes} * ir::together(schedule)
                                          : together_of_channels;
      kinds_.push_back(spec.dims[i].is_free ? extents_of_all_kinds(i, together) : Extents{least_[i]});
    }
  }

  std::vector<Extents> sizes() const {
    std::set<Extents> all = {least_, rich_, last_};
    for (size_t i = 0; i < kinds_.size(); ++i)
      for (const int64_t extent : kinds_[i])
        for (Extents size : {rich_, least_}) {
          size[i] = extent;
          all.insert(std::move(size));
        }
    std::vector<Extents> possible;
    for (const Extents& size : all)
      if (with_sizes(spec_, size)) possible.push_back(size);
    return possible;
  }

 private:
  // The least extent of each kind; among them the first with all kinds of windows becomes rich_'s.
  Extents extents_of_all_kinds(size_t dim, int64_t together) {
    const bool follows = spec_.global || is_adaptive(spec_);
    Extents found;
    std::set<Kind> seen;
    size_t most_windows = 0;
    const int64_t last = least_[dim] + extents_with_kinds(dim, together);
    for (int64_t extent = least_[dim]; extent <= last; ++extent) {
      Extents size = least_;
      size[dim] = extent;
      const auto sized = with_sizes(spec_, size);
      if (!sized) continue;
      const Kind kind = kind_of(nest_dims(*sized)[dim], follows, together);
      if (!seen.insert(kind).second) continue;
      found.push_back(extent);
      last_[dim] = extent;
      const size_t windows = count_windows(kind);
      if (windows > most_windows || follows) most_windows = windows, rich_[dim] = extent;
    }
    return found;
  }

  // Beyond so many more than the least there is nothing new.
  int64_t extents_with_kinds(size_t i, int64_t together) const {
    int64_t most = 0;
    const auto look = [&](const frontend::PoolSpec& pool) {
      const frontend::SpecDim& dim = pool.dims[i];
      const int64_t following = pool.global ? most_taps_apart : 3 * dim.adaptive_output;
      const int64_t reach = dim.dilation * (dim.kernel - 1) + 1;
      const int64_t of_windows =
          dim.pad_begin + std::max<int64_t>(dim.pad_end, 0) + 2 * reach + 3 * dim.stride * together;
      most = std::max(most, pool.global || is_adaptive(pool) ? following : of_windows);
    };
    std::ranges::for_each(spec_.members, look);
    if (!is_pools(spec_)) look(spec_);
    return std::min(most, most_extents);
  }

  static std::vector<ir::NestDim> nest_dims(const frontend::PoolSpec& sized) {
    const ir::PoolNest nest = make_nest(sized);
    return nest.members.empty() ? nest.dims : nest.members.back().dims;
  }

  const frontend::PoolSpec& spec_;
  Extents least_, rich_, last_;
  std::vector<Extents> kinds_;
};

}  // namespace

std::vector<std::vector<int64_t>> sizes_to_prove(const frontend::PoolSpec& free_spec,
                                                 const ir::Schedule& schedule) {
  return SizeChooser(free_spec, schedule).sizes();
}

ir::Result<Proof> prove_general(const CodePtr& general, const frontend::PoolSpec& free_spec,
                                const Choices& choices, const ProofLimits& limits) {
  const auto schedule = ir::parse_schedule(general->info.schedule);
  Choices exact = choices;
  exact.schedule = *schedule;
  std::optional<Proof> all;
  std::vector<std::string> names;
  for (const std::vector<int64_t>& size : sizes_to_prove(free_spec, *schedule)) {
    auto spec = with_sizes(free_spec, size);
    if (!spec) return tl::unexpected(spec.error());
    auto code = SizedCode::make(general, make_nest(*spec));
    if (!code && code.error().id == "general.window") continue;  // which has code of its own
    if (!code) return tl::unexpected(code.error());
    auto one = prove_code(**code, *spec, exact, limits);
    if (!one) return one;
    names.push_back(fmt::format("{}", fmt::join(size, "x")));
    all = all ? with_size(std::move(*all), *one) : std::move(*one);
    if (!all->ok()) {
      all->failure = fmt::format("at {}: {}", names.back(), all->failure);
      break;
    }
  }
  all->spec = print(free_spec);
  all->sizes = std::move(names);
  return std::move(*all);
}

ir::Result<Proof> verify_general(const frontend::PoolSpec& free_spec, const Choices& choices,
                                 const ProofLimits& limits) {
  const auto code = make_general_code(free_spec, choices);
  if (!code) return tl::unexpected(code.error());
  return prove_general(*code, free_spec, choices, limits);
}

}  // namespace pooljit::runtime
