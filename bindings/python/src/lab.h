// Functions for fuzzers and tuners: random specs, the oracle, comparing, schedules and their times.
#pragma once

#include <pybind11/pybind11.h>

namespace pooljit::python {

void register_specs(pybind11::module_& module);
void register_lab(pybind11::module_& module);
void register_tuning(pybind11::module_& module);

}  // namespace pooljit::python
