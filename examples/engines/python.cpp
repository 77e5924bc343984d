// An engine in Python: a function that gets numpy arrays and gives one. POOLJIT_ENGINE_PYTHON says which,
// FILE.py[:FUNCTION] or MODULE[:FUNCTION]; the function is called `pool` by default.
//
//   def pool(layer, x):
//       if layer.operation != "max" or ...:
//           return NotImplemented   # or raise NotImplementedError: it does not do such layers
//       return y                    # or (y, indices), of the dtypes and shapes of layer.output and
//       layer.indices
//
// `layer` has the fields of pooljit_layer (include/pooljit_layer.h) as Python's values, and `other` as a
// list; layer.indices.array are the indices of a layer that reads them. An exception of the function is
// a finding; its traceback is printed with it. Docs: docs/fuzzing.md.
#include <dlfcn.h>
#include <pybind11/embed.h>
#include <pybind11/numpy.h>
#include <pybind11/stl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "pooljit_engine.h"

namespace py = pybind11;

namespace {

using Numbers = std::vector<int64_t>;

// Never ended: threads of its modules may be at work when the process ends.
void start_interpreter() {
  // Modules such as numpy's look for Python among the names that all see.
  Dl_info info;
  if (::dladdr(reinterpret_cast<void*>(&Py_InitializeFromConfig), &info) != 0)
    ::dlopen(info.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
  PyConfig config;
  PyConfig_InitPythonConfig(&config);
  config.install_signal_handlers = 0;  // the campaign's own
  PyConfig_SetBytesString(&config, &config.program_name, POOLJIT_PYTHON_EXECUTABLE);
  const PyStatus status = Py_InitializeFromConfig(&config);
  PyConfig_Clear(&config);
  if (PyStatus_Exception(status))
    throw std::runtime_error(status.err_msg ? status.err_msg : "Python does not start");
}

// "my_engine.py:maximum" or "package.module": the function, and its file's VERSION, if there is one.
py::object load_function(std::string& version) {
  const char* const named = std::getenv("POOLJIT_ENGINE_PYTHON");
  if (!named || !*named)
    throw std::runtime_error("POOLJIT_ENGINE_PYTHON=FILE.py[:FUNCTION] says which function");
  const std::string text = named;
  const size_t colon = text.rfind(':');
  const std::string home = text.substr(0, colon),
                    name = colon == std::string::npos ? "pool" : text.substr(colon + 1);
  const py::dict names = home.ends_with(".py") ? py::dict(py::module_::import("runpy").attr("run_path")(home))
                                               : py::dict(py::module_::import(home.c_str()).attr("__dict__"));
  if (names.contains("VERSION")) version = py::str(names["VERSION"]).cast<std::string>();
  return names[name.c_str()];
}

// bfloat16 as ml_dtypes has it, else 2 bytes without a meaning.
py::dtype dtype_of(const std::string& name) {
  if (name != "bfloat16") return py::dtype(name);
  try {
    return py::dtype::from_args(py::module_::import("ml_dtypes").attr("bfloat16"));
  } catch (py::error_already_set& failed) {
    if (!failed.matches(PyExc_ImportError)) throw;
    return py::dtype("V2");
  }
}

Numbers shape_of(const pooljit_engine_tensor& tensor) { return {tensor.dims, tensor.dims + tensor.rank}; }

// The tensor where it lies. Of a blocked layout, one channel of it: the last block may be none in memory.
py::array view_of(const pooljit_engine_tensor& tensor, const void* memory, int64_t channel = -1) {
  const py::dtype dtype = dtype_of(tensor.dtype);
  Numbers shape = shape_of(tensor), strides(tensor.strides, tensor.strides + tensor.rank);
  const auto* first = static_cast<const std::byte*>(memory);
  if (channel >= 0) {
    const int64_t block = tensor.channel_block;
    first += (channel / block * strides[1] + channel % block) * dtype.itemsize();
    shape.erase(shape.begin() + 1);
    strides.erase(strides.begin() + 1);
  }
  for (int64_t& stride : strides) stride *= dtype.itemsize();
  return {dtype, shape, strides, first, py::none()};  // with a base, nothing is copied
}

void copy(const py::object& to, const py::object& from) {
  py::module_::import("numpy").attr("copyto")(to, from);
}

// Calls visit(channel of the array, the same in memory).
void each_channel(const pooljit_engine_tensor& tensor, const py::object& array, const void* memory,
                  const auto& visit) {
  for (int64_t c = 0; c < tensor.dims[1]; ++c)
    visit(py::object(array[py::make_tuple(py::slice(py::none(), py::none(), py::none()), c)]),
          view_of(tensor, memory, c));
}

py::object namespace_of(const py::dict& fields) {
  return py::module_::import("types").attr("SimpleNamespace")(**fields);
}

py::object describe(const pooljit_engine_tensor& tensor) {
  if (!tensor.dtype || !*tensor.dtype) return py::none();
  py::dict fields;
  fields["dtype"] = tensor.dtype;
  fields["layout"] = tensor.layout;
  fields["dims"] = py::tuple(py::cast(Numbers(tensor.dims, tensor.dims + tensor.rank)));
  fields["strides"] = py::tuple(py::cast(Numbers(tensor.strides, tensor.strides + tensor.rank)));
  fields["channel_block"] = tensor.channel_block;
  return namespace_of(fields);
}

py::object describe(const pooljit_engine_layer& layer) {
  const auto numbers = [&](const int64_t* first) {
    return py::tuple(py::cast(Numbers(first, first + layer.spatial_rank)));
  };
  py::dict fields;
  fields["spec"] = layer.spec;
  fields["operation"] = layer.operation;
  fields["backward"] = layer.backward != 0;
  fields["unpool"] = layer.unpool != 0;
  fields["adaptive"] = layer.adaptive != 0;
  fields["quantized"] = layer.quantized != 0;
  fields["spatial_rank"] = layer.spatial_rank;
  fields["kernel"] = numbers(layer.kernel);
  fields["stride"] = numbers(layer.stride);
  fields["dilation"] = numbers(layer.dilation);
  fields["pad_begin"] = numbers(layer.pad_begin);
  fields["pad_end"] = numbers(layer.pad_end);
  fields["ceil_mode"] = layer.ceil_mode;
  fields["count_include_pad"] = layer.count_exclude_pad == 0;
  fields["divisor_override"] = layer.divisor_override;
  fields["norm_type"] = layer.norm_type;
  fields["epilogue"] = layer.epilogue_steps;
  fields["other"] = py::str(layer.other).attr("split")();
  fields["input"] = describe(layer.input);
  fields["output"] = describe(layer.output);
  fields["indices"] = describe(layer.indices);
  return namespace_of(fields);
}

// What the function gave, to where the campaign looks for it.
void store(const pooljit_engine_tensor& tensor, void* memory, const py::object& given, const char* name) {
  const py::array result = py::module_::import("numpy").attr("asarray")(given);
  const Numbers shape(result.shape(), result.shape() + result.ndim());
  const py::dtype wanted = dtype_of(tensor.dtype);
  const auto text = [](const py::object& dtype, const py::object& dims) {
    return py::str("{}{}").format(dtype, dims).cast<std::string>();
  };
  if (shape != shape_of(tensor) || !result.dtype().equal(wanted))
    throw py::type_error(std::string("the ") + name + " is " + text(result.dtype(), result.attr("shape")) +
                         ", not " + text(wanted, py::tuple(py::cast(shape_of(tensor)))));
  if (tensor.channel_block == 1) return copy(view_of(tensor, memory), result);
  each_channel(tensor, result, memory,
               [](const py::object& of_array, const py::object& there) { copy(there, of_array); });
}

// An array to read; a copy of a blocked tensor.
py::array read_only(const pooljit_engine_tensor& tensor, const void* memory) {
  py::array array = tensor.channel_block == 1 ? view_of(tensor, memory)
                                              : py::array(dtype_of(tensor.dtype), shape_of(tensor));
  if (tensor.channel_block != 1)
    each_channel(tensor, array, memory,
                 [](const py::object& of_array, const py::object& there) { copy(of_array, there); });
  array.attr("setflags")(py::arg("write") = false);
  return array;
}

int call(const py::object& function, const pooljit_engine_layer& layer, const void* input, void* output,
         void* indices) {
  const bool reads = indices && (layer.backward || layer.unpool);
  const py::object described = describe(layer);
  if (reads) described.attr("indices").attr("array") = read_only(layer.indices, indices);
  const py::object result = function(described, read_only(layer.input, input));
  if (result.is(py::handle(Py_NotImplemented))) return POOLJIT_ENGINE_UNSUPPORTED;
  if (!indices || reads) {
    store(layer.output, output, result, "output");
    return POOLJIT_ENGINE_DONE;
  }
  const auto [first, second] = result.cast<std::pair<py::object, py::object>>();
  store(layer.output, output, first, "output");
  store(layer.indices, indices, second, "array of indices");
  return POOLJIT_ENGINE_DONE;
}

// The function, and Python, from when the library is loaded on: once, for all the processes that are forked
// then.
struct Engine {
  py::object function;
  std::string version;
  std::string failure;  // why there is no function
  pid_t loaded_by = ::getpid();
  bool is_locked = false;  // this process has Python's global lock, and keeps it

  Engine() noexcept {
    try {
      start_interpreter();
      py::module_::import("numpy");  // not once more in each process
      function = load_function(version);
    } catch (const std::exception& failed) {
      failure = failed.what();
    }
    if (Py_IsInitialized()) PyEval_SaveThread();  // for the thread that runs it, whichever that is
  }

  void lock() {
    if (is_locked) return;
    PyGILState_Ensure();
    if (::getpid() != loaded_by) PyOS_AfterFork_Child();
    is_locked = true;
  }
};

Engine& engine = *new Engine;

}  // namespace

int pooljit_engine_run(const pooljit_engine_layer* layer, const void* input, void* output, void* indices) {
  if (layer->size < sizeof *layer) return POOLJIT_ENGINE_UNSUPPORTED;
  if (!engine.function) {
    std::fprintf(stderr, "%s\n", engine.failure.c_str());
    return POOLJIT_ENGINE_ERROR;
  }
  engine.lock();
  try {
    return call(engine.function, *layer, input, output, indices);
  } catch (py::error_already_set& raised) {
    if (raised.matches(PyExc_NotImplementedError)) return POOLJIT_ENGINE_UNSUPPORTED;
    raised.restore();
    PyErr_PrintEx(0);
  } catch (const std::exception& failed) {
    std::fprintf(stderr, "%s\n", failed.what());
  }
  return POOLJIT_ENGINE_ERROR;
}

const char* pooljit_engine_version(void) { return engine.version.c_str(); }
