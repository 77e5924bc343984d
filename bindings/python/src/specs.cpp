// Specs as Python sees them: what a text means, other spellings of it, random ones.
#include <fmt/format.h>
#include <pybind11/stl.h>

#include "bindings/python/src/arrays.h"
#include "bindings/python/src/errors.h"
#include "bindings/python/src/lab.h"
#include "frontend/dialects.h"
#include "tools/fuzz/random_spec.h"

namespace pooljit::python {
namespace {

namespace py = pybind11;

std::string name_of(ir::DType dtype) { return std::string(ir::info(dtype).spec_name); }

// What pooljit.Spec shows, by name.
py::dict facts(const std::string& text) {
  const frontend::PoolSpec spec = value_or_raise(frontend::parse_spec(text, frontend::FreeDims::allowed));
  py::dict facts;
  facts["text"] = frontend::print(spec);
  facts["signature"] = frontend::signature(spec);
  facts["free_dims"] = frontend::free_letters(spec);
  facts["input_shape"] = tuple_of(frontend::input_shape(spec));
  facts["output_shape"] = tuple_of(frontend::output_shape(spec));
  facts["input_strides"] = tuple_of(frontend::input_strides(spec));
  facts["output_strides"] = tuple_of(frontend::output_strides(spec));
  facts["input_dtype"] = name_of(spec.dtype);
  facts["output_dtype"] = name_of(frontend::output_dtype(spec));
  facts["index_dtype"] =
      frontend::has_indices(spec) ? py::object(py::str(name_of(spec.index_dtype))) : py::none();
  facts["batch"] = spec.free_batch ? py::object(py::str("N"))
                   : spec.batch    ? py::object(py::int_(*spec.batch))
                                   : py::none();
  const ir::Direction direction = spec.direction;
  facts["direction"] = direction == ir::Direction::forward    ? "forward"
                       : direction == ir::Direction::backward ? "backward"
                                                              : "unpool";
  return facts;
}

std::string text_as(const std::string& text, const std::string& wanted) {
  const frontend::PoolSpec spec = value_or_raise(frontend::parse_meaning(text));
  std::string names;
  for (const frontend::Dialect& dialect : frontend::dialects()) {
    if (dialect.name == wanted) return value_or_raise(frontend::print_as(dialect, spec));
    names += fmt::format("{}{}", names.empty() ? "" : ", ", dialect.name);
  }
  raise(ir::invalid("python.dialect", fmt::format("no dialect is called {}", wanted), names));
}

std::string sized_text(const std::string& text, const std::vector<int64_t>& size) {
  const frontend::PoolSpec spec = value_or_raise(frontend::parse_spec(text, frontend::FreeDims::allowed));
  return frontend::print(value_or_raise(frontend::with_sizes(spec, size)));
}

// Specs of a seed, one after the other.
class RandomSpecs {
 public:
  RandomSpecs(uint32_t seed, bool plain)
      : draw_(seed), style_(plain ? fuzz::Style::plain : fuzz::Style::any) {}
  std::string next() { return frontend::print(fuzz::random_spec(draw_, style_)); }

 private:
  fuzz::Draw draw_;
  fuzz::Style style_;
};

}  // namespace

void register_specs(py::module_& module) {
  module.def("spec_facts", facts);
  module.def("spec_as", text_as);
  module.def("spec_sized", sized_text);
  py::class_<RandomSpecs>(module, "RandomSpecs")
      .def(py::init<uint32_t, bool>(), py::arg("seed"), py::arg("plain"))
      .def("__iter__", [](const py::object& self) { return self; })
      .def("__next__", &RandomSpecs::next);
}

}  // namespace pooljit::python
