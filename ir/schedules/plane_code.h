// PlaneCode: what whole_planes emits for one batch and channel: straight-line code for every tile of a plane.
#pragma once

#include <map>
#include <utility>

#include "ir/schedules/lane_gather.h"
#include "ir/schedules/lowering.h"
#include "ir/schedules/plane_tiles.h"

namespace pooljit::ir {

class PlaneCode {
 public:
  PlaneCode(const PoolNest& nest, const Schedule& schedule, const PlaneTiles& tiles, Builder& builder,
            Reducer& reducer);
  // The whole Program.
  void emit();

 private:
  State reduce(const PlaneTile& tile);
  void store(const PlaneTile& tile, const State& state);
  // 0 for lanes whose windows lack that tap of their line; empty if all do.
  using Outputs = std::vector<PlaneTiles::Output>;
  std::vector<int64_t> present(const Outputs& outputs, int64_t tap) const;
  Value where(const std::vector<int64_t>& present, Value x);

  // A strip over so many of its taps, joined in pairs that strips have in common; no_value: all of them lie
  // outside the image.
  Value strip(const PlaneStrip& strip, int64_t taps);
  Value load(const PlaneStrip& strip);
  Lanes stored(const PlaneTile& tile) const;

  const PoolNest& nest_;
  const Schedule& schedule_;
  const PlaneTiles& tiles_;
  const NestDim &rows_, &columns_;
  Builder& b_;
  Reducer& reducer_;
  Lowering low_;
  Cursor plane_;
  std::vector<Window> row_windows_, windows_;            // by output row, and by column
  std::map<std::pair<int64_t, int64_t>, Value> strips_;  // by start and taps
};

}  // namespace pooljit::ir
