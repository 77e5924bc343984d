// Sizes, strides and reach of a spec's tensors. Everything here is int64 with overflow noticed: an empty
// optional says that a number does not fit. On a checked spec nothing is ever empty.
#pragma once

#include <boost/container/static_vector.hpp>
#include <cstdint>
#include <optional>

#include "frontend/pool_spec.h"

namespace pooljit::frontend {

// An int64 that remembers whether it, or anything it was made from, overflowed.
class Checked {
 public:
  Checked(int64_t value = 0) : value_(value) {}  // implicit: numbers mix with Checked
  std::optional<int64_t> value() const { return overflow_ ? std::nullopt : std::optional(value_); }

  friend Checked operator+(Checked a, Checked b) {
    Checked r;
    r.overflow_ = __builtin_add_overflow(a.value_, b.value_, &r.value_) | a.overflow_ | b.overflow_;
    return r;
  }
  friend Checked operator-(Checked a, Checked b) {
    Checked r;
    r.overflow_ = __builtin_sub_overflow(a.value_, b.value_, &r.value_) | a.overflow_ | b.overflow_;
    return r;
  }
  friend Checked operator*(Checked a, Checked b) {
    Checked r;
    r.overflow_ = __builtin_mul_overflow(a.value_, b.value_, &r.value_) | a.overflow_ | b.overflow_;
    return r;
  }

 private:
  int64_t value_ = 0;
  bool overflow_ = false;
};

int64_t floor_div(int64_t dividend, int64_t divisor);

// Output positions along one dimension; may be less than 1, which a check then rejects.
std::optional<int64_t> output_extent(const SpecDim& dim, CeilMode ceil_mode);
// Of an unpool without output_size: what its windows cover, less the padding.
std::optional<int64_t> unpooled_extent(const SpecDim& dim);

// One number per axis of a tensor in logical order: N (if batched), C, spatial.
using Axes = boost::container::static_vector<int64_t, 2 + max_rank>;

// Of the kernel's input and output. Only where the extents of each dim have a value.
Axes input_axes(const PoolSpec& spec);
Axes output_axes(const PoolSpec& spec);

// Strides in elements of a packed tensor of this shape. In a blocked layout the last block is whole, and the
// stride of C is the distance of two blocks.
std::optional<Axes> packed_strides(const PoolSpec& spec, Layout layout, const Axes& shape);

// Elements from the first one to behind the last one of a view.
Checked reach(const PoolSpec& spec, Layout layout, const Axes& shape, const Axes& strides);

// The spec's dimension as lowering has it.
ir::NestDim nest_dim(const PoolSpec& spec, const SpecDim& dim);

}  // namespace pooljit::frontend
