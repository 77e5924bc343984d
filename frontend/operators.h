// The operators of the canonical spelling, NAMERANKd or NAMERANKd_backward, and the keywords of each.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

#include "frontend/keywords.h"
#include "frontend/pool_spec.h"

namespace pooljit::frontend {

// How a spec gives the windows of a pooling. The window of a global one is its input.
enum class Form : uint8_t { window, adaptive, global, unpool };

struct Operator {
  std::string_view prefix, suffix;  // around RANKd
  ir::Reduction reduction;
  ir::Direction direction;
  Form form;
  bool quantized;
  std::array<Key, 6> positional;  // values without a keyword, in torch's order
  size_t positions;
  KeySet keys;

  bool allows(Key key) const { return keys >> static_cast<int>(key) & 1; }
};

template <typename... Keys>
constexpr KeySet set_of(Keys... keys) {
  return (KeySet{0} | ... | (KeySet{1} << static_cast<int>(keys)));
}

constexpr Operator make_operator(std::string_view prefix, std::string_view suffix, ir::Reduction reduction,
                                 ir::Direction direction, Form form, std::initializer_list<Key> positional,
                                 KeySet keys) {
  Operator op{prefix, suffix, reduction, direction, form, prefix.starts_with("quantized"), {}, 0, keys};
  for (Key key : positional) {
    op.positional[op.positions++] = key;
    op.keys |= set_of(key);
  }
  return op;
}

std::span<const Operator> operators();

// "max_pool2d".
std::string name_of(const Operator& op, size_t rank);

// The first of the operators that can make such a spec; null if none can.
const Operator* find_operator(std::span<const Operator> operators, const PoolSpec& spec);
inline const Operator* find_operator(const PoolSpec& spec) { return find_operator(operators(), spec); }
// The same of a checked spec.
const Operator& operator_of(const PoolSpec& spec);

}  // namespace pooljit::frontend
