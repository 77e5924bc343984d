#include "runtime/proof/general.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

#include "ir/general/general.h"
#include "ir/general/joined_planes.h"
#include "ir/pools.h"
#include "ir/schedule_fields.h"
#include "ir/schedule_text.h"
#include "ir/schedules/families/separable_layout.h"
#include "ir/schedules/family.h"
#include "ir/schedules/lanes/pixel_rows.h"
#include "ir/schedules/lanes/row_tiles.h"
#include "ir/schedules/lowering/narrow_rows.h"
#include "ir/schedules/lowering/pieces.h"
#include "ir/schedules/lowering/plane_lines.h"
#include "runtime/proof/size_kinds.h"
#include "runtime/sized_code.h"

namespace pooljit::runtime {
namespace {

using Extents = std::vector<int64_t>;

// Vectors of a row of a window that its code takes together.
constexpr int64_t vectors_together = ir::SizeLayout::vectors_of_group;
// The most extents of a dimension that are looked at.
constexpr int64_t most_extents = 4096;

// Outputs along a row that the code takes together.
int64_t columns_together(const frontend::PoolSpec& pool, const ir::Schedule& schedule) {
  if (info(schedule.family()).lanes == ir::LaneUse::fixed) return together_of_channels;
  const ir::NestDim row = in_code(make_nest(pool), schedule).dims.back();
  return ir::outputs_of_tile(row, schedule.lanes) * ir::together(schedule);
}

class SizeChooser {
 public:
  SizeChooser(const frontend::PoolSpec& spec, const ir::Schedule& schedule) : spec_(spec) {
    // Of several pools, the spec's own dims are those of the input's copy.
    if (spec.include_input) add_pool(spec, schedule);
    for (const frontend::PoolSpec& pool : pools_of(spec)) add_pool(pool, schedule);
    for (const frontend::SpecDim& dim : spec.dims) least_.push_back(dim.input);
    rich_ = last_ = least_;
    for (size_t i = 0; i < least_.size(); ++i)
      kinds_.push_back(spec.dims[i].is_free ? extents_of_all_kinds(i) : Extents{least_[i]});
  }

  std::vector<Extents> sizes() const {
    std::set<Extents> all = {least_, rich_, last_};
    for (const int64_t extent : tails_) {
      Extents size = rich_;
      size.back() = extent;
      all.insert(std::move(size));
    }
    for (size_t i = 0; i < kinds_.size(); ++i)
      for (const int64_t extent : kinds_[i])
        for (Extents size : bases()) {
          size[i] = extent;
          all.insert(std::move(size));
        }
    for (const int64_t extent : rows_) {
      Extents size = least_;
      size[last_free()] = extent;
      all.insert(std::move(size));
    }
    for (size_t pool = 0; pool < pools_.size(); ++pool)
      for (Extents& size : of_several_rows(pool)) all.insert(std::move(size));
    std::vector<Extents> possible;
    for (const Extents& size : all)
      if (with_sizes(spec_, size)) possible.push_back(size);
    return possible;
  }

 private:
  struct Pool {
    const frontend::PoolSpec* spec;
    const ir::Schedule* schedule;
    bool follows;
    int64_t columns_together;
    std::set<int64_t> pieces;  // outputs of two dimensions that are done together, at most, by ISA
  };

  void add_pool(const frontend::PoolSpec& pool, const ir::Schedule& schedule) {
    const ir::Schedule& own = pools_of(schedule)[pools_.size()];
    pools_.push_back(
        {&pool, &own, pool.global || is_adaptive(pool), columns_together(pool, own), pieces_of(pool, own)});
  }

  static std::set<int64_t> pieces_of(const frontend::PoolSpec& pool, const ir::Schedule& schedule) {
    std::set<int64_t> lengths;
    const auto general = ir::general_nest(make_nest(pool), ir::Extents::any);
    for (const ir::IsaInfo& isa : ir::isa_table)
      if (const int64_t length = general ? ir::piece_length(*general, schedule, isa.isa) : 0; length > 0)
        lengths.insert(length);
    return lengths;
  }

  // The extents of other dimensions that one dimension's are combined with.
  std::vector<Extents> bases() const {
    std::vector<Extents> all = {rich_, least_};
    for (const int64_t extent : ways_) {
      all.push_back(least_);
      all.back().back() = extent;
    }
    return all;
  }

  int64_t together(const Pool& pool, size_t dim) const {
    return dim + 1 == least_.size() ? pool.columns_together : 1;
  }

  // The least extent of each kind of each pool; among them the first with all kinds of windows becomes
  // rich_'s.
  Extents extents_of_all_kinds(size_t dim) {
    Extents found;
    std::vector<std::set<SizeKind>> seen(pools_.size());
    std::vector<std::set<int64_t>> tails(pools_.size());
    std::vector<std::set<std::pair<int64_t, int64_t>>> pieces(pools_.size());
    std::vector<SizeKind> rows(pools_.size());
    SizeKind known_ways;
    size_t most_windows = 0;
    const bool follows = std::ranges::any_of(pools_, &Pool::follows);
    const int64_t last_of_windows = least_[dim] + extents_with_kinds(dim);
    const int64_t last = std::max(last_of_windows, dim == last_free() ? extents_of_rows() : 0);
    for (int64_t extent = least_[dim]; extent <= last; ++extent) {
      Extents size = least_;
      size[dim] = extent;
      const auto sized = with_sizes(spec_, size);
      if (!sized) continue;
      const ir::PoolNest nest = make_nest(*sized);
      bool is_new = false, is_tail = false, is_row = false, has_new_pieces = false;
      size_t windows = 0;
      for (size_t i = 0; i < pools_.size(); ++i) {
        const ir::PoolNest pool = in_code(pools_of(nest)[i], *pools_[i].schedule);
        SizeKind kind = kind_of(pool.dims[dim], pools_[i].follows, together(pools_[i], dim));
        if (has_narrow_rows(i)) {
          const auto way = way_of_rows(pool, *pools_[i].schedule);
          kind.insert(way);
          if (dim + 1 == least_.size() && extent <= last_of_windows && known_ways.insert(way).second)
            ways_.push_back(extent);
        }
        if (has_tiles(i) && dim + 1 == least_.size())
          kind.merge(kinds_of_tiles(pool, pools_[i].schedule->lanes));
        if (dim + 2 >= least_.size())
          for (const int64_t length : pools_[i].pieces)
            has_new_pieces =
                pieces[i].emplace(length, kind_of_pieces(pool.dims[dim], length)).second || has_new_pieces;
        is_new = seen[i].insert(kind).second || is_new;
        const size_t known_rows = rows[i].size();
        if (has_window_rows(i)) rows[i].merge(kinds_of_rows(pool, i));
        if (has_stretches(i)) rows[i].merge(kinds_of_stretches(pool, pools_[i].columns_together));
        is_row = is_row || rows[i].size() > known_rows;
        const int64_t rest = pool.dims[dim].output % together(pools_[i], dim);
        is_tail = tails[i].insert(rest).second || is_tail;
        windows += count_windows(kind);
      }
      if (is_tail && dim + 1 == least_.size()) tails_.push_back(extent);
      if (is_row && dim == last_free()) rows_.push_back(extent);
      const bool has_new_windows = is_new && extent <= last_of_windows;
      if (has_new_windows || has_new_pieces) found.push_back(extent);
      if (!has_new_windows) continue;
      last_[dim] = extent;
      if (windows > most_windows || follows) most_windows = windows, rich_[dim] = extent;
    }
    return found;
  }

  // Beyond so many more than the least there is nothing new.
  int64_t extents_with_kinds(size_t i) const {
    int64_t most = 0;
    for (const Pool& pool : pools_) {
      const frontend::SpecDim& dim = pool.spec->dims[i];
      const int64_t following = pool.spec->global ? most_taps_apart : 3 * dim.adaptive_output;
      const int64_t reach = dim.dilation * (dim.kernel - 1) + 1;
      // Of pixels as many as there are tails, and as fill some tiles.
      const int64_t outputs = together(pool, i);
      const int64_t positions = pool.schedule->family() == ir::Family::interleaved && i + 1 == least_.size()
                                    ? std::max(outputs, 3 * outputs / pool.spec->channels)
                                    : 3 * outputs;
      const int64_t of_windows =
          dim.pad_begin + std::max<int64_t>(dim.pad_end, 0) + 2 * reach + dim.stride * positions;
      most = std::max(most, pool.follows ? following : of_windows);
      if (!pool.pieces.empty()) most += 2 * *pool.pieces.rbegin();
      const bool may_be_lines =
          i + 1 == least_.size() && has_lines(static_cast<size_t>(&pool - pools_.data()));
      if (may_be_lines) most += ir::PlaneLines::most_parts * pool.schedule->lanes;
    }
    for (size_t pool = 0; pool < pools_.size(); ++pool)
      if (i == 0 && has_lines(pool)) return std::min(most + ir::PlaneLines::most_lines, most_extents);
    return std::min(most, most_extents);
  }

  // Gradients in rows.
  bool has_tiles(size_t pool) const {
    return !pools_[pool].follows && row_fields(*pools_[pool].schedule) &&
           pools_[pool].spec->direction == ir::Direction::backward;
  }

  // Gradients of adaptive windows in rows, whose outputs with the same windows are vectors.
  bool has_stretches(size_t pool) const {
    return pools_[pool].follows && row_fields(*pools_[pool].schedule) && spec_.dims.back().is_free;
  }
  // Rows of windows, and of the image, in vectors of taps.
  bool has_window_rows(size_t pool) const {
    return pools_[pool].schedule->family() == ir::Family::window_rows;
  }
  // Of each row how often its loops over groups of vectors, over single vectors and over taps run, in pairs.
  SizeKind kinds_of_rows(const ir::PoolNest& sized, size_t pool) const {
    const int64_t lanes = pools_[pool].schedule->lanes;
    const bool is_global = pools_[pool].spec->global;
    std::set<std::pair<bool, int64_t>> rows;  // whether it is the image's, and its taps
    if (is_global) rows.emplace(false, sized.full_taps());
    if (!is_global && sized.dims.size() > 1) rows.emplace(true, sized.dims.back().input);
    for (const ir::Run& run : runs(sized.dims.back()))
      if (!is_global) rows.emplace(false, run.window.taps);
    SizeKind kinds;
    for (const auto& [of_image, taps] : rows) kinds.merge(kinds_of_taps(taps, lanes, of_image ? 3 : 0));
    return kinds;
  }
  static SizeKind kinds_of_taps(int64_t taps, int64_t lanes, int64_t first) {
    const int64_t vectors = taps / lanes, singles = vectors % vectors_together;
    const int64_t groups = std::min(vectors / vectors_together, most_times);
    const int64_t rest = kind_of_count(taps % lanes, lanes);
    return {{first, groups, rest}, {first + 1, groups, singles}, {first + 2, singles, rest}};
  }
  // Rows of windows that run the loop over groups of vectors often, and leave what a vector can leave.
  int64_t extents_of_rows() const {
    int64_t most = 0;
    for (size_t i = 0; i < pools_.size(); ++i) {
      if (!has_window_rows(i) && !has_stretches(i)) continue;
      const int64_t windows = pools_[i].spec->global ? 1 : pools_[i].spec->dims[last_free()].adaptive_output;
      const int64_t together = has_stretches(i) ? 1 : vectors_together;
      most = std::max(most, windows * (most_times * together + 1) * pools_[i].schedule->lanes);
    }
    return std::min(most, most_extents);
  }
  size_t last_free() const {
    size_t last = 0;
    for (size_t i = 0; i < least_.size(); ++i)
      if (spec_.dims[i].is_free) last = i;
    return last;
  }
  // Taps of each part of a plane whose sum has several, each some of its rows; 0: it has no such parts.
  int64_t taps_of_part(const Extents& size, size_t pool) const {
    const auto sized = with_sizes(spec_, size);
    if (!sized) return 0;
    const ir::PoolNest nest = make_nest(*sized);
    const ir::PoolNest& own = pools_of(nest)[pool];
    const auto general = general_nest(own, ir::Extents::any_windows);
    const auto joined = general ? with_joined_planes(*general, own) : std::nullopt;
    return joined && joined->dims[size.size() - 2].input > 1 ? joined->dims.back().input : 0;
  }
  // The first plane of such parts, and of few rows, each a part, those whose parts are of another kind.
  std::vector<Extents> of_several_rows(size_t pool) const {
    constexpr int64_t columns = 33, most_rows = 64;
    std::vector<Extents> found;
    if (!has_window_rows(pool) || !pools_[pool].spec->global || least_.size() < 2) return found;
    Extents size = least_;
    const size_t rows = size.size() - 2;
    if (spec_.dims.back().is_free) size.back() = columns;
    while (spec_.dims[rows].is_free && size[rows] < most_rows && taps_of_part(size, pool) == 0) ++size[rows];
    if (taps_of_part(size, pool) > 0) found.push_back(size);
    if (spec_.dims[rows].is_free) size[rows] = 2;
    if (!spec_.dims.back().is_free || size[rows] < 2) return found;
    const int64_t lanes = pools_[pool].schedule->lanes, first = ir::most_taps_of_sum / size[rows] + 1;
    SizeKind known;
    for (size.back() = first; size.back() < first + (vectors_together + 1) * lanes; ++size.back()) {
      const size_t before = known.size();
      if (const int64_t taps = taps_of_part(size, pool); taps > 0) known.merge(kinds_of_taps(taps, lanes, 0));
      if (known.size() > before) found.push_back(size);
    }
    return found;
  }

  // Planes of narrow rows are another part of the code; those by lines are of so many rows at most.
  template <typename HasCode>
  bool has_rows(size_t pool, const HasCode& has_code) const {
    const ir::PoolNest nest = make_nest(*with_sizes(spec_, least_));
    const ir::Schedule& own = *pools_[pool].schedule;
    return row_fields(own) && has_code(in_code(pools_of(nest)[pool], own), own);
  }
  bool has_lines(size_t pool) const { return has_rows(pool, ir::PlaneLines::has_code); }
  bool has_narrow_rows(size_t pool) const { return has_rows(pool, ir::NarrowRows::has_code); }

  const frontend::PoolSpec& spec_;
  std::vector<Pool> pools_;
  Extents least_, rich_, last_;
  std::vector<Extents> kinds_;
  Extents rows_;   // of the last free one: rows of windows or of the image that vectors take in another way
  Extents ways_;   // of the innermost dimension: the least of each part of the code
  Extents tails_;  // of the innermost dimension: each number of outputs behind whole vectors
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
