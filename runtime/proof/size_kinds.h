// Classes of sizes for code that serves all of them: sizes of one kind run the same instructions in the same
// loops, none, once or more often.
#pragma once

#include <cstdint>
#include <set>
#include <tuple>

#include "ir/nest.h"
#include "ir/schedule.h"

namespace pooljit::runtime {

// Outputs that code of neighbouring channels takes together: windows that roll along a row.
inline constexpr int64_t together_of_channels = 2;
// So many times or more, a loop runs often.
inline constexpr int64_t most_times = 2;
// So many taps of windows that follow the extent are told apart by their number.
inline constexpr int64_t most_taps_apart = 8;

// Of a number of outputs that are taken `together`: how many times, up to what makes a loop, and the kind of
// what remains; behind a loop over many, whether anything does.
int64_t kind_of_count(int64_t count, int64_t together);

using SizeKind = std::set<std::tuple<int64_t, int64_t, int64_t>>;

// What code tells apart of the outputs along a dimension: the windows, by how they are clipped, each with the
// kind of their number. follows: by their taps.
SizeKind kind_of(const ir::NestDim& dim, bool follows, int64_t together);

// Kinds of windows alone, however many there are of each.
size_t count_windows(const SizeKind& kind);

// Which part of the code takes rows of such columns, by ISA.
SizeKind::value_type way_of_rows(const ir::PoolNest& sized, const ir::Schedule& schedule);

// How often the loops over a gradient's tiles run, and those over the outputs around them.
SizeKind kinds_of_tiles(const ir::PoolNest& sized, int lanes);

// One piece or several, and whether the last one is of as many blocks as the others.
int64_t kind_of_pieces(const ir::NestDim& dim, int64_t length);

// Of a row of an adaptive gradient: its stretches of outputs with the same windows.
SizeKind kinds_of_stretches(const ir::PoolNest& sized, int64_t lanes);

}  // namespace pooljit::runtime
