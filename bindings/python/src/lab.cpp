// The oracle for Python: what a layer makes of an input, how far anybody's result may be from that, and what
// is wrong with a result.
#include "bindings/python/src/lab.h"

#include <fmt/format.h>
#include <pybind11/stl.h>

#include <cstring>
#include <memory>

#include "bindings/python/src/arrays.h"
#include "bindings/python/src/errors.h"
#include "bindings/python/src/interruptible.h"
#include "frontend/pool_spec.h"
#include "ir/agreement.h"
#include "ir/reference.h"
#include "lab/check_data.h"
#include "lab/elements.h"
#include "tools/fuzz/explain.h"

namespace pooljit::python {
namespace {

// Elements in logical order, whatever the array's strides, or back.
template <typename Visit>
void walk(const ArrayForm& form, const Visit& visit) {
  std::array<int64_t, most_dims> at{};
  const int64_t count = form.elements();
  int64_t offset = 0;
  for (int64_t i = 0; i < count; ++i) {
    visit(i, offset);
    for (size_t d = form.rank; d-- > 0;) {
      offset += form.strides[d];
      if (++at[d] < form.shape[d]) break;
      offset -= form.strides[d] * form.shape[d];
      at[d] = 0;
    }
  }
}

// The memory that a view of the spec's needs, with an array's elements at their places; the rest is 0.
std::vector<std::byte> placed(const Array& array, const runtime::MemoryView& view) {
  std::vector<std::byte> memory(static_cast<size_t>(view.span_bytes()));
  std::vector<int64_t> offsets;
  offsets.reserve(static_cast<size_t>(view.element_count()));
  runtime::for_each_element(view, [&](int64_t offset) { offsets.push_back(offset); });
  const auto size = static_cast<size_t>(ir::bytes(array.dtype));
  walk(array.form, [&](int64_t i, int64_t from) {
    std::memcpy(&memory[static_cast<size_t>(offsets[static_cast<size_t>(i)])],
                array.data + from * static_cast<int64_t>(size), size);
  });
  return memory;
}

// A packed array of the view's elements, in the logical shape.
py::object unplaced(const std::vector<std::byte>& memory, const runtime::MemoryView& view, ir::DType dtype,
                    const std::vector<int64_t>& shape) {
  ArrayForm form;
  form.rank = shape.size();
  std::copy(shape.begin(), shape.end(), form.shape.begin());
  set_packed_strides(form);
  auto [array, to] = make_array(Library::numpy, dtype, form, nullptr);
  const auto size = static_cast<size_t>(ir::bytes(dtype));
  runtime::for_each_element(view, [&](int64_t offset) {
    std::memcpy(to, &memory[static_cast<size_t>(offset)], size);
    to += size;
  });
  return array;
}

Array read_logical(const py::handle& object, const char* name, ir::DType dtype,
                   const std::vector<int64_t>& shape) {
  Array array = read_array(object.ptr(), name);
  if (array.dtype != dtype)
    raise(ir::invalid("python.dtype",
                      fmt::format("{} is {}, the spec's is {}", name, ir::info(array.dtype).spec_name,
                                  ir::info(dtype).spec_name),
                      "x.astype(...) copies"));
  if (!std::ranges::equal(array.form.dims(), shape))
    raise(ir::invalid("python.shape",
                      fmt::format("{} has the shape {}, the spec's is {}", name,
                                  print_dims(array.form.dims()), print_dims(shape)),
                      "the logical shape, N, C and spatial, also in other layouts"));
  return array;
}

void check_count(const char* id, const char* what, size_t takes, size_t given, std::string hint) {
  if (takes != given)
    raise(ir::invalid(id, fmt::format("the spec takes {} {}, {} were given", takes, what, given),
                      std::move(hint)));
}

// A layer with an input in memory.
class Subject {
 public:
  Subject(frontend::PoolSpec spec, const py::handle& input, const py::handle& read_indices,
          const py::list& operands)
      : spec_(std::move(spec)) {
    if (is_unpool(spec_))
      raise(ir::unsupported("python.unpool", "an unpool has no oracle: it is a routine of the runtime",
                            "numpy.put_along_axis does the same"));
    nest_ = frontend::make_nest(spec_);
    batch_ = spec_.batch.value_or(1);
    input_ = placed(read_logical(input, "input", nest_.input.dtype, frontend::input_shape(spec_)),
                    runtime::input_view(nest_, batch_));
    if (reads_indices()) {
      if (read_indices.is_none())
        raise(ir::invalid("run.indices", "the layer reads indices, and was given none", "indices=..."));
      indices_ =
          placed(read_logical(read_indices, "indices", nest_.indices->dtype, frontend::input_shape(spec_)),
                 runtime::indices_view(nest_, batch_));
    }
    place_operands(operands);
  }

  const frontend::PoolSpec& spec() const { return spec_; }
  const ir::PoolNest& nest() const { return nest_; }
  int64_t batch() const { return batch_; }
  bool reads_indices() const { return nest_.indices && nest_.is_backward(); }
  bool writes_indices() const { return nest_.indices && !nest_.is_backward(); }
  const std::byte* input() const { return input_.data(); }
  const std::byte* indices() const { return reads_indices() ? indices_.data() : nullptr; }
  ir::Operands operands() const { return operand_pointers_; }
  runtime::MemoryView output_view() const { return runtime::output_view(nest_, batch_); }
  runtime::MemoryView indices_view() const { return runtime::indices_view(nest_, batch_); }

 private:
  void place_operands(const py::list& given) {
    const auto views = runtime::operand_memory(nest_, batch_);
    const auto types = ir::operand_views(nest_);
    check_count("run.operands", "operands", views.size(), given.size(), frontend::operand_hint);
    const auto forms = frontend::operands(spec_);
    for (size_t i = 0; i < forms.size(); ++i) {
      const bool is_tensor = forms[i].is_tensor;
      const Array array = read_logical(given[i], "operand", types[i].dtype,
                                       is_tensor ? forms[i].shape : std::vector<int64_t>{nest_.channels});
      operands_.push_back(is_tensor ? placed(array, views[i]) : packed(array));
    }
    for (const auto& memory : operands_) operand_pointers_.push_back(memory.data());
  }

  static std::vector<std::byte> packed(const Array& array) {
    const auto size = static_cast<size_t>(ir::bytes(array.dtype));
    std::vector<std::byte> memory(size * static_cast<size_t>(array.form.elements()));
    walk(array.form, [&](int64_t i, int64_t from) {
      std::memcpy(&memory[static_cast<size_t>(i) * size], array.data + from * static_cast<int64_t>(size),
                  size);
    });
    return memory;
  }

  frontend::PoolSpec spec_;
  ir::PoolNest nest_;
  int64_t batch_ = 1;
  std::vector<std::byte> input_, indices_;
  std::vector<std::vector<std::byte>> operands_;
  std::vector<const void*> operand_pointers_;
};

// Of each pool ask(spec, its number, its operands).
template <typename Ask>
py::list for_each_pool(const frontend::PoolSpec& spec, const py::list& operands, Ask ask) {
  size_t takes = 0;
  for (const frontend::PoolSpec& pool : pools_of(spec)) takes += frontend::operands(pool).size();
  check_count("run.operands", "operands", takes, operands.size(), frontend::operand_hint);
  py::list answers;
  size_t first = 0;
  for (const frontend::PoolSpec& pool : pools_of(spec)) {
    const size_t behind = first + frontend::operands(pool).size();
    answers.append(
        ask(pool, answers.size(), py::list(operands[py::slice(ssize_t(first), ssize_t(behind), 1)])));
    first = behind;
  }
  return answers;
}

// (output, indices or None, error bound of each output)
py::tuple reference_of(const frontend::PoolSpec& spec, const py::object& input, const py::object& indices,
                       const py::list& operands) {
  struct Oracle {
    Subject subject;
    std::vector<std::byte> output{}, made{};
  };
  const auto oracle = std::make_shared<Oracle>(Oracle{Subject(spec, input, indices, operands)});
  const Subject& subject = oracle->subject;
  const runtime::MemoryView output_view = subject.output_view(), indices_view = subject.indices_view();
  std::vector<std::byte>&output = oracle->output, &made = oracle->made;
  output.resize(static_cast<size_t>(output_view.span_bytes()));
  if (subject.writes_indices()) made.resize(static_cast<size_t>(indices_view.span_bytes()));
  const auto bounds = interruptible([oracle] {
    const Subject& asked = oracle->subject;
    // A backward pass reads the indices, which evaluate() does not change.
    void* const either = asked.reads_indices()    ? const_cast<std::byte*>(asked.indices())
                         : asked.writes_indices() ? oracle->made.data()
                                                  : nullptr;
    ir::evaluate(asked.nest(), asked.batch(), asked.input(), oracle->output.data(), either, asked.operands());
    return ir::error_bounds(asked.nest(), asked.batch(), asked.input(), asked.operands());
  });
  const std::vector<int64_t> shape = frontend::output_shape(subject.spec());
  ArrayForm form;
  form.rank = shape.size();
  std::copy(shape.begin(), shape.end(), form.shape.begin());
  set_packed_strides(form);
  auto [errors, to] = make_array(Library::numpy, ir::DType::f64, form, nullptr);
  runtime::for_each_element(output_view, [&](int64_t offset) {
    const size_t at = static_cast<size_t>(offset / output_view.element_bytes);
    const double error = at < bounds.size() ? bounds[at].error : 0;
    std::memcpy(to, &error, sizeof error);
    to += sizeof error;
  });
  const ir::PoolNest& nest = subject.nest();
  return py::make_tuple(unplaced(output, output_view, nest.output.dtype, shape),
                        subject.writes_indices() ? unplaced(made, indices_view, nest.indices->dtype, shape)
                                                 : py::object(py::none()),
                        errors);
}

// The bits of an array's elements, in logical order, as check() takes them.
std::vector<uint64_t> elements_of(const Array& array) {
  const auto size = static_cast<size_t>(ir::bytes(array.dtype));
  std::vector<uint64_t> elements;
  walk(array.form, [&](int64_t, int64_t from) {
    uint64_t bits = 0;
    std::memcpy(&bits, array.data + from * static_cast<int64_t>(size), size);
    elements.push_back(bits);
  });
  return elements;
}

// The names of the known differences that explain it together; empty if none do.
std::vector<std::string> explanation(const Subject& subject, const Array& input,
                                     const runtime::Results& results) {
  const ir::PoolNest& nest = subject.nest();
  if (nest.is_backward() || !nest.epilogue.empty()) return {};
  auto data = value_or_raise(
      runtime::Case::make(nest, runtime::DataKind::plain, subject.batch(), 1, elements_of(input)));
  std::vector<std::string> names;
  if (const auto rules = fuzz::explain(nest, data, results))
    for (const fuzz::Divergence rule : *rules) names.emplace_back(fuzz::info(rule).name);
  return names;
}

// (objection or "", names of the known differences)
py::tuple compare_one(const frontend::PoolSpec& spec, const py::object& input, const py::object& output,
                      const py::object& indices, const py::list& operands) {
  const Subject subject(spec, input, indices, operands);
  const ir::PoolNest& nest = subject.nest();
  const std::vector<int64_t> shape = frontend::output_shape(subject.spec());
  runtime::Results results;
  results.output = placed(read_logical(output, "output", nest.output.dtype, shape), subject.output_view());
  const bool has_indices = subject.writes_indices() && !indices.is_none();
  if (has_indices)
    results.indices =
        placed(read_logical(indices, "indices", nest.indices->dtype, shape), subject.indices_view());
  else if (subject.writes_indices())
    raise(
        ir::invalid("run.indices", "the layer gives indices, and none were given to compare", "indices=..."));
  const Array read = read_array(input.ptr(), "input");
  auto [objection, names] = unlocked([&] {
    ir::Judge judge(nest, subject.batch(), subject.input(), subject.indices(), subject.operands());
    const auto found =
        judge.disagreement(results.output.data(), has_indices ? results.indices.data() : nullptr);
    return std::pair(found.value_or(""),
                     found ? explanation(subject, read, results) : std::vector<std::string>());
  });
  return py::make_tuple(objection, py::cast(names));
}

// A row for each pool.
py::list reference(const std::string& text, const py::object& input, const py::object& indices,
                   const py::list& operands) {
  const frontend::PoolSpec spec = value_or_raise(frontend::parse_spec(text));
  return for_each_pool(spec, operands, [&](const frontend::PoolSpec& pool, size_t, const py::list& own) {
    return reference_of(pool, input, indices, own);
  });
}

// Likewise; `outputs` and `indices` have an entry for each.
py::list compare(const std::string& text, const py::object& input, const py::list& outputs,
                 const py::list& indices, const py::list& operands) {
  const frontend::PoolSpec spec = value_or_raise(frontend::parse_spec(text));
  constexpr const char* hint = "a list with an entry for each pool, concatenated or not; None: no indices";
  check_count("run.outputs", "outputs", pools_of(spec).size(), outputs.size(), hint);
  check_count("run.indices", "entries of indices", pools_of(spec).size(), indices.size(), hint);
  return for_each_pool(spec, operands,
                       [&](const frontend::PoolSpec& pool, size_t number, const py::list& own) {
                         return compare_one(pool, input, outputs[number], indices[number], own);
                       });
}

}  // namespace

void register_lab(py::module_& module) {
  module.def("reference", reference);
  module.def("compare", compare);
  py::dict differences;
  for (const fuzz::DivergenceInfo& row : fuzz::divergences())
    differences[py::str(std::string(row.name))] = std::string(row.text);
  module.attr("differences") = differences;
}

}  // namespace pooljit::python
