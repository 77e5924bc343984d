// RollingWindow: overlapping windows along one dimension, each reduced from what the one before left. Only
// `stride` new columns enter for an output; a column is whatever one position of the dimension stands for.
// From output to output it holds columns and reductions of neighbouring columns, at most kernel - stride in
// all. The number of combinations for an output grows with the logarithm of the kernel.
//
// A partial is the reduction of `length` columns from `begin` on, counted from the window of the next output.
// Longer partials are made of two shorter ones (ir/schedules/windows/split.h), in the way that combines
// least.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/program.h"
#include "ir/schedules/windows/scan.h"
#include "ir/schedules/windows/split.h"

namespace pooljit::ir {

class RollingWindow {
 public:
  struct Partial {
    int64_t begin = 0, length = 1;
    bool operator==(const Partial&) const = default;
    bool operator<(const Partial& other) const {
      return begin < other.begin || (begin == other.begin && length < other.length);
    }
  };
  // One Value per partial; no_value: no column of it lies in the image.
  using Held = Values;

  // Dense windows: kernel > stride.
  RollingWindow(int64_t kernel, int64_t stride, bool idempotent);

  const InlineList<Partial, 16>& held() const { return held_; }
  int64_t combinations() const { return static_cast<int64_t>(advance_.combined.size()); }  // per output

  // The values held before the first output, made of its first kernel - stride columns.
  Held begin(const std::vector<Value>& columns, const Join& join) const;
  // One output: returns the window's reduction, from the held values and the `stride` new columns. held
  // becomes that of the next output.
  Value advance(Held& held, const std::vector<Value>& fresh, const Join& join) const;

 private:
  // How partials are made of others, as numbers: the given ones come first, then the combined ones, each made
  // of two before it.
  struct Recipe {
    struct Two {
      uint32_t earlier, later;
    };
    InlineList<Two, 24> combined;
    InlineList<uint32_t, 24> wanted;
  };
  class Cook;
  RollingWindow(int64_t kernel, int64_t stride, Split split);
  void find_held();

  int64_t kernel_, stride_;
  Split split_;
  InlineList<Partial, 16> held_;
  Recipe advance_;  // what is held, then the new columns; wanted: the window, then what is held next
};

}  // namespace pooljit::ir
