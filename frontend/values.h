// Values of arguments, read into their fields. An error names the value and the values that are expected; it
// is spec.value or spec.count.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "frontend/pool_spec.h"
#include "frontend/text.h"

namespace pooljit::frontend {

using Broken = std::optional<ir::Error>;

Broken wrong_kind(const ArgumentValue& value, std::string_view wanted);
Broken wrong_choice(const ArgumentValue& value, std::span<const std::string_view> names);

// One number for all dims, or one per dim.
Broken read_dims(const ArgumentValue& value, PoolSpec& spec, int64_t SpecDim::*member);

// As read_dims, for both ends; or the begins of all dims and then their ends.
Broken read_padding(const ArgumentValue& value, PoolSpec& spec);

Broken read_integer(const ArgumentValue& value, int64_t& result);
Broken read_number(const ArgumentValue& value, double& result);

// A list with at least one number.
Broken read_list(const ArgumentValue& value, std::string_view wanted, std::vector<int64_t>& result);

template <typename T>
struct Choosable {
  std::string_view name;
  T value;
};

// One of a few words. Of rows with the same value the first is its name.
template <typename T>
Broken read_choice(const ArgumentValue& value, std::span<const Choosable<T>> rows, T& result) {
  std::vector<std::string_view> names;
  for (auto row = rows.begin(); row != rows.end(); ++row) {
    if (row->name == value.text) {
      result = row->value;
      return std::nullopt;
    }
    if (std::none_of(rows.begin(), row, [&](const auto& other) { return other.value == row->value; }))
      names.push_back(row->name);
  }
  return wrong_choice(value, names);
}

template <typename T>
std::string_view name_of_choice(std::span<const Choosable<T>> rows, T value) {
  return std::find_if(rows.begin(), rows.end(), [&](const auto& row) { return row.value == value; })->name;
}

}  // namespace pooljit::frontend
