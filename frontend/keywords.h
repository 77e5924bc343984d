// The keywords of the canonical spelling: how each is read into a PoolSpec, told from its default, and
// printed. One row of frontend/keywords.def each.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "frontend/pool_spec.h"
#include "frontend/printer.h"
#include "frontend/values.h"

namespace pooljit::frontend {

enum class Key : uint8_t {
#define KEYWORD(name, none, ...) name,
#include "frontend/keywords.def"
#undef KEYWORD
};

using KeySet = uint32_t;  // one bit per Key

struct Keyword {
  Key key;
  std::string_view name;
  bool none_is_default;
  Broken (*read)(const ArgumentValue&, PoolSpec&);
  bool (*is_set)(const PoolSpec&);  // differs from its default, so that it is printed
  void (*print)(Printer&, const PoolSpec&);
};

// In the order of Key.
std::span<const Keyword> keywords();

// "nhwc" for any rank.
std::string_view layout_name(Layout layout);
std::optional<Layout> find_layout(std::string_view name, size_t rank);

std::span<const Choosable<ir::IndexScope>> index_scopes();

// "float32"; quantised integers are "quint8".
struct TensorType {
  ir::DType dtype;
  bool quantized;
};
std::optional<TensorType> find_tensor_type(std::string_view name);

}  // namespace pooljit::frontend
