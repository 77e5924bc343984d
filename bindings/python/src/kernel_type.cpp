// The Python type pooljit.Kernel: its call, its properties, and its texts.
#include <fmt/format.h>
#include <pybind11/stl.h>

#include <cmath>
#include <limits>

#include "bindings/python/src/compiling.h"
#include "bindings/python/src/errors.h"
#include "bindings/python/src/interruptible.h"
#include "bindings/python/src/kernel.h"
#include "ir/schedule_text.h"
#include "ir/text.h"
#include "jit/backend.h"
#include "jit/fork_gate.h"
#include "runtime/compile.h"
#include "runtime/kernel_name.h"
#include "runtime/tuning/workload.h"

namespace pooljit::python {
namespace {

// What machine code, or the interpreter, was given.
ir::Result<ir::Program> program_of(const runtime::Code& code, ir::Stage stage) {
  runtime::Choices choices;
  choices.isa = *ir::find_isa(code.info.isa);
  choices.schedule = *ir::parse_schedule(code.info.schedule);
  return runtime::make_program(code.lowered(), choices, stage);
}

std::string program(const Kernel& kernel, const py::object& legal) {
  const int is_legal = PyObject_IsTrue(legal.ptr());
  if (is_legal < 0) {
    PyErr_Clear();
    raise(ir::invalid("python.argument", "legal is neither true nor false", "True or False"));
  }
  const runtime::Code& code = kernel.code();
  const runtime::CodeInfo& made = code.info;
  if (made.schedule.empty())
    raise(ir::unsupported("python.program",
                          fmt::format("{} on {} has no Program", made.signature, made.backend),
                          "unpooling and the reference are routines of the library"));
  return value_or_raise(unlocked([&] {
    const jit::HoldForks hold;
    return program_of(code, is_legal != 0 ? ir::Stage::legal : ir::Stage::affine)
        .map([](const ir::Program& one) { return ir::print(one); });
  }));
}

// One listing for each version.
std::string assembly(const Kernel& kernel) {
  const runtime::CodeInfo& made = kernel.code().info;
  const std::vector<const runtime::Code*> versions = kernel.code().versions();
  if (!versions.front()->machine())
    raise(ir::unsupported("python.asm",
                          fmt::format("{} on {} is no machine code", made.signature, made.backend),
                          "backend=xbyak or llvm"));
  return value_or_raise(unlocked([&]() -> ir::Result<std::string> {
    const jit::HoldForks hold;
    const ir::Stage stage = runtime::consumed_stage(*runtime::find_engine(made.backend));
    std::string text;
    for (const runtime::Code* version : versions) {
      const auto consumed = program_of(*version, stage);
      if (!consumed) return tl::unexpected(consumed.error());
      text += runtime::named_listing(version->lowered(), kernel.label(), made.backend,
                                     *version->machine()->blob, *consumed);
    }
    return text;
  }));
}

std::string prove(const Kernel& kernel) {
  (void)kernel.code();  // with free dims there has to be some for all sizes
  return value_or_raise(interruptible([kernel] { return kernel.prove(); }));
}

py::tuple time_kernel(const Kernel& kernel, const py::object& given) {
  const double seconds = PyFloat_AsDouble(given.ptr());
  if (PyErr_Occurred() || !(seconds >= 0) || std::isinf(seconds)) {
    PyErr_Clear();
    raise(ir::invalid("python.argument",
                      fmt::format("seconds is a {} of {}", Py_TYPE(given.ptr())->tp_name, seconds),
                      "a number, 0 or more"));
  }
  const std::vector<runtime::KernelPtr> kernels = {kernel.pointer()};
  const runtime::MeasureOptions options{.budget_seconds = seconds,
                                        .most_samples = std::numeric_limits<int>::max()};
  const auto times = value_or_raise(unlocked([&] { return runtime::time_kernels(kernels, options); }));
  return py::make_tuple(times[0].median, times[0].spread(), times[0].samples);
}

py::dict words_of(const runtime::Options& options) {
  py::dict words;
  const runtime::Options usual;
  if (options.backend != usual.backend) words["backend"] = options.backend;
  if (options.isa != usual.isa) words["isa"] = options.isa;
  if (options.schedule != usual.schedule) words["schedule"] = options.schedule;
  if (options.threads != usual.threads) words["threads"] = options.threads;
  if (options.verify != usual.verify) words["verify"] = options.verify;
  if (options.tune_db != usual.tune_db) words["tune_db"] = options.tune_db;
  if (options.measure != usual.measure) words["measure"] = options.measure;
  if (options.fallback != usual.fallback) words["fallback"] = options.fallback;
  if (options.label != usual.label) words["label"] = options.label;
  if (options.names != usual.names) words["names"] = options.names;
  if (options.sizes != usual.sizes) words["sizes"] = options.sizes;
  if (options.exact_after != usual.exact_after) words["exact_after"] = options.exact_after;
  return words;
}

py::list operands_of(const Kernel& kernel) {
  (void)kernel.impl();  // they are those of a size
  py::list operands;
  for (size_t i = 0; i < kernel.operand_count(); ++i) {
    operands.append(py::make_tuple(std::string(ir::info(kernel.operand_dtype(i)).spec_name),
                                   tuple_of(kernel.operand_form(i).dims())));
  }
  return operands;
}

py::list results_of(const Kernel& kernel) {
  (void)kernel.impl();
  py::list results;
  for (const Kernel::Result& result : kernel.results())
    results.append(
        py::make_tuple(std::string(ir::info(result.dtype).spec_name), tuple_of(result.form.dims())));
  return results;
}

int useful_parts(const Kernel& kernel, const py::object& batch) {
  const auto& spec_batch = kernel.impl().spec().batch;
  int64_t number = spec_batch.value_or(1);
  if (!batch.is_none()) {
    number = PyLong_AsLongLong(batch.ptr());
    if (PyErr_Occurred()) {
      PyErr_Clear();
      raise(ir::invalid("python.argument", fmt::format("batch={}", py::repr(batch).cast<std::string>()),
                        "a number of images, 0 or more"));
    }
  }
  return value_or_raise(kernel.impl().useful_parts(number));
}

// The letters of the dims that a call's arrays say.
py::tuple free_dims_of(const Kernel& kernel) {
  py::list letters;
  const auto& dims = kernel.spec().dims;
  for (size_t i = 0; i < dims.size(); ++i)
    if (dims[i].is_free) letters.append(std::string(1, frontend::dim_letter(dims.size(), i)));
  return py::tuple(letters);
}

Kernel sized(const Kernel& kernel, const py::args& size) {
  std::vector<int64_t> extents;
  for (const py::handle& extent : size) {
    extents.push_back(PyLong_AsLongLong(extent.ptr()));
    if (!PyErr_Occurred()) continue;
    PyErr_Clear();
    raise(ir::invalid("python.argument", fmt::format("a size of {}", py::repr(size).cast<std::string>()),
                      "integers: kernel.sized(224, 224)"));
  }
  return kernel.sized(extents);
}

Kernel compile(const std::string& spec, const py::dict& words) {
  return Kernel::compile(spec, options_of(words));
}

double compile_seconds_of(const Kernel& kernel) {
  return std::chrono::duration<double>(kernel.code().info.compile_time).count();
}

py::object index_dtype_of(const Kernel& kernel) {
  if (!kernel.has_indices()) return py::none();
  return py::str(std::string(ir::info(kernel.index_dtype()).spec_name));
}

const Kernel& kernel_of(PyObject* self) {
  const auto* const instance = reinterpret_cast<py::detail::instance*>(self);
  return *static_cast<const Kernel*>(instance->simple_value_holder[0]);
}

[[noreturn]] void refuse_call(const std::string& what) {
  raise(ir::invalid("python.call", what, "kernel(input, indices=None, *, out=None, operands=())"));
}

// A Kernel that nothing was compiled for would have nothing to run.
PyObject* refuse_new(PyTypeObject*, PyObject*, PyObject*) {
  PyErr_SetString(PyExc_TypeError, "pooljit.compile(spec) makes kernels");
  return nullptr;
}

}  // namespace

PyObject* call_kernel(PyObject* self, PyObject* arguments, PyObject* keywords) {
  return guarded([&] {
    CallArguments call;
    GivenArrays operands;
    const Py_ssize_t count = PyTuple_GET_SIZE(arguments);
    if (count > 2) refuse_call(fmt::format("a kernel takes input and indices, {} were given", count));
    if (count > 0) call.input = PyTuple_GET_ITEM(arguments, 0);
    if (count == 2) call.indices = PyTuple_GET_ITEM(arguments, 1);
    PyObject *key = nullptr, *value = nullptr;
    for (Py_ssize_t at = 0; keywords && PyDict_Next(keywords, &at, &key, &value);) {
      if (PyUnicode_CompareWithASCIIString(key, "out") == 0) {
        call.out = value;
      } else if (PyUnicode_CompareWithASCIIString(key, "input") == 0 && count == 0) {
        call.input = value;
      } else if (PyUnicode_CompareWithASCIIString(key, "indices") == 0 && count < 2) {
        call.indices = value;
      } else if (PyUnicode_CompareWithASCIIString(key, "operands") == 0) {
        operands = GivenArrays(value);
        call.operands = operands.items();
      } else {
        refuse_call(
            fmt::format("unknown argument, or one given twice: {}", py::str(key).cast<std::string>()));
      }
    }
    if (!call.input) refuse_call("no input was given");
    if (call.out == Py_None) call.out = nullptr;
    if (call.indices == Py_None) call.indices = nullptr;
    return kernel_of(self).call(call).release().ptr();
  });
}

void register_kernel(py::module_& module) {
  py::options texts;
  texts.disable_function_signatures();
  const auto set_up = [](PyHeapTypeObject* type) {
    type->ht_type.tp_call = call_kernel;
    type->ht_type.tp_new = refuse_new;  // pybind11 does not use it for those that it makes
  };
  py::class_<Kernel>(module, "Kernel", py::custom_type_setup(set_up), py::is_final())
      .def_property_readonly("spec", [](const Kernel& k) { return k.text(); })
      .def_property_readonly("signature", [](const Kernel& k) { return k.signature(); })
      .def_property_readonly("free_dims", free_dims_of)
      .def_property_readonly("backend", [](const Kernel& k) { return std::string(k.code().info.backend); })
      .def_property_readonly("isa", [](const Kernel& k) { return std::string(k.code().info.isa); })
      .def_property_readonly("schedule", [](const Kernel& k) { return k.code().info.schedule; })
      .def_property_readonly("schedule_origin", [](const Kernel& k) { return k.schedule_origin(); })
      .def_property_readonly("fallback", [](const Kernel& k) { return k.fallback(); })
      .def_property_readonly("label", [](const Kernel& k) { return k.label(); })
      .def_property_readonly("proof", [](const Kernel& k) { return k.code().info.proof; })
      .def_property_readonly("code_bytes", [](const Kernel& k) { return k.code().info.code_bytes; })
      .def_property_readonly("compile_seconds", compile_seconds_of)
      .def_property_readonly("dtype",
                             [](const Kernel& k) { return std::string(ir::info(k.input_dtype()).spec_name); })
      .def_property_readonly(
          "output_dtype", [](const Kernel& k) { return std::string(ir::info(k.output_dtype()).spec_name); })
      .def_property_readonly("index_dtype", index_dtype_of)
      .def_property_readonly("input_shape", [](const Kernel& k) { return tuple_of(k.impl().input_shape()); })
      .def_property_readonly("output_shape",
                             [](const Kernel& k) { return tuple_of(k.impl().output_shape()); })
      .def_property_readonly("input_strides",
                             [](const Kernel& k) { return tuple_of(k.impl().input_strides()); })
      .def_property_readonly("output_strides",
                             [](const Kernel& k) { return tuple_of(k.impl().output_strides()); })
      .def_property_readonly("operands", operands_of)
      .def_property_readonly("results", results_of)
      .def_property_readonly("options", [](const Kernel& k) { return words_of(k.options()); })
      .def("sized", sized,
           "sized(*size) -> Kernel\n\nOf a spec with free dims: the kernel of one size, the extents of all "
           "spatial dims, sized(224, 224). Makes its\ncode if it is new. What is known of one size is known "
           "of that kernel: shapes, time(), useful_parts(). Raises:\n\"spec.*\" for a size that the layer "
           "cannot "
           "have.")
      .def("asm", assembly,
           "asm() -> str\n\nThe kernel's name, and the disassembly of its own code with the Program line of "
           "each instruction beside\nit; twice where there is other code for outputs that are not aligned.")
      .def("program", program, py::arg("legal") = false,
           "program(legal=False) -> str\n\nThe vector IR as lowered; legal: with the ISA's own instructions "
           "only.")
      .def("prove", prove,
           "prove() -> str\n\nProves the machine code and says what was proved, under the assumptions that "
           "docs/proof.md lists. Takes a\nfraction of a second to minutes. Raises: \"prove.*\".")
      .def("useful_parts", useful_parts, py::arg("batch") = py::none(),
           "useful_parts(batch=None) -> int\n\nHow many threads are worth having for a call with this batch, "
           "the spec's by default.")
      .def("time", time_kernel, py::arg("seconds") = 0.2,
           "time(seconds=0.2) -> (seconds, spread, samples)\n\nThe median of a call on data of its own, "
           "without "
           "Python between the calls.");
  module.def("compile", compile);
}

}  // namespace pooljit::python
