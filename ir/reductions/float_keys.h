// Float keys: signed integers in the order of floats, in which NaNs of either sign lie at one end. The key of
// a float's bits x is x where the sign is clear and inf - x where it is set; inf: the bits of infinity.
// Differences wrap, so from the lowest key to the highest it goes
//
//   -inf ... -0, (a gap), +0 ... +inf, NaN of either sign
//
// The highest of the keys is that of the largest number, or of a NaN if there is one; the same function leads
// back from key to float (a NaN loses its sign). The order with NaN below -inf, for minima in which a NaN
// wins and for maxima in which it must not, is that of key + (the number of NaNs of one sign), which wraps
// once more.
#pragma once

#include <cstdint>
#include <limits>

#include "ir/builder.h"
#include "ir/reductions/stored.h"

namespace pooljit::ir {

// Shorter windows have too few joins for the keys of 32- and 64-bit floats to pay.
inline constexpr int64_t least_keyed_kernel = 5;

class FloatKeys {
 public:
  FloatKeys(Builder& builder, DType dtype, bool nans_above)
      : b_(builder),
        float_(dtype),
        key_(bytes(dtype) == 2   ? DType::i16
             : bytes(dtype) == 4 ? DType::i32
                                 : DType::i64),
        infinity_(float_bits(dtype, std::numeric_limits<double>::infinity())),
        nans_((std::numeric_limits<int64_t>::max() >> (64 - 8 * bytes(dtype))) - infinity_),
        nans_above_(nans_above) {}

  Value key(Value x) {
    const Value key = mirrored(b_.bitcast(Type::vec(key_, b_.type(x).lanes), x));
    return nans_above_ ? key : b_.binary(Op::add, key, b_.vconst_splat(b_.type(key), nans_));
  }
  Value value(Value key) {
    const Type keys = b_.type(key);
    if (!nans_above_) key = b_.binary(Op::sub, key, b_.vconst_splat(keys, nans_));
    return b_.bitcast(Type::vec(float_, keys.lanes), mirrored(key));
  }
  // Of the bits of a float that is no NaN.
  Value constant(int64_t bits, int lanes) {
    // Unsigned, because differences wrap.
    const auto inf = static_cast<uint64_t>(infinity_), x = static_cast<uint64_t>(bits);
    const uint64_t key = (bits == infinity_ ? x : inf - x) + static_cast<uint64_t>(nans_above_ ? 0 : nans_);
    return b_.vconst_splat(Type::vec(key_, lanes), static_cast<int64_t>(key));
  }

 private:
  Value mirrored(Value x) {
    const Type type = b_.type(x);
    const Value negative = b_.cmp(Predicate::lt, x, b_.vconst_splat(type, 0));
    return b_.select(negative, b_.binary(Op::sub, b_.vconst_splat(type, infinity_), x), x);
  }

  Builder& b_;
  const DType float_, key_;
  const int64_t infinity_, nans_;  // nans_: of one sign
  const bool nans_above_;
};

}  // namespace pooljit::ir
