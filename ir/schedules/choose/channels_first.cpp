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

// Rows of outputs that may be done together, best first, and so for windows of many rows.
constexpr std::array groups = {4, 3, 2, 8};
constexpr int64_t high_window = 9;
constexpr int64_t least_paired = 16;  // outputs of a padded row of narrow elements, for pairs of rows

// The schedules of one nest, best first, until there are `most`.
class Enumeration {
 public:
  Enumeration(const Layer& layer, size_t most)
      : layer_(layer),
        nest_(layer.nest()),
        most_(most),
        facts_(layer.facts(row_lanes)),
        dim_(nest_.dims.back()),
        fitting_(layer.fitting_lanes(row_lanes, dim_.output)),
        cut_{fitting_, exact_tail(layer)} {
    if (facts_.any_order && dim_.kind == DimKind::pool) cut_ = cheapest_cut(layer, fitting_);
    if (facts_.has_long_taps()) own_.tap_code = TapCode::loops;
    // A row that lacks lanes to a vector falls into pieces: instead of three and more, two vectors that
    // overlap take 0.49 to 0.97 of the time.
    if (!layer.can_mask() && cut_.lanes > dim_.output &&
        std::popcount(static_cast<uint64_t>(dim_.output)) >= 3)
      cut_ = {cut_.lanes / 2, Tail::overlap};
    // Of 10 to 56 columns four at a time take 0.80 to 0.98 of the time of eight, which need shuffles across
    // the halves of a vector, on a Zen 3; windows of three columns 1.1 to 1.3.
    if (shuffles_in_halves(layer) && bytes(nest_.input.dtype) == 1 && !facts_.is_idempotent &&
        !short_sums(layer) && dim_.kind == DimKind::pool && dim_.kernel == 2 && dim_.stride == 2)
      cut_ = {std::min(fitting_, 4), dim_.output % 4 == 0 ? cut_.tail : Tail::overlap};
  }

  std::vector<Schedule> run() {
    if (nest_.has_any_size()) return run_any_size();
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
    // Maxima of two halves roll in few registers: 0.67 to 0.94 of the time of rows in groups.
    const bool are_pairs = has_few_registers(layer_) && facts_.is_idempotent &&
                           bytes(nest_.input.dtype) == 2 && dim_.kernel == 2;
    const bool by_row = says(layer_, Question::row_by_row) && !are_pairs;
    if (takes_taps_of_one_row()) add(Scan::tap_by_tap);
    if (by_row) add_groups();
    add(Scan::rolling);
    add(Scan::rows_first);
    if (!by_row) add_groups();
  }

  // Windows of a single row share nothing that costs less than another load. Of rows_first's time sums take
  // 0.56 to 0.81 in few registers, with a stride those of bytes 0.85 to 1, and maxima of float32 0.6 to 1;
  // in many registers sums of few bytes 0.66 to 0.96.
  bool takes_taps_of_one_row() const {
    constexpr int64_t few_columns = 5;
    if (nest_.dims.size() != 1 || dim_.kind != DimKind::pool) return false;
    const bool are_bytes = bytes(nest_.input.dtype) == 1;
    if (has_few_registers(layer_))
      return facts_.is_idempotent ? bytes(nest_.input.dtype) == 4 : are_bytes || dim_.stride == 1;
    return !facts_.is_idempotent && are_bytes && dim_.stride == 1 && dim_.kernel <= few_columns &&
           nest_.channels > 1;
  }

  void add_side_by_side(const SideBySide& beside) {
    if (dim_.stride != 1 || !layer_.can_mask()) return;
    schedule_.lanes = beside.lanes;
    own_.scan = Scan::rolling;
    own_.rows_together = 1;
    own_.vectors_side_by_side = beside.vectors;
    add_tail(Tail::mask);
  }

  // Lanes of a strided row are shuffled once per tile rows first, once per row rolling.
  void add_strided() {
    const bool wide_file = !has_few_registers(layer_);
    const bool padded = dim_.pad_begin + dim_.pad_end > 0, narrow = bytes(nest_.output.dtype) < 4;
    const bool rolls = stores_whole_vectors(dim_.output, {schedule_.lanes, cut_.tail}) &&
                       2 * dim_.output <= 3 * schedule_.lanes && (wide_file || padded);
    if (wide_file && !(rolls && padded)) add_high();
    if (takes_taps_of_one_row()) add(Scan::tap_by_tap);
    const bool in_pairs =
        wide_file && dim_.output % 2 == 0 && (!padded || (narrow && dim_.output >= least_paired));
    if (rolls) add(Scan::rolling);
    if (in_pairs) add(Scan::rows_first, 2);
    if (!wide_file) add_few();
    add(Scan::rows_first);
    add_groups();
    if (!rolls) add(Scan::rolling);
  }

  // Windows of so many rows are shuffled for three or four rows of outputs at once: 0.4 to 0.95 of the time
  // of one or two, planes of 38 to 111 columns and windows of 5 to 31 on a Zen 5.
  void add_high() {
    constexpr int64_t least_rows = 5, least_of_four = 7, least_outputs = 12;
    if (nest_.dims.size() < 2 || bytes(nest_.input.dtype) > 4) return;
    const NestDim& down = nest_.dims[nest_.dims.size() - 2];
    if (down.kind != DimKind::pool || down.kernel < least_rows || down.kernel < 2 * down.stride ||
        down.dilation > 1)
      return;
    const Interior inside = interior(down);
    if (inside.end - inside.begin < least_outputs) return;
    add(Scan::rows_first, down.kernel >= least_of_four && down.output % 4 < 2 ? 4 : 3);
  }

  // Rows of outputs whose windows have rows enough in common, where registers are few. Windows of 5 rows and
  // more also in short rows: 0.63 to 0.89 of the time of a row alone in the mean of each dtype, on a Zen 5
  // and a Granite Rapids.
  void add_few() {
    const bool sums = !facts_.is_idempotent, narrow = bytes(nest_.output.dtype) < 4;
    const int64_t kernel = nest_.dims.size() > 1 ? nest_.dims[nest_.dims.size() - 2].kernel : 1;
    const bool is_long = dim_.output >= 2 * schedule_.lanes;
    if (kernel >= 5 && (sums ? is_long : bytes(nest_.output.dtype) == 1)) add(Scan::rows_first, 3);
    if (kernel >= 5 || (is_long && sums && narrow)) add(Scan::rows_first, 2);
    if (!is_long) return;
    const bool share_rows = nest_.dims.size() > 1 && kernel > nest_.dims[nest_.dims.size() - 2].stride;
    if (!sums && bytes(nest_.output.dtype) == 2 && share_rows && kernel < high_window)
      add(Scan::rows_first, 2);
  }

  void add_groups() {
    if (short_sums(layer_)) add(Scan::rows_first, 2);
    for (const int rows : groups) add(Scan::rows_first, rows);
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
  if (says(layer, Question::windows_apart) && !layer.nest().has_any_size())
    return {{}, "windows are long and far apart: window_rows"};
  return {channels_first_schedules(layer, most)};
}

std::vector<Schedule> channels_first_schedules(const Layer& layer, size_t most) {
  return Enumeration(layer, most).run();
}

}  // namespace pooljit::ir
