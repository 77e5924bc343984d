// Schedules, their times, and the tuner, for Python.
#include <pybind11/stl.h>

#include "bindings/python/src/compiling.h"
#include "bindings/python/src/errors.h"
#include "bindings/python/src/lab.h"
#include "bindings/python/src/unlocked.h"
#include "lab/schedules/candidates.h"
#include "lab/schedules/explain.h"
#include "lab/tuner.h"
#include "runtime/compile.h"
#include "runtime/tuning/store.h"

namespace pooljit::python {
namespace {

py::tuple tuple_of(const runtime::Timing& timing) {
  return py::make_tuple(timing.median, timing.spread(), timing.samples);
}

// Rows of (schedule, predicted seconds or None, is it the default).
py::list schedules(const std::string& text, bool costs, const py::dict& words) {
  const runtime::Options options = options_of(words);
  const auto rows = value_or_raise(unlocked([&]() -> ir::Result<std::vector<runtime::ScheduleInfo>> {
    const auto spec = frontend::parse_spec(text);
    if (!spec) return tl::unexpected(spec.error());
    return runtime::list_schedules(*spec, options, costs);
  }));
  py::list list;
  for (const runtime::ScheduleInfo& row : rows)
    list.append(
        py::make_tuple(row.schedule, costs ? py::cast(row.predicted_seconds) : py::none(), row.is_default));
  return list;
}

// The fields of Explanation in order, its families as tuples of their fields, its members, and its text.
py::tuple as_tuple(const runtime::Explanation& why) {
  py::list families, samples, members;
  for (const runtime::Explanation::FamilyVerdict& one : why.families) {
    py::dict price;
    for (const auto& [part, cycles] : one.price) price[py::str(part)] = cycles;
    py::list rules;
    for (const auto& [name, about, evidence] : one.rules) rules.append(py::make_tuple(name, about, evidence));
    families.append(py::make_tuple(one.family, one.verdict, one.reason, one.schedule, one.schedules,
                                   one.filled_lanes, one.predicted_seconds, price, rules));
  }
  for (const ir::Evidence& one : why.evidence)
    samples.append(py::make_tuple(one.machine, one.layers, one.within_percent / 100.0, one.loss, one.worst));
  for (const runtime::Explanation& member : why.members) members.append(as_tuple(member));
  return py::make_tuple(why.schedule, why.decided_by, why.second_over_first, why.isa, why.machine,
                        why.output_leaves_the_caches, families, samples, why.spec, members, why.text());
}

py::tuple explain(const std::string& text, const py::dict& words) {
  const runtime::Options options = options_of(words);
  return as_tuple(value_or_raise(unlocked([&]() -> ir::Result<runtime::Explanation> {
    const auto spec = frontend::parse_spec(text);
    if (!spec) return tl::unexpected(spec.error());
    return runtime::explain(*spec, options);
  })));
}

// True if Ctrl-C or another handler of Python's raised something, which then is the current exception.
bool was_signalled() {
  return relocked([] { return PyErr_CheckSignals() != 0; });
}

// False if it raised something, which then is the current exception.
bool tell(const py::object& progress, const std::string& what) {
  if (progress.is_none()) return true;
  return relocked([&] {
    try {
      progress(what);
      return true;
    } catch (py::error_already_set& failed) {
      failed.restore();
      return false;
    }
  });
}

py::dict tune(const std::string& text, const py::dict& words, double seconds, const py::object& database,
              const py::object& progress) {
  const runtime::Options options = options_of(words);
  const std::string path = database.is_none() ? "" : database.cast<std::string>();
  if (!path.empty()) value_or_raise(runtime::check_storable(path));
  bool is_stopped = false;
  const runtime::TuneLimits limits{
      .seconds = seconds,
      .stopped = [&] { return is_stopped = is_stopped || was_signalled(); },
      .progress = [&](const std::string& what) { is_stopped = is_stopped || !tell(progress, what); }};
  auto found = unlocked([&] { return runtime::tune(text, options, limits); });
  if (is_stopped && PyErr_Occurred()) throw py::error_already_set();
  const runtime::TuneResult result = value_or_raise(std::move(found));
  if (!path.empty()) value_or_raise(unlocked([&] { return runtime::store_entries(path, {result.entry}); }));
  py::dict dict;
  dict["schedule"] = result.entry.schedule;
  dict["best"] = tuple_of(result.best);
  dict["default"] = tuple_of(result.standard);
  dict["legal"] = result.legal;
  dict["measured"] = result.measured;
  dict["proof"] = result.entry.proof;
  dict["notes"] = result.notes;
  return dict;
}

}  // namespace

void register_tuning(py::module_& module) {
  module.def("schedules", schedules);
  module.def("explain", explain);
  module.def("tune", tune);
  module.def("set_measure",
             [](const py::object& measure) { value_or_raise(runtime::set_measure(measure_of(measure))); });
}

}  // namespace pooljit::python
