#include "bindings/python/src/functional.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <unordered_map>
#include <vector>

#include "bindings/python/src/compiling.h"
#include "bindings/python/src/errors.h"
#include "bindings/python/src/kernel.h"

namespace pooljit::python {
namespace {

// What a kernel is known by, as words: the operator, the input but for its batch, the arguments.
class Key {
 public:
  void put(int64_t word) {
    if (count_ < most) words_[count_] = word;
    ++count_;
  }
  void put(const Array& input, size_t batch_rank) {
    put(static_cast<int64_t>(input.dtype) | int64_t{input.is_packed} << 8 |
        static_cast<int64_t>(input.form.rank) << 16 | static_cast<int64_t>(input.library) << 32);
    const bool is_batched = input.form.rank == batch_rank;
    for (size_t i = is_batched ? 1 : 0; i < input.form.rank; ++i) put(input.form.shape[i]);
    if (input.is_packed) return;
    for (size_t i = 0; i < input.form.rank; ++i) put(input.form.shape[i] > 1 ? input.form.strides[i] : -1);
  }
  // False for what the cache cannot know: then the kernel is looked for by its text.
  bool put(PyObject* argument, int depth = 0) {
    if (depth > most_depth) return false;
    if (argument == Py_None || PyBool_Check(argument)) {
      put(int64_t{argument == Py_None ? 1 : argument == Py_True ? 2 : 3});
    } else if (PyLong_CheckExact(argument)) {
      int overflow = 0;
      put(4);
      put(int64_t{PyLong_AsLongLongAndOverflow(argument, &overflow)});
      return overflow == 0;
    } else if (PyTuple_Check(argument) || PyList_CheckExact(argument)) {  // torch.Size, too
      const Py_ssize_t size = PySequence_Fast_GET_SIZE(argument);
      put(int64_t{5} | int64_t{size} << 8);
      for (Py_ssize_t i = 0; i < size; ++i)
        if (!put(PySequence_Fast_GET_ITEM(argument, i), depth + 1)) return false;
    } else if (PyUnicode_CheckExact(argument)) {
      return put_text(argument);
    } else if (PyFloat_CheckExact(argument)) {
      put(7);
      put(std::bit_cast<int64_t>(PyFloat_AS_DOUBLE(argument)));
    } else {
      return false;
    }
    return true;
  }
  bool put_items(PyObject* dict) {
    PyObject *key = nullptr, *value = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(dict, &at, &key, &value);)
      if (!put(key) || !put(value)) return false;
    return true;
  }

  bool is_whole() const { return count_ <= most; }
  std::span<const int64_t> words() const { return {words_.data(), count_}; }
  uint64_t hash() const {
    uint64_t hash = count_;
    for (const int64_t word : words()) {
      hash = (hash ^ static_cast<uint64_t>(word)) * 0x9E3779B97F4A7C15U;
      hash ^= hash >> 32;
    }
    return hash;
  }

 private:
  bool put_text(PyObject* text) {
    Py_ssize_t size = 0;
    const char* bytes = PyUnicode_AsUTF8AndSize(text, &size);
    if (!bytes) {  // half of a pair of UTF-16
      PyErr_Clear();
      return false;
    }
    put(int64_t{6} | int64_t{size} << 8);
    for (; size > 0; bytes += 8, size -= 8) {
      int64_t word = 0;
      std::memcpy(&word, bytes, static_cast<size_t>(std::min<Py_ssize_t>(size, 8)));
      put(word);
    }
    return true;
  }

  static constexpr size_t most = 96;
  static constexpr int most_depth = 4;  // of lists in lists
  size_t count_ = 0;
  std::array<int64_t, most> words_;  // the first count_ are set
};

struct Entry {
  std::vector<int64_t> words;
  std::shared_ptr<const Kernel> kernel;
};

// Touched with the GIL only. Never freed: threads may be at work when the interpreter ends.
std::unordered_multimap<uint64_t, Entry>& kernels() {
  static auto* const known = new std::unordered_multimap<uint64_t, Entry>;
  return *known;
}
constexpr size_t most_kernels =
    4096;  // beyond that all are forgotten; their code is still in the library's cache

std::shared_ptr<const Kernel> find(const Key& key, uint64_t hash) {
  for (auto [at, end] = kernels().equal_range(hash); at != end; ++at)
    if (std::ranges::equal(at->second.words, key.words())) return at->second.kernel;
  return nullptr;
}

// Strides of dimensions with one position say nothing: those that keep the array dense are taken instead.
std::vector<int64_t> meaningful_strides(const ArrayForm& form) {
  std::vector<int64_t> strides;
  int64_t least = 0;
  for (size_t i = 0; i < form.rank; ++i)
    if (form.shape[i] > 1) least = std::max(least, form.strides[i] * form.shape[i]);
  for (size_t i = 0; i < form.rank; ++i)
    strides.push_back(form.shape[i] > 1 ? form.strides[i] : std::max<int64_t>(least, 1));
  return strides;
}

// Of kernels that are found by arguments: 0, as many as the process may use.
int default_threads = 0;
// Such a kernel takes every size of a layer, if the layer can have one.
bool are_dims_free = false;

// The arguments of pool(), in their order; those of the operator follow.
struct PoolArguments {
  static constexpr Py_ssize_t count = 6;
  PyObject *function, *input, *indices, *out, *operands, *options;
  PyObject* const* rest;
  Py_ssize_t rest_count;

  PoolArguments(PyObject* const* all, Py_ssize_t given)
      : function(all[0]),
        input(all[1]),
        indices(all[2] == Py_None ? nullptr : all[2]),
        out(all[3] == Py_None ? nullptr : all[3]),
        operands(all[4]),
        options(all[5]),
        rest(all + count),
        rest_count(given - count) {}
};

// The long way: function.spec(...) says the spec's text and the options, which are compiled.
std::shared_ptr<const Kernel> make(const PoolArguments& arguments, const Array& input) {
  py::tuple rest(arguments.rest_count);
  for (Py_ssize_t i = 0; i < arguments.rest_count; ++i)
    PyTuple_SET_ITEM(rest.ptr(), i, Py_NewRef(arguments.rest[i]));
  const auto dims = input.form.dims();
  const py::object strides =
      input.is_packed ? py::object(py::none()) : tuple_of(meaningful_strides(input.form));
  const auto [text, words] = py::handle(arguments.function)
                                 .attr("spec")(std::string(ir::info(input.dtype).spec_name), tuple_of(dims),
                                               strides, rest, py::handle(arguments.options), are_dims_free)
                                 .cast<std::pair<std::string, py::dict>>();
  if (!words.contains("threads")) words["threads"] = default_threads;
  return std::make_shared<const Kernel>(Kernel::compile(text, options_of(words)));
}

std::shared_ptr<const Kernel> find_or_make(const PoolArguments& arguments, const Array& input) {
  Key key;
  const auto* const name = reinterpret_cast<PyObject*>(arguments.function);
  key.put(static_cast<int64_t>(reinterpret_cast<intptr_t>(name)));
  static PyObject* const rank_name = PyUnicode_InternFromString("batched_rank");
  const auto rank = py::reinterpret_steal<py::object>(PyObject_GetAttr(arguments.function, rank_name));
  if (!rank) throw py::error_already_set();
  key.put(input, PyLong_AsSize_t(rank.ptr()));
  key.put(int64_t{default_threads} << 1 | int64_t{are_dims_free});
  bool is_known = true;
  for (Py_ssize_t i = 0; i < arguments.rest_count; ++i) is_known = is_known && key.put(arguments.rest[i]);
  is_known = is_known && key.put_items(arguments.options) && key.is_whole();
  if (!is_known) return make(arguments, input);
  const uint64_t hash = key.hash();
  if (auto kernel = find(key, hash)) return kernel;
  auto kernel = make(arguments, input);
  if (kernels().size() >= most_kernels) kernels().clear();
  kernels().emplace(hash, Entry{{key.words().begin(), key.words().end()}, kernel});
  return kernel;
}

PyObject* pool(PyObject*, PyObject* const* all, Py_ssize_t count) {
  return guarded([&] {
    if (count < PoolArguments::count) raise(ir::invalid("python.call", "too few arguments", ""));
    const PoolArguments arguments(all, count);
    const Array input = read_array(arguments.input, "input");
    const auto kernel = find_or_make(arguments, input);
    const GivenArrays operands(arguments.operands);
    return kernel
        ->call(input, {.input = arguments.input,
                       .indices = arguments.indices,
                       .out = arguments.out,
                       .operands = operands.items()})
        .release()
        .ptr();
  });
}

PyMethodDef pool_definition = {"pool", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(pool)),
                               METH_FASTCALL,
                               "pool(function, input, indices, out, operands, options, *arguments)"};

}  // namespace

void register_functional(py::module_& module) {
  module.add_object("pool", PyCFunction_New(&pool_definition, nullptr));
  py::options texts;
  texts.disable_function_signatures();
  module.def(
      "set_num_threads",
      [](int threads) {
        if (threads < 0)
          raise(ir::invalid("python.option", fmt::format("set_num_threads({})", threads), "0 or more"));
        default_threads = threads;
      },
      py::arg("threads"),
      "set_num_threads(threads)\n\nOf the functions, for each kernel. 0, the default: as many as the process "
      "may use,\nof PyTorch's tensors as many as PyTorch uses.");
  module.def(
      "set_free_dims", [](bool free) { are_dims_free = free; }, py::arg("free"),
      "set_free_dims(free)\n\nWhether the functions' kernels take every size.");
  module.def(
      "get_free_dims", [] { return are_dims_free; }, "get_free_dims() -> bool\n\nWhat set_free_dims said.");
  module.def(
      "get_num_threads", [] { return default_threads; },
      "get_num_threads() -> int\n\nWhat set_num_threads said.");
}

}  // namespace pooljit::python
