// RollingOutputs: makes all outputs along one dimension, in order, with a RollingWindow. Outputs whose new
// columns are all in the image are a loop. The few at the ends, and the columns before the first output, are
// straight-line code. Columns outside the image are left out, so padding costs nothing.
#pragma once

#include "ir/nest.h"
#include "ir/reductions/reducer.h"
#include "ir/schedules/windows/held_vectors.h"
#include "ir/schedules/windows/rolling_window.h"

namespace pooljit::ir {

class RollingOutputs {
 public:
  RollingOutputs(const NestDim& dim, Builder& builder, const ReductionFacts& facts, Join join);

  // True for dense windows that overlap, if not too many outputs need code of their own.
  static bool can_serve(const NestDim& dim);
  // How many times the code loads a position.
  static int64_t loads_in_code(const NestDim& dim);
  // Vectors that an output needs at once, for each vector done side by side: those held from output to
  // output, the new columns, and the partials made of them.
  struct Needs {
    size_t vectors = 0;
    size_t held = 0;  // of those, from output to output
  };
  static Needs needs(const NestDim& dim, bool idempotent);

  // nothing: the value of a vector before its first tap. load gives what one position of the input stands
  // for.
  void emit(const Bundle& nothing, const LoadBundle& load, const StoreBundle& store);
  // Outputs of one iteration. Between them held values change their names; they are moved between registers
  // once an iteration.
  static constexpr int64_t outputs_per_iteration = 2;
  // A dimension that is one iteration over whole windows, of `outputs` outputs.
  static NestDim iteration_of(const NestDim& dim, int64_t outputs);
  // Loops one after the other, of so many iterations each (index values), over outputs whose windows count as
  // whole. dim is one iteration. Positions count from the first output of each loop; `before` loads the
  // columns before the first loop's first output.
  struct Stage {
    Value iterations = no_value;
    int64_t outputs = 1;  // of an iteration
    LoadBundle load;
    StoreBundle store;
  };
  void emit_stages(const Bundle& nothing, const LoadBundle& before, const std::vector<Stage>& stages);
  // The outputs that are stored in a loop.
  Interior looped() const { return looped_; }
  // For averages: if only a few outputs at the ends have other divisors, they leave the loop, so that it
  // divides by a constant.
  void divide_alike(const PoolNest& nest);

 private:
  struct Walk {
    const Bundle& nothing;
    const LoadBundle& load;
    const StoreBundle& store;
    std::vector<RollingWindow::Held> held = {};  // per vector side by side
  };
  bool in_image(int64_t position) const { return position >= 0 && position < dim_.visible_input(); }
  int64_t newest(int64_t output) const;  // the first of the columns that come in with an output
  void fill(Walk& walk);
  void one(Walk& walk, const Position& output);
  void repeat(Walk& walk, int64_t begin, Value trips, int64_t outputs);
  int64_t loop(Walk& walk, int64_t begin, int64_t end);
  Bundle advance(Walk& walk, const std::vector<Bundle>& fresh);

  const NestDim& dim_;
  Interior looped_;
  Builder& b_;
  const RollingWindow window_;
  const Join join_;
};

}  // namespace pooljit::ir
