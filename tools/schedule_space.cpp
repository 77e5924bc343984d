#include "tools/schedule_space.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "ir/schedule_fields.h"
#include "ir/schedule_text.h"

namespace pooljit::tools {
namespace {

using Json = nlohmann::ordered_json;

// Numbers have an order that a tuner can use; words have none.
bool is_number(const std::string& value) {
  const size_t digits = value.starts_with('-') ? 1 : 0;
  return value.size() > digits && value.find_first_not_of("0123456789", digits) == std::string::npos;
}

Json as_value(const std::string& value) {
  if (is_number(value)) return std::stoll(value);
  return value;
}

std::string word_of(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

struct Parameter {
  std::string name, value;
};

// What a schedule has in a field that its family lacks. A tuner's configurations have all fields.
const std::string no_word = "none", no_number = "1";

// The fields that some family has beside those of all, each name once.
const std::vector<ir::ScheduleField>& fields_of_families() {
  static const std::vector<ir::ScheduleField> all = [] {
    std::vector<ir::ScheduleField> found;
    for (const ir::Family family : ir::all_families)
      for (const ir::ScheduleField& field : ir::fields(family))
        if (std::ranges::find(found, field.name, &ir::ScheduleField::name) == found.end())
          found.push_back(field);
    return found;
  }();
  return all;
}

// Values that say nothing are left out of texts.
bool is_left_out(const std::string& name, const std::string& value) {
  return (value == no_word || value == no_number) &&
         std::ranges::find(fields_of_families(), name, &ir::ScheduleField::name) !=
             fields_of_families().end();
}

std::string value_of(const ir::ScheduleField& field, const ir::Schedule& schedule) {
  for (const ir::ScheduleField& own : ir::fields(schedule.family()))
    if (own.name == field.name) return value_text(own, schedule);
  return field.is_number() ? no_number : no_word;
}

// All fields but one of those that come last.
std::vector<Parameter> fields_of_one(const ir::Schedule& schedule, std::string_view without) {
  std::vector<Parameter> fields = {{"family", std::string(text_of(schedule.family()))}};
  const auto add = [&](const ir::ScheduleField& field, std::string value) {
    if (field.name != without) fields.push_back({std::string(field.name), std::move(value)});
  };
  for (const ir::ScheduleField& field : ir::first_fields()) add(field, value_text(field, schedule));
  for (const ir::ScheduleField& field : fields_of_families()) add(field, value_of(field, schedule));
  for (const ir::ScheduleField& field : ir::last_fields()) add(field, value_text(field, schedule));
  return fields;
}

// Of several pools, where some are made of others' results: one word, as there is nothing to search.
const std::string copies_name = "copies", no_copies = "none";

std::string member_head(size_t number) { return fmt::format("member{}.", number); }

std::vector<Parameter> fields_of(const ir::Schedule& schedule) {
  if (!is_pools(schedule)) return fields_of_one(schedule, "from");
  std::vector<Parameter> fields = {{"loops", schedule.fused ? "fused" : "each"},
                                   {"channels", std::to_string(schedule.tasks.channels)},
                                   {"rows", std::to_string(schedule.tasks.rows)}};
  for (size_t i = 0; i < schedule.members.size(); ++i) {
    for (const Parameter& field : fields_of_one(schedule.members[i], "stores"))
      fields.push_back({member_head(i) + field.name, field.value});
  }
  std::vector<std::string> copies;
  for (const ir::Schedule& copy : schedule.copies) copies.push_back(print(copy));
  fields.push_back({copies_name, copies.empty() ? no_copies : fmt::format("{}", fmt::join(copies, "; "))});
  return fields;
}

// "family(name=value, ...)" of the parameters whose names begin with `head`; they leave the object.
std::string take_text(Json& object, const std::string& head) {
  std::string name, words;
  for (auto it = object.begin(); it != object.end();) {
    if (!it.key().starts_with(head)) {
      ++it;
      continue;
    }
    const std::string own = it.key().substr(head.size()), value = word_of(it.value());
    if (own == "family" || own == "loops")
      name = value;
    else if (!is_left_out(own, value))
      words += fmt::format("{}{}={}", words.empty() ? "" : ", ", own, value);
    it = object.erase(it);
  }
  return fmt::format("{}({})", name, words);
}

std::string python(const Json& value) {
  if (value.is_string()) return fmt::format("'{}'", value.get<std::string>());
  if (!value.is_array()) return value.dump();
  std::vector<std::string> words;
  for (const Json& one : value) words.push_back(python(one));
  return fmt::format("({})", fmt::join(words, ", "));
}

// Of each schedule its parameters' values, each read once.
struct Table {
  using Row = std::vector<std::string>;
  std::vector<std::string> names;
  std::vector<Row> rows;

  explicit Table(const std::vector<ir::Schedule>& schedules) {
    for (const ir::Schedule& schedule : schedules) {
      Row& row = rows.emplace_back();
      for (Parameter& field : fields_of(schedule)) {
        if (rows.size() == 1) names.push_back(field.name);
        row.push_back(std::move(field.value));
      }
    }
  }

  std::vector<Json> values(size_t parameter) const {
    std::vector<Json> values;
    std::set<std::string> seen;
    for (const auto& row : rows)
      if (seen.insert(row[parameter]).second) values.push_back(as_value(row[parameter]));
    if (!values.empty() && values.front().is_number()) std::ranges::sort(values);
    return values;
  }

  // Of those before it, the parameters that say which values of this one are legal: with the least of them
  // every other one may be what it likes. The nearest are kept.
  std::vector<size_t> deciding(size_t parameter) const {
    std::map<Row, std::set<std::string>> legal;
    for (const Row& row : rows)
      legal[Row(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(parameter))].insert(row[parameter]);
    std::vector<size_t> kept(parameter);
    std::iota(kept.begin(), kept.end(), size_t{0});
    for (size_t one = 0; one < parameter; ++one) {
      std::vector<size_t> fewer = kept;
      std::erase(fewer, one);
      std::map<Row, const std::set<std::string>*> by_fewer;
      const bool decides = std::ranges::all_of(legal, [&](const auto& prefix) {
        const auto& [before, values] = prefix;
        return *by_fewer.try_emplace(picked(before, fewer), &values).first->second == values;
      });
      if (decides) kept = fewer;
    }
    return kept;
  }

  // The different tuples of some parameters' values.
  std::vector<std::vector<Json>> tuples(const std::vector<size_t>& parameters) const {
    std::vector<std::vector<Json>> found;
    std::set<Row> seen;
    for (const Row& row : rows) {
      const Row tuple = picked(row, parameters);
      if (!seen.insert(tuple).second) continue;
      std::vector<Json>& values = found.emplace_back();
      for (const std::string& value : tuple) values.push_back(as_value(value));
    }
    return found;
  }

 private:
  static Row picked(const Row& row, const std::vector<size_t>& parameters) {
    Row values;
    for (const size_t one : parameters) values.push_back(row[one]);
    return values;
  }
};

}  // namespace

Json parameters_of(const ir::Schedule& schedule) {
  Json parameters;
  for (const Parameter& field : fields_of(schedule)) parameters[field.name] = as_value(field.value);
  return parameters;
}

ir::Result<ir::Schedule> schedule_of(const std::string& text) {
  if (text.find_first_not_of(" \t") == std::string::npos || text[text.find_first_not_of(" \t")] != '{')
    return ir::parse_schedule(text);
  Json object = Json::parse(text, nullptr, false);
  if (object.is_discarded())
    return ir::invalid("schedule.text", "the configuration is neither a schedule nor a JSON object",
                       R"({"family": "channels_last", "lanes": 8})");
  if (object.contains("schedule") && object["schedule"].is_string())
    return ir::parse_schedule(object["schedule"].get<std::string>());
  std::vector<std::string> members;
  while (object.contains(member_head(members.size()) + "family"))
    members.push_back(take_text(object, member_head(members.size())));
  if (members.empty()) {
    if (object.contains("family")) return ir::parse_schedule(take_text(object, ""));
    return ir::invalid(
        "schedule.text", "the configuration names no family",
        R"({"family": "channels_last", "lanes": 8}; of several pools one for each: "member0.family")");
  }
  // The usual values of what the text cannot leave out.
  Json all = {{"loops", "each"}, {"channels", 1}, {"rows", 1}, {copies_name, no_copies}};
  all.update(object);
  const std::string copies = word_of(all[copies_name]);
  all.erase(copies_name);
  return ir::parse_schedule(fmt::format("{}[{}]{}", take_text(all, ""), fmt::join(members, "; "),
                                        copies == no_copies ? "" : fmt::format(" copies[{}]", copies)));
}

Json parameter_space(const std::vector<ir::Schedule>& schedules) {
  const Table table(schedules);
  Json parameters = Json::array();
  for (size_t i = 0; i < table.names.size(); ++i)
    parameters.push_back({{"name", table.names[i]},
                          {"type", is_number(table.rows.front()[i]) ? "ordinal" : "categorical"},
                          {"values", table.values(i)}});
  return parameters;
}

Json space_constraints(const std::vector<ir::Schedule>& schedules) {
  const Table table(schedules);
  Json constraints = Json::array();
  if (schedules.empty()) return constraints;
  for (size_t parameter = 1; parameter < table.names.size(); ++parameter) {
    std::vector<size_t> together = table.deciding(parameter);
    if (together.empty()) continue;  // every value goes with everything before it
    together.push_back(parameter);
    std::vector<std::string> names;
    for (const size_t one : together) names.push_back(table.names[one]);
    constraints.push_back({{"parameters", names}, {"allowed", table.tuples(together)}});
  }
  return constraints;
}

std::string python_list(const Json& values) {
  std::vector<std::string> words;
  for (const Json& one : values) words.push_back(python(one));
  return fmt::format("[{}]", fmt::join(words, ", "));
}

Json refusal_json(const std::string& schedule, const ir::Error& error) {
  return {{"schedule", schedule}, {"status", "refused"},  {"legal", false},
          {"id", error.id},       {"why", error.message}, {"hint", error.hint}};
}

}  // namespace pooljit::tools
