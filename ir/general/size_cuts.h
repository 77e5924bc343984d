// How the rows of a layer at a size are cut into runs and tiles, for the words of the size.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/nest.h"

namespace pooljit::ir {

// From the first to the last of the runs that are wanted, which lie side by side.
template <typename IsWanted>
Interior outputs_of(const std::vector<Run>& all, const IsWanted& is_wanted) {
  Interior outputs;
  for (const Run& run : all) {
    if (!is_wanted(run)) continue;
    if (outputs.begin == outputs.end) outputs.begin = run.begin;
    outputs.end = run.end;
  }
  return outputs;
}

// Of a gradient's dimension: the forward's windows with the kernel's divisor, which are neighbours.
Interior alike_of_gather(const PoolNest& sized, const NestDim& gather);

// Whether all taps of the run's windows are among these.
bool takes_among(const Run& run, const Interior& taps);
// The runs, cut so that those of which takes_among() holds are as long as they can be.
std::vector<Run> cut_at(const std::vector<Run>& all, const Interior& taps);

// How tiles of so many places cover a row: some at its begin, those of whole windows, some behind. masked,
// whole: SizeLayout::ColumnField.
struct TileCut {
  int64_t before = 0, inside_begin = 0, inside = 0, last = 0, behind = 0;
};
TileCut cut_tiles(int64_t places, Interior masked, Interior whole);

// Of a gradient's row: the places of all outputs (ir/schedules/lanes/row_tiles.h), and of those whose windows
// have their taps among these.
Interior places_of_gather(const NestDim& dim);
Interior whole_places_of_gather(const NestDim& dim, const Interior& taps);

}  // namespace pooljit::ir
