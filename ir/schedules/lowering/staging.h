// Staging: results go to scratch memory first, as they are computed, and from there to the output,
// transposed. For outputs whose channels lie together where the input's columns do, or the reverse: stored
// directly, each lane of a vector would be a store of its own.
#pragma once

#include <optional>
#include <vector>

#include "ir/isa.h"
#include "ir/nest.h"

namespace pooljit::ir {

struct Staging {
  PoolNest nest;  // with results in scratch memory, which begin anew for each row or rows
  View output;    // where they belong
  std::optional<View> indices;
  int64_t channels = 0;    // that are staged at once: those of a group
  int64_t columns = 0;     // the same; as many as a row has, or fewer
  bool by_pixels = false;  // in scratch memory, channels lie together

  std::vector<View> results() const;  // output and indices
  int64_t last_channels() const;      // of the last group: with those that fill none
  // Bytes of the scratch memory of such a view of the nest.
  int64_t bytes_of(const View& staged) const;
};

// Of channels_first: the columns of so many rows, of a group of channels. nullopt: results are stored where
// they belong.
std::optional<Staging> staged_columns(const PoolNest& nest, int64_t rows);
// Of channels_last: the pixels of a row.
std::optional<Staging> staged_pixels(const PoolNest& nest, Isa isa);

}  // namespace pooljit::ir
