#include "bindings/python/src/kernel.h"

#include <fmt/format.h>

#include <algorithm>

#include "bindings/python/src/compiling.h"
#include "bindings/python/src/errors.h"
#include "bindings/python/src/openmp.h"
#include "bindings/python/src/torch_arrays.h"
#include "bindings/python/src/unlocked.h"
#include "runtime/compile.h"

namespace pooljit::python {
namespace {

// A view in memory as arrays show it.
ArrayForm form_of(const frontend::PoolSpec& spec, const std::vector<int64_t>& shape,
                  const std::vector<int64_t>& strides, frontend::Layout layout) {
  ArrayForm form;
  form.rank = shape.size();
  std::copy(shape.begin(), shape.end(), form.shape.begin());
  std::copy(strides.begin(), strides.end(), form.strides.begin());
  const int64_t block = frontend::channel_block(layout);
  if (block == 1) return form;
  int64_t& channels = form.shape[spec.batch ? 1 : 0];
  channels = (channels + block - 1) / block;
  form.shape[form.rank] = block;
  form.strides[form.rank++] = 1;
  return form;
}

bool is_packed(const ArrayForm& form) {
  ArrayForm packed = form;
  set_packed_strides(packed);
  for (size_t i = 0; i < form.rank; ++i)
    if (form.shape[i] > 1 && form.strides[i] != packed.strides[i]) return false;
  return true;
}

// The first dimension of a batched form may have any extent.
bool has_shape(const ArrayForm& form, const ArrayForm& wanted, bool is_batched) {
  if (form.rank != wanted.rank) return false;
  for (size_t i = is_batched ? 1 : 0; i < form.rank; ++i)
    if (form.shape[i] != wanted.shape[i]) return false;
  return true;
}

bool has_strides(const ArrayForm& form, const ArrayForm& wanted) {
  for (size_t i = 0; i < form.rank; ++i)
    if (form.shape[i] > 1 && form.strides[i] != wanted.strides[i]) return false;
  return true;
}

// What a buffer has to be.
struct Wanted {
  const char* name;
  const ArrayForm& form;
  ir::DType dtype;
  bool is_batched;
  bool is_packed;  // the form is, whatever the batch
};

std::string shape_text(const Wanted& wanted) {
  std::string text = print_dims(wanted.form.dims());
  if (wanted.is_batched) text.replace(1, std::to_string(wanted.form.shape[0]).size(), "N");
  return text;
}

void check(const Array& array, const Wanted& wanted) {
  if (array.dtype != wanted.dtype)
    raise(ir::invalid("python.dtype",
                      fmt::format("{} is {}, the kernel's is {}", wanted.name,
                                  ir::info(array.dtype).spec_name, ir::info(wanted.dtype).spec_name),
                      "x.astype(...) copies; or compile a spec of that dtype"));
  if (!has_shape(array.form, wanted.form, wanted.is_batched))
    raise(ir::invalid("python.shape",
                      fmt::format("{} has the shape {}, the kernel's is {}", wanted.name,
                                  print_dims(array.form.dims()), shape_text(wanted)),
                      "only N may differ; pooljit.max_pool2d(x, ...) finds the kernel of each shape"));
  if (array.is_packed && wanted.is_packed) return;
  if (!has_strides(array.form, wanted.form))
    raise(ir::invalid(
        "python.strides",
        fmt::format("{} has the strides {} (in elements), the kernel's are {}", wanted.name,
                    print_dims({array.form.strides.data(), array.form.rank}),
                    print_dims({wanted.form.strides.data(), wanted.form.rank})),
        "say them in the spec, strides=[...] or :nhwc; pooljit.max_pool2d(x, ...) finds the kernel of each"));
}

Array read_written(PyObject* object, const Wanted& wanted) {
  Array array = read_array(object, wanted.name);
  if (array.library == Library::other)
    raise(ir::invalid("python.out",
                      fmt::format("{} is a {}, of which nobody says whether it may be written", wanted.name,
                                  Py_TYPE(object)->tp_name),
                      "a numpy array or a PyTorch tensor"));
  if (!array.is_writable)
    raise(ir::invalid("python.readonly", fmt::format("{} may not be written", wanted.name),
                      "a numpy array with flags.writeable"));
  check(array, wanted);
  return array;
}

Array read_given(PyObject* object, const Wanted& wanted) {
  Array array = read_array(object, wanted.name);
  check(array, wanted);
  return array;
}

// A buffer that is written: the caller's, or a new one.
struct Written {
  py::object object;
  std::byte* data = nullptr;
  int64_t batch = 0;
  bool is_torch = false;  // the caller's tensor
};

Written take_or_make(PyObject* given, const Wanted& wanted, Library library, int64_t batch, PyObject* like) {
  if (given) {
    const Array array = read_written(given, wanted);
    return {py::reinterpret_borrow<py::object>(given), array.data,
            wanted.is_batched ? array.form.shape[0] : 1, array.library == Library::torch};
  }
  ArrayForm form = wanted.form;
  if (wanted.is_batched) form.shape[0] = batch;
  MadeArray made = make_array(library, wanted.dtype, form, like);
  return {std::move(made.object), made.data, batch};
}

void check_batch(int64_t batch, int64_t input, const char* name) {
  if (batch != input)
    raise(ir::invalid("python.shape",
                      fmt::format("{} has a batch of {}, the input of {}", name, batch, input),
                      "the same N"));
}

[[noreturn]] void refuse_without_size(const runtime::FreeKernel& kernel) {
  ir::Error error = kernel.sizes_not_said();
  error.hint = "kernel.sized(224, 224), the extents of all spatial dims";
  raise(std::move(error));
}

const char* const operand_names[] = {"operand 0", "operand 1", "operand 2", "operand 3",
                                     "operand 4", "operand 5", "operand 6", "operand 7"};
static_assert(ir::most_operands <= std::size(operand_names));

}  // namespace

GivenArrays::GivenArrays(PyObject* given) {
  if (given == Py_None) return;
  tuple_ = py::reinterpret_steal<py::object>(PySequence_Tuple(given));
  if (tuple_) return;
  if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw py::error_already_set();
  PyErr_Clear();
  raise(ir::invalid("python.argument", fmt::format("a {} where arrays are listed", Py_TYPE(given)->tp_name),
                    "a list of arrays"));
}

std::span<PyObject* const> GivenArrays::items() const {
  if (!tuple_) return {};
  return {PySequence_Fast_ITEMS(tuple_.ptr()), static_cast<size_t>(PyTuple_GET_SIZE(tuple_.ptr()))};
}

Kernel::Kernel(runtime::KernelPtr impl, runtime::Options options)
    : impl_(std::move(impl)), options_(std::move(options)) {
  const frontend::PoolSpec& spec = impl_->spec();
  input_ = form_of(spec, impl_->input_shape(), impl_->input_strides(), spec.layout);
  output_ = form_of(spec, impl_->output_shape(), impl_->output_strides(), frontend::output_layout(spec));
  is_output_packed_ = is_packed(output_);
  list_operands();
  list_results();
}

Kernel Kernel::compile(std::string_view spec, const runtime::Options& options) {
  return std::visit([&](auto&& compiled) { return Kernel(std::move(compiled), options); },
                    compile_any_kernel(spec, options));
}

Kernel::Kernel(runtime::FreeKernelPtr free, runtime::Options options)
    : free_(std::move(free)),
      free_nest_(std::make_shared<const ir::PoolNest>(make_nest(free_->spec()))),
      options_(std::move(options)) {}

const runtime::KernelPtr& Kernel::pointer() const {
  if (free_) refuse_without_size(*free_);
  return impl_;
}

const runtime::Code& Kernel::code() const {
  if (!free_) return impl_->code();
  if (!free_->general_code()) refuse_without_size(*free_);
  return *free_->general_code();
}

const std::string& Kernel::schedule_origin() const {
  return free_ ? free_->schedule_origin() : impl_->schedule_origin();
}

ir::Result<std::string> Kernel::prove() const {
  return free_ ? runtime::prove_kernel(*free_) : runtime::prove_kernel(*impl_);
}

const std::string& Kernel::signature() const {
  return free_ ? free_->signature() : impl_->code().info.signature;
}

Kernel Kernel::sized(std::span<const int64_t> sizes) const {
  if (free_) return {sized_kernel(*free_, sizes), options_};
  value_or_raise(frontend::with_sizes(impl_->spec(), sizes));
  return *this;
}

// The arrays that the spec's dims are those of: what is read, of a gradient what is written.
py::object Kernel::call_of_size(const Array& input, const CallArguments& arguments) const {
  const bool is_backward = spec().direction == ir::Direction::backward;
  if (is_backward && !arguments.out) (void)pointer();
  const Array out = is_backward ? read_array(arguments.out, "out") : Array();
  const ArrayForm& form = is_backward ? out.form : input.form;
  const frontend::Layout layout = is_backward ? frontend::output_layout(spec()) : spec().layout;
  const size_t first = spec().batch ? 2 : 1, rank = spec().dims.size();
  if (form.rank != first + rank + (frontend::channel_block(layout) > 1 ? 1 : 0))
    raise(ir::invalid("python.shape",
                      fmt::format("{} has the shape {}, the kernel is of {}", is_backward ? "out" : "input",
                                  print_dims(form.dims()), text()),
                      "N and C, then the spatial dims"));
  const Kernel one(sized_kernel_for_run(*free_, form.dims().subspan(first, rank)), options_);
  return one.call(input, arguments);
}

void Kernel::list_operands() {
  ArrayForm channels;
  channels.rank = 1;
  channels.shape[0] = nest().channels;
  channels.strides[0] = 1;
  for (const auto& [is_tensor, pool, layout, shape, strides] : frontend::operands(impl_->spec()))
    operands_.push_back(is_tensor ? form_of(*pool, shape, strides, layout) : channels);
  for (const ir::View& view : ir::operand_views(nest())) operand_dtypes_.push_back(view.dtype);
}

void Kernel::list_results() {
  const frontend::PoolSpec& spec = impl_->spec();
  const auto add = [&](ArrayForm form, ir::DType dtype) {
    const bool packed = is_packed(form);
    results_.push_back({form, dtype, packed});
  };
  for (size_t i = 0; i < impl_->output_views().size(); ++i)
    add(form_of(spec, impl_->output_shape(i), impl_->output_strides(i),
                frontend::output_layout(outputs_of(spec)[i])),
        impl_->output_dtype(i));
  if (reads_indices()) return;
  for (const frontend::PoolSpec& pool : pools_of(spec))
    if (frontend::has_indices(pool))
      add(form_of(pool, frontend::output_shape(pool), frontend::output_strides(pool),
                  frontend::output_layout(pool)),
          pool.index_dtype);
}

py::object Kernel::call(const CallArguments& arguments) const {
  return call(read_array(arguments.input, "input"), arguments);
}

py::object Kernel::call(const Array& input, const CallArguments& arguments) const {
  if (free_) return call_of_size(input, arguments);
  const bool is_batched = impl_->spec().batch.has_value();
  check(input, {"input", input_, input_dtype(), is_batched, is_packed(input_)});
  const int64_t batch = is_batched ? input.form.shape[0] : 1;
  if (has_several()) return call_several(input, arguments);
  const Library library = input.library == Library::torch ? Library::torch : Library::numpy;
  const Wanted wanted_output{"out", output_, output_dtype(), is_batched, is_output_packed_};
  const Written output = take_or_make(arguments.out, wanted_output, library, batch, arguments.input);
  check_batch(output.batch, batch, "out");

  Written indices;
  Array read_indices;
  if (reads_indices()) {
    if (!arguments.indices)
      raise(ir::invalid("run.indices", "the kernel reads indices, and was given none",
                        "kernel(gradient, indices)"));
    const ArrayForm& form = frontend::has_indices_like_output(impl_->spec()) ? output_ : input_;
    read_indices =
        read_given(arguments.indices, {"indices", form, index_dtype(), is_batched, is_packed(form)});
    indices.data = read_indices.data;
    check_batch(is_batched ? read_indices.form.shape[0] : 1, batch, "indices");
  } else if (has_indices()) {
    const Wanted wanted{"indices", output_, index_dtype(), is_batched, is_output_packed_};
    indices = take_or_make(arguments.indices, wanted, library, batch, nullptr);
    check_batch(indices.batch, batch, "indices");
  } else if (arguments.indices) {
    raise(ir::invalid("run.indices", "indices were given to a kernel that has none",
                      "add return_indices=True to the spec"));
  }

  const HeldOperands operands = read_operands(arguments, batch);
  runtime::ThreadPool* const pool =
      library == Library::torch && options_.threads == 0 ? openmp_pool() : nullptr;
  auto done = unlocked(
      [&] { return impl_->run(input.data, output.data, indices.data, pool, batch, operands.pointers()); });
  if (!done) raise(std::move(done.error()));
  if (output.is_torch) note_written(output.object.ptr());
  if (indices.is_torch) note_written(indices.object.ptr());
  if (!has_indices() || reads_indices()) return output.object;
  return py::reinterpret_steal<py::object>(PyTuple_Pack(2, output.object.ptr(), indices.object.ptr()));
}

Kernel::HeldOperands Kernel::read_operands(const CallArguments& arguments, int64_t batch) const {
  if (arguments.operands.size() != operands_.size())
    raise(ir::invalid(
        "run.operands",
        fmt::format("the spec takes {} operands, {} were given", operands_.size(), arguments.operands.size()),
        frontend::operand_hint));
  const bool is_batched = impl_->spec().batch.has_value();
  HeldOperands operands;
  operands.count = operands_.size();
  for (size_t i = 0; i < operands.count; ++i) {
    const bool is_tensor = operands_[i].rank == output_.rank;
    operands.arrays[i] =
        read_given(arguments.operands[i], {operand_names[i], operands_[i], operand_dtypes_[i],
                                           is_tensor && is_batched, is_packed(operands_[i])});
    if (is_tensor && is_batched) check_batch(operands.arrays[i].form.shape[0], batch, operand_names[i]);
    operands.data[i] = operands.arrays[i].data;
  }
  return operands;
}

py::object Kernel::call_several(const Array& input, const CallArguments& arguments) const {
  const bool is_batched = impl_->spec().batch.has_value();
  const int64_t batch = is_batched ? input.form.shape[0] : 1;
  const Library library = input.library == Library::torch ? Library::torch : Library::numpy;
  const HeldOperands operands = read_operands(arguments, batch);
  const size_t outputs = impl_->output_views().size(), count = results_.size();
  const auto given = [&](PyObject* arrays, size_t wanted, const char* name, const char* id) {
    GivenArrays all(arrays ? arrays : Py_None);
    if (arrays && all.items().size() != wanted)
      raise(ir::invalid(
          id, fmt::format("{} holds {} arrays, the kernel writes {}", name, all.items().size(), wanted),
          "a list in the order of the members"));
    return all;
  };
  const GivenArrays out = given(arguments.out, outputs, "out", "run.outputs");
  const GivenArrays indices = given(arguments.indices, count - outputs, "indices", "run.indices");
  std::vector<Written> written;
  std::vector<void*> data;
  for (size_t i = 0; i < count; ++i) {
    const bool is_output = i < outputs;
    const std::span<PyObject* const> arrays = (is_output ? out : indices).items();
    const char* const name = is_output ? "out" : "indices";
    const Wanted wanted{name, results_[i].form, results_[i].dtype, is_batched, results_[i].is_packed};
    PyObject* const own = arrays.empty() ? nullptr : arrays[is_output ? i : i - outputs];
    written.push_back(take_or_make(own, wanted, library, batch, arguments.input));
    check_batch(written.back().batch, batch, name);
    data.push_back(written.back().data);
  }
  runtime::ThreadPool* const pool =
      library == Library::torch && options_.threads == 0 ? openmp_pool() : nullptr;
  const std::span<void* const> pointers(data);
  auto done = unlocked([&] {
    return impl_->run(input.data, {pointers.first(outputs), pointers.subspan(outputs)}, pool, batch,
                      operands.pointers());
  });
  if (!done) raise(std::move(done.error()));
  py::tuple all(count);
  for (size_t i = 0; i < count; ++i) {
    if (written[i].is_torch) note_written(written[i].object.ptr());
    all[i] = std::move(written[i].object);
  }
  return all;
}

}  // namespace pooljit::python
