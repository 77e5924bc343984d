// pooljit.Kernel: a compiled layer that takes arrays.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bindings/python/src/arrays.h"
#include "runtime/free_kernel.h"
#include "runtime/kernel.h"
#include "runtime/kernel_options.h"

namespace pooljit::python {

// The arguments of a call; null: not given.
struct CallArguments {
  PyObject* input = nullptr;
  PyObject* indices = nullptr;
  PyObject* out = nullptr;
  std::span<PyObject* const> operands;  // of the epilogue
};

class Kernel {
 public:
  // Compiles the spec, or finds it in the cache; with free dims, too.
  static Kernel compile(std::string_view spec, const runtime::Options& options);
  Kernel(runtime::KernelPtr impl, runtime::Options options);
  // Of a spec with free dims: a call is of the size that its arrays have.
  Kernel(runtime::FreeKernelPtr free, runtime::Options options);

  // All that needs a size asks for these. They throw Raised with "run.dims" where dims are free.
  const runtime::Kernel& impl() const { return *pointer(); }
  const runtime::KernelPtr& pointer() const;
  // What calls run: with free dims the code for all sizes. Throws Raised with "run.dims" where each size has
  // its own.
  const runtime::Code& code() const;
  const std::string& schedule_origin() const;
  std::string fallback() const { return free_ ? "" : impl_->fallback(); }  // a size may have one
  ir::Result<std::string> prove() const;
  const runtime::Options& options() const { return options_; }
  const frontend::PoolSpec& spec() const { return free_ ? free_->spec() : impl_->spec(); }
  const std::string& text() const { return free_ ? free_->text() : impl_->text(); }
  const std::string& signature() const;
  const std::string& label() const { return free_ ? free_->options().label : impl_->label(); }
  // The kernel of one size: this one, where no dims are free and the size is its own.
  Kernel sized(std::span<const int64_t> sizes) const;

  // Runs it without the GIL. Gives the output, or (output, indices) of a kernel that writes both; of several
  // pools a tuple of all outputs, then all arrays of indices, where that is more than one output. The arrays
  // may hold another batch than the spec's. Tensors of PyTorch's are pooled on its threads, unless the
  // options say how many.
  py::object call(const CallArguments& arguments) const;
  // The same for an input that has been read.
  py::object call(const Array& input, const CallArguments& arguments) const;

  ir::DType input_dtype() const { return nest().input.dtype; }
  ir::DType output_dtype() const { return nest().outputs()[0].output.dtype; }
  ir::DType index_dtype() const { return nest().indices->dtype; }
  // All that is written, outputs first; several only of several pools.
  struct Result {
    ArrayForm form;
    ir::DType dtype;
    bool is_packed;
  };
  const std::vector<Result>& results() const { return results_; }
  bool has_indices() const { return nest().indices.has_value(); }
  bool reads_indices() const { return has_indices() && spec().direction != ir::Direction::forward; }
  const ArrayForm& operand_form(size_t number) const { return operands_[number]; }
  ir::DType operand_dtype(size_t number) const { return operand_dtypes_[number]; }
  size_t operand_count() const { return operands_.size(); }

 private:
  const ir::PoolNest& nest() const { return free_ ? *free_nest_ : impl_->code().info.nest; }
  py::object call_of_size(const Array& input, const CallArguments& arguments) const;
  bool has_several() const { return is_pools(impl_->spec()) && results_.size() > 1; }
  // Of a call, in their order; arrays keeps them alive.
  struct HeldOperands {
    std::array<Array, ir::most_operands> arrays;
    std::array<const void*, ir::most_operands> data{};
    size_t count = 0;
    ir::Operands pointers() const { return {data.data(), count}; }
  };
  HeldOperands read_operands(const CallArguments& arguments, int64_t batch) const;
  py::object call_several(const Array& input, const CallArguments& arguments) const;
  void list_operands();
  void list_results();

  runtime::KernelPtr impl_;  // or, with free dims, these
  runtime::FreeKernelPtr free_;
  std::shared_ptr<const ir::PoolNest> free_nest_;  // of the least size
  runtime::Options options_;
  ArrayForm input_,
      output_;  // arrays of the spec's batch; in blocked layouts the blocks are a last dimension
  bool is_output_packed_;
  std::vector<ArrayForm> operands_;  // those with rank 1 are arrays, one number per channel
  std::vector<ir::DType> operand_dtypes_;
  std::vector<Result> results_;
};

// operands= of a call, which keeps them: code of theirs may change the caller's list. None is none.
class GivenArrays {
 public:
  GivenArrays() = default;
  explicit GivenArrays(PyObject* given);
  std::span<PyObject* const> items() const;

 private:
  py::object tuple_;
};

// Python's own call protocol for Kernel(input, indices=None, *, out=None, operands=()).
PyObject* call_kernel(PyObject* self, PyObject* arguments, PyObject* keywords);

void register_kernel(py::module_& module);

}  // namespace pooljit::python
