// PlaneCode: the code of whole_planes for one batch and channel: straight-line code for every tile of a
// plane.
#pragma once

#include <map>
#include <utility>

#include "ir/schedules/families/whole_planes_tiles.h"
#include "ir/schedules/lanes/lane_gather.h"
#include "ir/schedules/lowering/lowering.h"

namespace pooljit::ir {

class PlaneCode {
 public:
  // staging: whose nest it is, if results are staged.
  PlaneCode(const PoolNest& nest, const Schedule& schedule, const PlaneTiles& tiles, Builder& builder,
            Reducer& reducer, const Staging* staging);
  // Vectors that the registers have for line vectors.
  static int most_kept(const PoolNest& nest, const PlaneTiles& tiles, const ReductionFacts& facts, Isa isa);
  // Emits the whole Program.
  void emit();

 private:
  void emit_plane(const Cursor& cursor);
  void store(const PlaneTile& tile, const State& state);
  // For each lane: 0 if its window lacks that tap of its line. Empty if no window does.
  using Outputs = std::vector<PlaneTiles::Output>;
  std::vector<int64_t> present(const Outputs& outputs, int64_t tap) const;
  Value where(const std::vector<int64_t>& present, Value x);

  // Where a tile takes a tap of its lines from: which lanes have the tap, the line vectors that no earlier
  // tap took, and for each lane which of the tile's line vectors.
  struct TapPlan {
    std::vector<int64_t> inside;
    std::vector<LineVector> fresh = {};
    std::vector<LaneSource> lanes = {};
  };
  using TilePlan = std::vector<TapPlan>;
  TilePlan plan(const PlaneTile& tile) const;
  TilePlan plan_of_pairs(const PlaneTile& tile) const;
  State reduce(const TilePlan& plan);

  // A line vector reduced over so many of its taps, joined in pairs that line vectors have in common.
  // no_value: all of them are outside the image.
  Value reduced(const LineVector& vector, int64_t taps);
  int64_t first_half(const LineVector& vector, int64_t taps) const;
  Value load(const LineVector& vector);
  Lanes stored(const PlaneTile& tile) const;

  // Common parts of line vectors are kept until their last use, or until the registers are full.
  void count_uses(const LineVector& vector, int64_t taps);
  void keep(const LineVector& vector, int64_t taps, Value value);

  const PoolNest& nest_;
  const Schedule& schedule_;
  const PlaneTiles& tiles_;
  const NestDim &rows_, &columns_;
  Builder& b_;
  Reducer& reducer_;
  Lowering low_;
  Cursor plane_;
  std::vector<Window> row_windows_, windows_;  // by output row, and by column
  struct Kept {
    Value value = no_value;
    int64_t last_used = 0;
  };
  using Key = std::pair<int64_t, int64_t>;  // start and taps
  std::map<Key, Kept> kept_;
  std::map<Key, int64_t> uses_;  // uses that remain
  int64_t clock_ = 0;
  size_t in_use_ = 0;  // line vectors of the present tile that are not kept
  size_t most_kept_;
};

}  // namespace pooljit::ir
