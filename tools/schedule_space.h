// The schedules of a spec as data, for tuners: named parameters with their values, constraints between them,
// and a schedule as an object of parameters.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ir/error.h"
#include "ir/schedule.h"

namespace pooljit::tools {

// {"family": "channels_last", "lanes": 8, ...}: every parameter, in the order of the space.
nlohmann::ordered_json parameters_of(const ir::Schedule& schedule);

// Of an object of parameters (what is left out has its usual value), an object with a text "schedule", or a
// text. Errors: "schedule.text", and those of parse_schedule.
ir::Result<ir::Schedule> schedule_of(const std::string& text);

// Each parameter: name, type and the values that the schedules have.
nlohmann::ordered_json parameter_space(const std::vector<ir::Schedule>& schedules);

// Which values go together, so that exactly these schedules are left: "parameters" and "allowed" tuples of
// their values. Each constrains its last parameter by those before it that matter: who draws them in the
// order of the space from what is allowed never draws in vain.
nlohmann::ordered_json space_constraints(const std::vector<ir::Schedule>& schedules);

// Values, or tuples of them, as a list of Python's.
std::string python_list(const nlohmann::ordered_json& values);

// A schedule that is refused: the one form of it.
nlohmann::ordered_json refusal_json(const std::string& schedule, const ir::Error& error);

}  // namespace pooljit::tools
