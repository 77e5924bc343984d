// Numbers that can still be told apart in an output after the steps of an epilogue. Probes and rounds choose
// numbers that outputs tell apart. Every step keeps or turns the order of the numbers that go through it
// (rounding included), and so do all of them together: if outputs tell two results apart, they tell apart any
// two that lie further apart.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/nest.h"

namespace pooljit::runtime {

double number_of(ir::DType dtype, uint64_t bits);
uint64_t bits_of(ir::DType dtype, double value);

// By operand, as ir::operand_views() lists them: what leaves a result as it is. 1 for factors, else 0.
std::vector<double> neutral_operands(const ir::PoolNest& nest);

// From a result to the output's bits, with neutral operands. All NaNs are one.
class Through {
 public:
  explicit Through(const ir::PoolNest& nest) : nest_(nest), operands_(neutral_operands(nest)) {}
  uint64_t output(double result) const;

 private:
  const ir::PoolNest& nest_;
  std::vector<double> operands_;
};

// Elements in the order of the reduction, least < middle < most, whose outputs differ if any three do; if
// only two do, middle is most; if none, all are one. `wanted` are kept where they do.
struct Ordered {
  uint64_t least, middle, most;
  bool operator==(const Ordered&) const = default;
};
Ordered told_apart(const ir::PoolNest& nest, const Ordered& wanted);

// Elements to send through the steps: all there are of 8 bits; else some, those near the steps' own numbers
// among them.
std::vector<uint64_t> step_elements(const ir::PoolNest& nest);
// True if those are all that ever go through the steps.
bool has_all_steps(const ir::PoolNest& nest);

}  // namespace pooljit::runtime
