// pooljit's C++ interface: one line of text is a pooling layer, a kernel for exactly that layer comes back.
//
//   const pooljit::Kernel kernel =
//       pooljit::compile("max_pool2d(float32[1,64,112,112], kernel_size=3, stride=2, padding=1)");
//   kernel.run(input, output);
//
// C++17. A header over the C interface, pooljit.h and its kin, which say what each thing means:
// names are the same, and nothing but C crosses into the library, so a program may have any standard library
// and any of its modes. Every error is a pooljit::Error. Threads, fork(), signals and scratch memory: as
// pooljit.h says; compiling allocates, running does not.
#pragma once

#if __cplusplus < 201703L
#error "pooljit.hpp needs C++17; pooljit.h does not"
#endif

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pooljit.h"
#include "pooljit_error.hpp"
#include "pooljit_linked.h"
#include "pooljit_tuning.h"

namespace pooljit {

// How to compile: pooljit_options. Fields that are empty or 0 have their defaults.
struct Options {
  std::string backend = {};   // "auto" xbyak llvm interpreter reference
  std::string isa = {};       // "auto" avx2 avx512
  std::string schedule = {};  // as Info::schedule has it
  int threads = 0;            // of the built-in pool; 0: as many as the process may use
  bool verify = false;        // proves the code right before it is handed out
  std::string tune_db = {};   // a file of `pooljit tune`
  std::string measure = {};   // "6", "same_bits", "8,same_bits", "0"
  std::string names = {};     // "perf", "jitdump", "gdb", joined by commas
  std::string fallback = {};  // "reference", "never": what "auto" is where no machine code can run
  std::string label = {};     // the layer's name in its model, which `names` show before ours
  int sizes = 0;              // that a kernel with free dims keeps; 0: 64
  int exact_after = 0;        // the run of a size that makes code for it alone; -1: none

  // Whose texts are this object's.
  pooljit_options c_options() const {
    pooljit_options made = {};
    made.size = sizeof made;
    made.backend = backend.c_str();
    made.isa = isa.c_str();
    made.schedule = schedule.c_str();
    made.threads = threads;
    made.verify = verify;
    made.tune_db = tune_db.c_str();
    made.measure = measure.c_str();
    made.names = names.c_str();
    made.fallback = fallback.c_str();
    made.label = label.c_str();
    made.sizes = sizes;
    made.exact_after = exact_after;
    return made;
  }
};

// "backend=xbyak isa=avx512 threads=2" as Options. Errors: "runtime.options".
inline Options options_read(std::string_view text) {
  std::vector<char> room(text.size() + 1);
  pooljit_options read = {};
  read.size = sizeof read;
  check(pooljit_options_read(std::string(text).c_str(), &read, room.data(), room.size()));
  const auto text_of = [](const char* from) { return std::string(from ? from : ""); };
  Options options;
  options.backend = text_of(read.backend);
  options.isa = text_of(read.isa);
  options.schedule = text_of(read.schedule);
  options.threads = read.threads;
  options.verify = read.verify != 0;
  options.tune_db = text_of(read.tune_db);
  options.measure = text_of(read.measure);
  options.names = text_of(read.names);
  options.fallback = text_of(read.fallback);
  options.label = text_of(read.label);
  options.sizes = read.sizes;
  options.exact_after = read.exact_after;
  return options;
}

// A tensor, and what a buffer for it must hold.
struct Tensor : pooljit_tensor {
  Tensor() : pooljit_tensor{} {}
  int64_t bytes = 0;
  int32_t unbatched = 0;

  // In logical order: N unless the spec has none, C, spatial dimensions. Strides in elements.
  std::vector<int64_t> shape() const { return {dims + unbatched, dims + rank}; }
  std::vector<int64_t> stride_list() const { return {strides + unbatched, strides + rank}; }
};

// pooljit_info. Its texts live as long as the spec or kernel.
struct Info : pooljit_info {
  Info() : pooljit_info{} { size = sizeof(pooljit_info); }
};

// What is known of a Spec and of a Kernel: pooljit_spec_info and pooljit_kernel_info, and the most asked for
// of it by name. Of several pools `number` says which output, array of indices or operand; "runtime.range"
// is the error of one that there is not.
template <typename Handle>
class Known {
 public:
  Info info() const {
    Info info;
    check(Handle::c_info(handle(), &info));
    return info;
  }
  Tensor input() const {
    const Info known = info();
    return made(known.input, known.input_bytes, known);
  }
  Tensor output(int number = 0) const { return one_of(Handle::c_output, number); }
  Tensor indices(int number = 0) const { return one_of(Handle::c_indices, number); }

  // How many outputs a run takes, and arrays of indices: 1 and 0 or 1, of several pools more.
  int output_count() const { return info().output_count; }
  int indices_count() const { return info().indices_count; }
  bool has_indices() const { return indices_count() > 0; }
  bool has_free_dims() const { return info().free_dims != 0; }
  std::vector<int64_t> input_shape() const { return input().shape(); }
  std::vector<int64_t> output_shape(int number = 0) const { return output(number).shape(); }
  std::vector<int64_t> input_strides() const { return input().stride_list(); }
  std::vector<int64_t> output_strides(int number = 0) const { return output(number).stride_list(); }
  // From a view's first byte to behind its last: what a buffer must hold.
  size_t input_bytes() const { return static_cast<size_t>(info().input_bytes); }
  size_t output_bytes(int number = 0) const { return static_cast<size_t>(output(number).bytes); }
  size_t indices_bytes(int number = 0) const {  // 0 where there are none
    return has_indices() ? static_cast<size_t>(indices(number).bytes) : 0;
  }
  std::string_view dtype() const { return info().input.dtype; }
  std::string_view output_dtype(int number = 0) const { return output(number).dtype; }
  std::string_view spec() const { return info().spec; }            // canonical text
  std::string_view signature() const { return info().signature; }  // the text with N for the batch

 private:
  const auto* handle() const { return static_cast<const Handle*>(this)->c_handle(); }

  static Tensor made(const pooljit_tensor& from, int64_t bytes, const Info& known) {
    Tensor tensor;
    static_cast<pooljit_tensor&>(tensor) = from;
    tensor.bytes = bytes;
    tensor.unbatched = known.unbatched;
    return tensor;
  }
  template <typename Get>
  Tensor one_of(Get get, int number) const {
    pooljit_tensor tensor = {};
    int64_t bytes = 0;
    check(get(handle(), number, &tensor, &bytes));
    return made(tensor, bytes, info());
  }
};

// A spec and how to compile it, read and checked once: a cheap handle that can be copied. compile() finds its
// kernel in the cache in half the time that a text takes, which has to be read and hashed.
class POOLJIT_API Spec : public Known<Spec> {
 public:
  Spec() = default;  // empty
  // Errors: "spec.*", "runtime.options", "runtime.isa", "backend.missing", "schedule.text".
  explicit Spec(std::string_view text, const Options& options = {})
      : Spec(pooljit_spec_read, std::string(text).c_str(), options) {}
  // Of a layer, or several pools, as data: the same spec as its text. Errors: these, "layer.size" and
  // "layer.field".
  explicit Spec(const pooljit_layer& layer, const Options& options = {})
      : Spec(pooljit_spec_make, &layer, options) {}
  explicit Spec(const pooljit_pools& pools, const Options& options = {})
      : Spec(pooljit_spec_make_pools, &pools, options) {}

  // The same of one size: the extents of all spatial dims, pooljit_spec_sized.
  Spec sized(const std::vector<int64_t>& dims) const {
    pooljit_spec* made = nullptr;
    check(pooljit_spec_sized(c_handle(), dims.data(), static_cast<int32_t>(dims.size()), &made));
    return Spec(made);
  }

  explicit operator bool() const noexcept { return handle_ != nullptr; }
  const pooljit_spec* c_handle() const noexcept { return handle_.get(); }

 private:
  friend class Known<Spec>;
  static constexpr auto c_info = &pooljit_spec_info;
  static constexpr auto c_output = &pooljit_spec_output;
  static constexpr auto c_indices = &pooljit_spec_indices;

  template <typename Make, typename From>
  Spec(Make make, From from, const Options& options) {
    const pooljit_options c = options.c_options();
    pooljit_spec* made = nullptr;
    check(make(from, &c, &made));
    *this = Spec(made);
  }
  explicit Spec(pooljit_spec* made)
      : handle_(made, [](const pooljit_spec* one) { pooljit_spec_release(const_cast<pooljit_spec*>(one)); }) {
  }

  std::shared_ptr<const pooljit_spec> handle_;
};

// pooljit_args: all that a run can be told.
struct Args : pooljit_args {
  Args() : pooljit_args{} { size = sizeof(pooljit_args); }

  // Lists with data() and size(), which must outlive the run: std::vector<void*>, std::array<void*, 2>.
  template <typename List>
  void set_outputs(const List& list) {
    output_count = set(outputs, list);
  }
  template <typename List>
  void set_indices(const List& list) {
    indices_count = set(indices, list);
  }
  template <typename List>
  void set_operands(const List& list) {
    operand_count = set(operands, list);
  }
  void set_batch(int64_t images) { has_batch = 1, batch = images; }
  // int64_t.
  template <typename List>
  void set_dims(const List& list) {
    dim_count = set(dims, list);
  }

  // The caller's own threads, so many at once, instead of the built-in pool: function(tasks, task) calls
  // task(0) ... task(tasks - 1), each once, in any order, on any threads, and returns when all have returned.
  // `function` must outlive the run, and does not throw.
  template <typename Function>
  void set_parallel(Function& function, int threads_at_once) {
    threads = threads_at_once;
    context = const_cast<void*>(static_cast<const void*>(std::addressof(function)));
    parallel = [](void* its, int64_t tasks, pooljit_task task, void* argument) {
      (*static_cast<Function*>(its))(tasks, [=](int64_t number) { task(argument, number); });
    };
  }

 private:
  template <typename Pointer, typename List>
  static int32_t set(Pointer& to, const List& list) {
    to = list.size() == 0 ? nullptr : list.data();
    return static_cast<int32_t>(list.size());
  }
};

// A compiled pooling layer: a cheap handle that can be copied. The code lives as long as any handle to it.
class POOLJIT_API Kernel : public Known<Kernel> {
 public:
  Kernel() = default;                    // empty
  explicit Kernel(pooljit_kernel* made)  // takes it
      : handle_(made, [](const pooljit_kernel* one) { pooljit_release(const_cast<pooljit_kernel*>(one)); }) {}

  // Pools. Errors, before anything is written: those of pooljit_run and pooljit_run_with.
  void run(const void* input, void* output, void* indices = nullptr) const {
    check(pooljit_run(c_handle(), input, output, indices));
  }
  void run_with(const pooljit_args& args) const { check(pooljit_run_with(c_handle(), &args)); }

  // The kernel for one size, which makes its code if it is new: the extents of all spatial dims,
  // pooljit_kernel_sized.
  Kernel sized(const std::vector<int64_t>& dims) const {
    pooljit_kernel* made = nullptr;
    check(pooljit_kernel_sized(c_handle(), dims.data(), static_cast<int32_t>(dims.size()), &made));
    return Kernel(made);
  }

  // How many Args::parts are worth having. Errors: "run.batch".
  int useful_parts(int64_t batch) const {
    int parts = 0;
    check(pooljit_useful_parts(c_handle(), batch, &parts));
    return parts;
  }

  std::string_view backend() const { return info().backend; }
  std::string_view isa() const { return info().isa; }
  std::string_view schedule() const { return info().schedule; }
  std::string_view schedule_origin() const { return info().schedule_origin; }
  std::string_view proof() const { return info().proof; }
  std::string_view fallback() const { return info().fallback; }
  std::string_view label() const { return info().label; }
  size_t code_bytes() const { return static_cast<size_t>(info().code_bytes); }
  size_t scratch_bytes() const { return static_cast<size_t>(info().scratch_bytes); }

  explicit operator bool() const noexcept { return handle_ != nullptr; }
  const pooljit_kernel* c_handle() const noexcept { return handle_.get(); }

 private:
  friend class Known<Kernel>;
  static constexpr auto c_info = &pooljit_kernel_info;
  static constexpr auto c_output = &pooljit_kernel_output;
  static constexpr auto c_indices = &pooljit_kernel_indices;

  std::shared_ptr<const pooljit_kernel> handle_;
};

// Compiles, or finds the kernel in the cache. Errors: those of pooljit_compile.
inline Kernel compile(std::string_view spec, const Options& options = {}) {
  const pooljit_options c = options.c_options();
  pooljit_kernel* kernel = nullptr;
  check(pooljit_compile(std::string(spec).c_str(), &c, &kernel));
  return Kernel(kernel);
}
inline Kernel compile(const Spec& spec) {
  pooljit_kernel* kernel = nullptr;
  check(pooljit_spec_compile(spec.c_handle(), &kernel));
  return Kernel(kernel);
}

// The kernel of code for all sizes that `pooljit export` made and the program was linked with: pooljit_link.
inline Kernel link(const pooljit_linked_code& code) {
  pooljit_kernel* kernel = nullptr;
  check(pooljit_link(&code, &kernel));
  return Kernel(kernel);
}

// What Options::measure is where it is empty, for the process, from now on; empty: what the environment
// variable POOLJIT_MEASURE says, as at first. Errors: "runtime.options".
inline void set_measure(std::string_view measure) {
  check(pooljit_set_measure(std::string(measure).c_str()));
}

// --- the cache of kernels, one for the process

struct Cache : pooljit_cache {
  Cache() : pooljit_cache{} { size = sizeof(pooljit_cache); }
};
inline Cache cache_info() {
  Cache cache;
  check(pooljit_cache_info(&cache));
  return cache;
}
inline void cache_limit(uint64_t kernels, uint64_t bytes) { pooljit_cache_limit(kernels, bytes); }
inline void cache_clear() { pooljit_cache_clear(); }

// --- for tuners: pooljit_tuning.h

struct Schedule {
  std::string text;              // for Options::schedule
  double predicted_seconds = 0;  // of a call on one thread, by the cost model; 0: not asked for
  bool is_default = false;       // what compile() takes where it is told nothing
};

// costs: each makes other code and has its predicted_seconds, the cheapest first; up to some seconds.
inline std::vector<Schedule> schedules(const Spec& spec, bool costs = false) {
  pooljit_schedule_list* made = nullptr;
  check((costs ? pooljit_schedules_by_cost : pooljit_schedules)(spec.c_handle(), &made));
  const std::unique_ptr<pooljit_schedule_list, void (*)(pooljit_schedule_list*)> list(
      made, pooljit_schedule_list_release);
  std::vector<Schedule> all(pooljit_schedule_count(list.get()));
  for (size_t i = 0; i < all.size(); ++i) {
    pooljit_schedule one = {};
    one.size = sizeof one;
    check(pooljit_schedule_get(list.get(), i, &one));
    all[i] = {one.text, one.predicted_seconds, one.is_default != 0};
  }
  return all;
}

// Takes a text of the library's.
inline std::string text_of(char* made) {
  const std::unique_ptr<char, void (*)(char*)> text(made, pooljit_text_release);
  return text.get();
}

// Why the spec gets its schedule where nothing was measured, for people.
inline std::string explain(const Spec& spec) {
  char* text = nullptr;
  check(pooljit_explain(spec.c_handle(), &text));
  return text_of(text);
}

// Times kernels of one spec, on data of its own, taking turns for about so many seconds in all.
inline std::vector<pooljit_timing> time(const std::vector<Kernel>& kernels, double seconds = 0.2) {
  std::vector<const pooljit_kernel*> handles;
  for (const Kernel& kernel : kernels) handles.push_back(kernel.c_handle());
  std::vector<pooljit_timing> timings(kernels.size());
  check(pooljit_time(handles.data(), handles.size(), seconds, timings.data()));
  return timings;
}

// Proves the kernel's machine code right for every input, and says what was proved. Errors: "prove.*".
inline std::string prove(const Kernel& kernel) {
  char* text = nullptr;
  check(pooljit_prove(kernel.c_handle(), &text));
  return text_of(text);
}

inline std::string_view version() { return pooljit_version(); }  // "0.1.0"

}  // namespace pooljit
