// Shared by the readers of layers as data: fields that become a spec's, and errors that name them.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/pool_spec.h"
#include "ir/error.h"
#include "pooljit_layer.h"

namespace pooljit::runtime {

using Broken = std::optional<ir::Error>;

// In the order of ir::Reduction.
inline constexpr const char* operation_names[] = {
#define REDUCTION(name, text, ...) text,
#include "ir/reductions.def"
#undef REDUCTION
};

// "layer.field"
Broken wrong_field(std::string_view field, std::string_view got, std::string hint);
Broken check_flag(std::string_view field, int32_t value);
inline std::string_view text_or_empty(const char* text) { return text ? text : ""; }

// The layout that a spec's text would name.
Broken read_layout(std::string_view field, const pooljit_tensor& tensor, const char* order,
                   frontend::Layout& layout);
// Empty: packed in the layout.
std::vector<int64_t> explicit_strides(const pooljit_tensor& tensor, const frontend::PoolSpec& spec);
// Layout and strides of the output, which are the input's layout and packed where nothing is said.
Broken read_output_place(const pooljit_tensor& output, const char* order, frontend::PoolSpec& spec);

// A field that follows from others must have that value if it is given.
Broken compare_tensor(std::string_view field, const pooljit_tensor& tensor, bool is_batched,
                      const std::vector<int64_t>& shape, const std::vector<int64_t>& strides);

// The fields that there are, the rest 0.
template <typename Struct>
Broken read_size(const char* name, const Struct& given, Struct& read) {
  const auto wrong = [&](std::string message, std::string hint) {
    return ir::Error{ir::ErrorKind::invalid, "layer.size", std::move(message), std::move(hint)};
  };
  if (given.size < sizeof read)  // of the first version
    return wrong(fmt::format("size of the {} is {}", name, given.size),
                 fmt::format("{}.size = sizeof {}, and 0 in what is not set", name, name));
  const auto* const bytes = reinterpret_cast<const unsigned char*>(&given);
  if (std::any_of(bytes + sizeof read, bytes + given.size, [](unsigned char byte) { return byte != 0; }))
    return wrong(fmt::format("size of the {} is {}, and a field that this library does not know is set", name,
                             given.size),
                 "install a newer pooljit");
  std::memcpy(&read, &given, sizeof read);
  return std::nullopt;
}

}  // namespace pooljit::runtime
