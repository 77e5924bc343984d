// The expected outputs of a probe's planes: the oracle (ir/reference.h), plane by plane.
#pragma once

#include <map>
#include <vector>

#include "ir/error_bounds.h"
#include "ir/nest.h"
#include "runtime/proof/probes.h"

namespace pooljit::runtime {

using Extent = int64_t ir::NestDim::*;
// Indices lie beside the output, or, backward, beside the input.
Extent index_extent(const ir::PoolNest& nest);

// The position of this number, row-major.
Positions unravel(int64_t number, const std::vector<ir::NestDim>& dims, Extent extent);

// Whether the oracle adds up the sums dimension by dimension: for large windows, if nothing but a divisor
// follows.
bool adds_by_dimensions(const ir::PoolNest& nest);

// The operand's plane: `number` everywhere.
Plane operand_plane(const ir::PoolNest& nest, size_t operand, double number);
// By operand: what leaves every result as it is.
std::vector<Plane> neutral_planes(const ir::PoolNest& nest);

// By plane; empty for planes that lie nowhere.
struct Expected {
  std::vector<Plane> outputs, indices;              // indices without channel and batch
  std::vector<std::vector<ir::ErrorBound>> bounds;  // where results are rounded; else none at all
};

class Oracle {
 public:
  explicit Oracle(const ir::PoolNest& nest);
  // used: by plane, whether it lies anywhere.
  Expected evaluate(const Probe& probe, const std::vector<bool>& used) const;

 private:
  // The windows along dimension d alone, of what came of the dimensions behind it.
  ir::PoolNest along(size_t d, ir::DType from, ir::DType to) const;
  Plane extrema(Plane plane, ir::Operands operands) const;
  Plane sums(const Plane& plane) const;
  uint64_t numbered(int64_t row_major, size_t output) const;

  const ir::PoolNest nest_, forward_;
  const ir::PoolNest plane_nest_;  // of one plane, numbered row-major in itself
  const std::vector<Plane> neutral_;
  std::map<int64_t, std::vector<size_t>> by_divisor_;  // outputs; none: sums are added up tap by tap
};

}  // namespace pooljit::runtime
