#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "ir/schedules/choose/facts.h"
#include "ir/schedules/choose/row_cut.h"
#include "ir/schedules/choose/rows.h"
#include "ir/schedules/lanes/lanes_apart.h"
#include "ir/schedules/lowering/row_family.h"
#include "ir/schedules/lowering/row_rules.h"

namespace pooljit::ir {
namespace {

using Scan = RowFields::Scan;

// Rows of outputs that may be done together.
constexpr int64_t groups = order({4, 3, 2, 8});

// The schedules of one nest, best first, until there are `most`.
class Enumeration {
 public:
  Enumeration(Facts& facts, size_t most)
      : layer_(facts.layer),
        nest_(facts.nest),
        most_(most),
        facts_(facts.reduction),
        dim_(facts.row),
        fitting_(facts.fitting(dim_.output)),
        cut_{fitting_, exact_tail(layer_)},
        rules_(facts) {
    rules_.lanes = fitting_;
    if (facts_.any_order && dim_.kind == DimKind::pool) cut_ = cheapest_cut(rules_, fitting_);
    if (facts_.has_long_taps()) own_.tap_code = TapCode::loops;
    rules_.lanes = cut_.lanes;
    const auto lanes = static_cast<int>(rules_.answer(Question::channels_first_cut));
    if (lanes > 0) cut_ = {lanes, dim_.output % std::max(lanes, 4) == 0 ? cut_.tail : Tail::overlap};
  }

  std::vector<Schedule> run() {
    if (nest_.has_any_size()) return run_any_size();
    if (const int64_t rows = rules_.answer(Question::channels_first_alone); rows > 0) {
      schedule_.lanes = cut_.lanes;
      if (facts_.any_order && rows > 1) add(Scan::rows_first, static_cast<int>(rows));
      const bool by_taps = !facts_.any_order || rules_.says(Question::channels_first_taps);
      add(by_taps ? Scan::tap_by_tap : Scan::rows_first);
    }
    if (const SideBySide best = best_side_by_side(layer_, fitting_); best.vectors > 1) add_side_by_side(best);
    add_lanes(cut_.lanes);
    if (cut_.lanes != fitting_) add_lanes(fitting_);
    for (const int beside : {2, 3, 4, 8}) add_side_by_side({fitting_, beside});
    if (!splits_ && found_.empty()) {
      splits_ = true;
      add_lanes(cut_.lanes);
    }
    // Straight-line code would be too long, and that of wide tiles is longer. Pixels have channels_last.
    if (found_.empty() && nest_.is_backward() && dim_.pixel == 1) {
      own_.tap_code = TapCode::loops;
      for (int lanes = cut_.lanes; lanes > 1 && found_.empty(); lanes /= 2) add_lanes(lanes);
    }
    // The lanes of windows far apart are joined from as many vectors, for which registers may lack.
    if (!found_.empty() && dim_.stride >= layer_.registers() / 2)
      for (int lanes = fitting_ / 2; lanes > 1; lanes /= 2) add_lanes(lanes);
    return std::move(found_);
  }

 private:
  // Whole vectors, whatever rows may come; fewer lanes, and so fewer kinds of tiles, where their code would
  // be too long.
  std::vector<Schedule> run_any_size() {
    std::vector<Scan> scans = {Scan::rolling, Scan::rows_first, Scan::tap_by_tap};
    if (dim_.stride > 1) std::swap(scans[0], scans[1]);
    for (schedule_.lanes = joined_lanes(); schedule_.lanes > 0 && found_.empty(); schedule_.lanes /= 2)
      for (const Scan scan : scans)
        for (const Tail tail : {Tail::mask, Tail::overlap}) {
          own_.scan = scan;
          add_tail(tail);
        }
    return std::move(found_);
  }

  // The lanes of a tap of windows far apart are joined from as many vectors, which are held at once.
  int joined_lanes() const {
    const int others = nest_.indices ? 7 : 4;  // vectors held beside them, as found by trying
    const int most = info(layer_.isa()).vector_registers - others;
    int lanes = layer_.most_lanes(row_lanes);
    if (dim_.kind != DimKind::pool) return lanes;
    while (std::min<int64_t>(lanes, dim_.stride / dim_.pixel) > most) lanes /= 2;
    return lanes;
  }

  void add_lanes(int lanes) {
    schedule_.lanes = lanes;
    if (facts_.any_order) dim_.stride == 1 ? add_dense() : add_strided();
    add(Scan::tap_by_tap);
  }

  void add_dense() {
    const bool by_row = rules_.says(Question::channels_first_groups);
    if (rules_.says(Question::channels_first_taps)) add(Scan::tap_by_tap);
    if (by_row) add_groups(groups);
    add(Scan::rolling);
    add(Scan::rows_first);
    if (!by_row) add_groups(groups);
  }

  void add_side_by_side(const SideBySide& beside) {
    if (dim_.stride != 1 || !layer_.can_mask()) return;
    schedule_.lanes = beside.lanes;
    own_.scan = Scan::rolling;
    own_.rows_together = 1;
    own_.vectors_side_by_side = beside.vectors;
    add_tail(Tail::mask);
  }

  void add_strided() {
    rules_.lanes = schedule_.lanes;
    const bool rolls = stores_whole_vectors(dim_.output, {schedule_.lanes, cut_.tail}) &&
                       rules_.says(Question::channels_first_rolls);
    if (!(rolls && dim_.pad_begin + dim_.pad_end > 0))
      add_groups(rules_.answer(Question::channels_first_high));
    if (rules_.says(Question::channels_first_taps)) add(Scan::tap_by_tap);
    if (rolls) add(Scan::rolling);
    if (rules_.says(Question::channels_first_pairs)) add(Scan::rows_first, 2);
    add_groups(rules_.answer(Question::channels_first_few));
    add(Scan::rows_first);
    add_groups(groups);
    if (!rolls) add(Scan::rolling);
  }

  void add_groups(int64_t rows) {
    for (; rows > 0; rows >>= 8) add(Scan::rows_first, static_cast<int>(rows & 0xff));
  }

  void add(Scan scan, int rows = 1) {
    own_.scan = scan;
    own_.rows_together = rows;
    own_.vectors_side_by_side = 1;
    const bool overlap_first = cut_.tail == Tail::overlap;
    if (overlap_first) add_overlap();
    if (layer_.can_mask()) add_tail(Tail::mask);
    const bool fills = can_fill_borders(nest_, layer_.isa(), schedule_.lanes);
    if (!overlap_first && (fills || dim_.output % schedule_.lanes != 0)) add_overlap();
    // tail=split does border outputs of long windows one by one: rows by themselves take 1/20 to 1/40 of the
    // time, windows of 21 and 25 columns over 32 on AVX2.
    const bool one_by_one = dim_.kernel > RowRules::static_border && has_borders(dim_);
    if (splits_ && (rows == 1 || !one_by_one)) add_tail(Tail::split);
  }

  void add_overlap() { add_tail(Tail::overlap); }

  void add_tail(Tail tail) {
    if (found_.size() >= most_) return;
    schedule_.tail = tail;
    if (!check(layer_, schedule_)) return;
    if (std::find(found_.begin(), found_.end(), schedule_) == found_.end()) found_.push_back(schedule_);
  }

  const Layer& layer_;
  const PoolNest& nest_;
  const size_t most_;
  const ReductionFacts& facts_;
  const NestDim& dim_;  // along the row
  const int fitting_;
  RowChoice cut_;
  Facts& rules_;
  // tail=split too; where lanes cannot be masked off and there are many borders, only if nothing else will
  // do.
  bool splits_ = layer_.can_mask() || !RowRules::has_many_borders(dim_);
  Schedule schedule_ = schedule_of(Family::channels_first);
  ChannelsFirstFields& own_ = std::get<ChannelsFirstFields>(schedule_.own);
  std::vector<Schedule> found_;
};

}  // namespace

Offer offer_channels_first(const Layer& layer, size_t most) {
  if (!reads_adjacent_columns(layer.nest())) return {};
  Facts facts(layer, row_lanes, 1);
  if (const auto better = facts.left(Question::channels_first_left); !better.empty()) return {{}, better};
  return {channels_first_schedules(facts, most)};
}

std::vector<Schedule> channels_first_schedules(Facts& facts, size_t most) {
  return Enumeration(facts, most).run();
}

}  // namespace pooljit::ir
