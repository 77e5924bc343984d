// RollingOutputs: all outputs along one dimension, in order, with a RollingWindow. Where all new columns of
// an output lie in the image, outputs are a loop; the few at the ends, and what the first output finds, are
// straight-line code. Columns outside the image are left out, so padding costs nothing.
#pragma once

#include <functional>

#include "ir/schedules/lowering.h"
#include "ir/schedules/rolling_window.h"

namespace pooljit::ir {

class RollingOutputs {
 public:
  // One Value for each of the vectors that are done side by side.
  using Column = boost::container::small_vector<Value, 4>;
  using Load = std::function<Column(const Address& input)>;
  using Store = std::function<void(const Cursor&, const Column&)>;

  // join: reduces two columns, or what was made of them.
  RollingOutputs(const PoolNest& nest, size_t dim, Builder& builder, const Reducer& reducer,
                 Lowering& lowering, RollingWindow::Combine join);

  // Dense windows that overlap, and not too many outputs that need code of their own.
  static bool can_serve(const PoolNest& nest, size_t dim);
  // Vectors that an output needs at once, for each that is done side by side: what is held from output to
  // output, the new columns, and what is made of them.
  static size_t vectors(const PoolNest& nest, size_t dim, bool idempotent);

  // The cursor stands at position 0 of input and output; nothing: what a vector is before its first tap. load
  // reduces one position over all other dimensions; store gets a cursor with the dimension's window.
  void emit(const Cursor& cursor, const Column& nothing, const Load& load, const Store& store);

 private:
  struct Walk {
    const Cursor& cursor;
    const Column& nothing;
    const Load& load;
    const Store& store;
    std::vector<RollingWindow::Held> held = {};  // per vector side by side
  };
  bool in_image(int64_t position) const { return position >= 0 && position < dim_.visible_input(); }
  int64_t newest(int64_t output) const;  // the first of the columns that come in with an output
  void fill(Walk& walk);
  void one(Walk& walk, int64_t output, Value iv, int64_t outputs_per_iteration);
  int64_t loop(Walk& walk, int64_t begin, int64_t end);
  Column advance(Walk& walk, const std::vector<Column>& fresh);
  Value divisor(int64_t output, Value iv, int64_t outputs_per_iteration);

  const PoolNest& nest_;
  const size_t number_;
  const NestDim& dim_;
  Builder& b_;
  Lowering& low_;
  const RollingWindow window_;
  const RollingWindow::Combine join_;
  int table_ = -1;  // of divisors, where they differ
};

}  // namespace pooljit::ir
