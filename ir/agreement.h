// Results that an engine may return, judged by the oracle (ir/reference.h).
//   Maxima, minima, and what is made of integers and stays integer: the oracle's bits. Without indices any
//   NaN stands for any other, and where `zeros` is any, so does any zero. The rest: within error_bounds
//   (ir/error_bounds.h) of the oracle's; any NaN stands for any other.
// Engines that run the same Program agree with each other bit for bit; that is a memcmp, not this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/error_bounds.h"
#include "ir/nest.h"

namespace pooljit::ir {

// Gradients of 0 that a negative divisor shares out add up to a zero of either sign, and so do none.
bool shares_zeros_of_any_sign(const PoolNest& nest);

// The oracle's results for one input, for judging many engines. Keeps references to all arguments. indices:
// those that a backward pass reads, else null.
class Judge {
 public:
  Judge(const PoolNest& nest, int64_t batch, const void* input, const void* indices = nullptr,
        Operands operands = {});

  // The first output or index that no engine may return for this input, as a sentence; empty if there is
  // none.
  std::optional<std::string> disagreement(const void* output, const void* indices);

  // The oracle's results, as the views lay them out.
  const std::vector<std::byte>& output() const { return output_; }
  const std::vector<std::byte>& indices() const { return indices_; }

 private:
  template <typename T>
  std::optional<std::string> first_disagreement(const T* output, const void* indices);
  template <typename T>
  bool allows(T expected, T found, int64_t offset);
  const std::vector<ErrorBound>& bounds();
  bool writes_indices() const { return nest_.indices && !nest_.is_backward(); }

  const PoolNest& nest_;
  int64_t batch_;
  const void* input_;
  const void* read_indices_;
  const std::vector<const void*> operands_;
  std::vector<std::byte> output_, indices_;
  std::vector<ErrorBound> bounds_;  // made when the first result differs
};

std::optional<std::string> disagreement(const PoolNest& nest, int64_t batch, const void* input,
                                        const void* output, const void* indices, Operands operands = {});

}  // namespace pooljit::ir
