#include "frontend/values.h"

#include <fmt/format.h>

#include <limits>
#include <string>

#include "frontend/rules.h"

namespace pooljit::frontend {

namespace {

Broken wrong_count(const ArgumentValue& value, const PoolSpec& spec) {
  return broken(Rule::count, fmt::format("got {} numbers for {} spatial dims in {}", value.integers.size(),
                                         spec.dims.size(), quote(value.text, value.at)))
      .value();
}

}  // namespace

Broken wrong_kind(const ArgumentValue& value, std::string_view wanted) {
  return broken(Rule::value, fmt::format("got {}", quote(value.text, value.at)),
                fmt::format("{} expected", wanted))
      .value();
}

Broken wrong_choice(const ArgumentValue& value, std::span<const std::string_view> names) {
  std::string list;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0) list += i + 1 == names.size() ? " or " : ", ";
    list += names[i];
  }
  return wrong_kind(value, list);
}

Broken read_dims(const ArgumentValue& value, PoolSpec& spec, int64_t SpecDim::*member) {
  const bool is_list = value.kind == ArgumentValue::Kind::list;
  if ((!is_list && value.kind != ArgumentValue::Kind::integer) || value.nones != 0)
    return wrong_kind(value, "an integer, or a list with one per dim,");
  if (is_list && value.integers.size() != spec.dims.size()) return wrong_count(value, spec);
  for (size_t i = 0; i < spec.dims.size(); ++i) spec.dims[i].*member = value.integers[is_list ? i : 0];
  return std::nullopt;
}

Broken read_padding(const ArgumentValue& value, PoolSpec& spec) {
  const size_t rank = spec.dims.size();
  if (value.kind != ArgumentValue::Kind::list || value.integers.size() != 2 * rank) {
    if (auto error = read_dims(value, spec, &SpecDim::pad_begin)) return error;
    return read_dims(value, spec, &SpecDim::pad_end);
  }
  for (size_t i = 0; i < rank; ++i) {
    spec.dims[i].pad_begin = value.integers[i];
    spec.dims[i].pad_end = value.integers[rank + i];
  }
  return std::nullopt;
}

Broken read_integer(const ArgumentValue& value, int64_t& result) {
  if (value.kind != ArgumentValue::Kind::integer) return wrong_kind(value, "an integer");
  result = value.integers[0];
  return std::nullopt;
}

Broken read_number(const ArgumentValue& value, double& result) {
  if (value.kind == ArgumentValue::Kind::integer)
    result = static_cast<double>(value.integers[0]);
  else if (value.kind == ArgumentValue::Kind::decimal)
    result = value.decimal;
  else if (value.kind == ArgumentValue::Kind::word && value.text == "inf")
    result = std::numeric_limits<double>::infinity();
  else
    return wrong_kind(value, "a number");
  return std::nullopt;
}

Broken read_list(const ArgumentValue& value, std::string_view wanted, std::vector<int64_t>& result) {
  if (value.kind != ArgumentValue::Kind::list || value.integers.empty() || value.nones != 0)
    return wrong_kind(value, wanted);
  result.assign(value.integers.begin(), value.integers.end());
  return std::nullopt;
}

}  // namespace pooljit::frontend
