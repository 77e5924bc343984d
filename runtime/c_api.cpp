// The C interface of include/pooljit.h, on top of the runtime: values become codes, nothing is thrown. Here:
// errors, compiling and running.
#include "runtime/c_api.h"

#include "runtime/options.h"

using namespace pooljit::c_api;
using pooljit::ir::ErrorKind;

namespace {

// What last_error() shows. A fixed room, so that reporting a lack of memory needs none; longer texts are cut.
thread_local char last_error[1024] = "";

int code_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::invalid:
      return POOLJIT_INVALID;
    case ErrorKind::unsupported:
      return POOLJIT_UNSUPPORTED;
    case ErrorKind::system:
      break;
  }
  return POOLJIT_SYSTEM;
}

int code_of(const pooljit::ir::Result<void>& done) { return done ? int{POOLJIT_OK} : fail(done.error()); }

// What make(options) makes, `options` being the caller's text.
template <typename Handle, typename Made>
int give_with_options(const char* options, Handle** handle, const char* name, const void* input,
                      const char* input_name,
                      pooljit::FunctionRef<pooljit::ir::Result<Made>(const pooljit::Options&)> make) {
  return guarded([&] {
    if (!handle) return fail_null(name);
    *handle = nullptr;
    if (!input) return fail_null(input_name);
    const auto words = pooljit::runtime::parse_option_words(options ? options : "");
    return words ? give(make(*words), handle) : fail(words.error());
  });
}

// The caller's function as a pool.
class CallerPool final : public pooljit::ThreadPool {
 public:
  CallerPool(const pooljit_run_options& options, int threads) : options_(options), threads_(threads) {}
  int threads() const override { return threads_; }
  void parallel(int64_t tasks, pooljit::FunctionRef<void(int64_t)> task) override {
    options_.parallel(
        options_.context, tasks,
        [](void* argument, int64_t number) {
          (*static_cast<pooljit::FunctionRef<void(int64_t)>*>(argument))(number);
        },
        &task);
  }

 private:
  const pooljit_run_options& options_;
  const int threads_;
};

// The fields that the caller's struct has, the rest 0.
pooljit::ir::Result<pooljit_run_options> read_options(const pooljit_run_options* given) {
  pooljit_run_options options = {};
  if (!given) return options;
  const size_t size = given->size;
  if (size < sizeof size) return tl::unexpected(wrong_struct("pooljit_run_options", size, false));
  const auto* const bytes = reinterpret_cast<const unsigned char*>(given);
  if (size > sizeof options &&
      std::any_of(bytes + sizeof options, bytes + size, [](unsigned char byte) { return byte != 0; }))
    return tl::unexpected(wrong_struct("pooljit_run_options", size, true));
  std::memcpy(&options, given, std::min(size, sizeof options));
  if (options.reserved != 0) return tl::unexpected(wrong_struct("pooljit_run_options", size, true));
  return options;
}

// The batch that the options say; -1: the spec's.
pooljit::ir::Result<int64_t> read_batch(const pooljit::runtime::Kernel& kernel,
                                        const pooljit_run_options& options) {
  if (!options.has_batch && kernel.spec().free_batch) return tl::unexpected(pooljit::runtime::no_batch());
  if (options.has_batch && options.batch < 0)
    return pooljit::ir::invalid("run.batch", "the batch is " + std::to_string(options.batch), "0 or more");
  return options.has_batch ? options.batch : -1;
}

// Calls run(options, batch, operands), all checked.
template <typename Run>
int run_checked(const pooljit_kernel* kernel, const pooljit_run_options* given, Run run) {
  return guarded([&] {
    if (!kernel) return fail_null("kernel");
    const auto options = read_options(given);
    if (!options) return fail(options.error());
    const auto batch = read_batch(*kernel->kernel, *options);
    if (!batch) return fail(batch.error());
    if (!options->operands && options->operand_count > 0) return fail_null("operands");
    const size_t count = options->operand_count > 0 ? size_t(options->operand_count) : 0;
    return code_of(run(*options, *batch, pooljit::ir::Operands(options->operands, count)));
  });
}

pooljit::runtime::Kernel::Written written_of(void* const* outputs, int output_count, void* const* indices,
                                             int indices_count) {
  const auto pointers = [](void* const* first, int count) {
    return std::span(first, first && count > 0 ? size_t(count) : 0);
  };
  return {pointers(outputs, output_count), pointers(indices, indices_count)};
}

}  // namespace

namespace pooljit::c_api {

void set_last_error(std::string_view text) {
  const size_t length = std::min(text.size(), sizeof last_error - 1);
  std::copy_n(text.data(), length, last_error);
  last_error[length] = '\0';
}

int fail(const ir::Error& error) {
  set_last_error(to_string(error));
  return code_of(error.kind);
}

int fail_null(const char* argument) {
  return fail(
      {ir::ErrorKind::invalid, "runtime.null", std::string("the argument ") + argument + " is null", ""});
}

ir::Error wrong_struct(const char* name, size_t size, bool is_newer) {
  return {ir::ErrorKind::invalid, "runtime.struct",
          std::string("the size of ") + name + " is " + std::to_string(size) +
              (is_newer ? ", and a field that this library does not know is set" : ""),
          is_newer ? "install a newer pooljit" : "set size to sizeof of the struct"};
}

}  // namespace pooljit::c_api

int pooljit_compile(const char* spec, const char* options, pooljit_kernel** kernel) {
  return give_with_options<pooljit_kernel, pooljit::runtime::KernelPtr>(
      options, kernel, "kernel", spec, "spec",
      [&](const pooljit::Options& words) { return pooljit::runtime::compile(spec, words); });
}

int pooljit_set_measure(const char* measure) {
  return guarded([&] { return code_of(pooljit::runtime::set_measure(measure ? measure : "")); });
}

int pooljit_spec_read(const char* spec, const char* options, pooljit_spec** object) {
  return give_with_options<pooljit_spec, std::shared_ptr<const pooljit::runtime::CheckedSpec>>(
      options, object, "object", spec, "spec", [&](const pooljit::Options& words) {
        return pooljit::runtime::check_spec(std::string_view(spec), words);
      });
}

int pooljit_spec_make(const pooljit_layer* layer, const char* options, pooljit_spec** object) {
  using Made = std::shared_ptr<const pooljit::runtime::CheckedSpec>;
  return give_with_options<pooljit_spec, Made>(
      options, object, "object", layer, "layer",
      [&](const pooljit::Options& words) -> pooljit::ir::Result<Made> {
        auto spec = pooljit::runtime::spec_of(*layer);
        if (!spec) return tl::unexpected(spec.error());
        return pooljit::runtime::check_spec(std::move(*spec), words);
      });
}

int pooljit_spec_compile(const pooljit_spec* object, pooljit_kernel** kernel) {
  return guarded([&] {
    if (!kernel) return fail_null("kernel");
    *kernel = nullptr;
    if (!object) return fail_null("object");
    return give(pooljit::runtime::compile(*object->spec), kernel);
  });
}

void pooljit_spec_release(pooljit_spec* object) { delete object; }

int pooljit_run(const pooljit_kernel* kernel, const void* input, void* output, void* indices) {
  return guarded([&] {
    if (!kernel) return fail_null("kernel");
    if (kernel->kernel->spec().free_batch) return fail(pooljit::runtime::no_batch());
    return code_of(kernel->kernel->run(input, output, indices));
  });
}

int pooljit_run_operands(const pooljit_kernel* kernel, const void* input, void* output, void* indices,
                         const void* const* operands, int count) {
  pooljit_run_options options = {};
  options.size = sizeof options;
  options.operands = operands;
  options.operand_count = count;
  return pooljit_run_with(kernel, input, output, indices, &options);
}

int pooljit_run_with(const pooljit_kernel* kernel, const void* input, void* output, void* indices,
                     const pooljit_run_options* given) {
  return run_checked(kernel, given,
                     [&](const pooljit_run_options& options, int64_t batch, pooljit::ir::Operands operands) {
                       if (!options.parallel)
                         return kernel->kernel->run(input, output, indices, nullptr, batch, operands);
                       const int threads = options.threads > 0 ? options.threads : kernel->kernel->threads();
                       CallerPool pool(options, threads);
                       return kernel->kernel->run(input, output, indices, &pool, batch, operands);
                     });
}

int pooljit_run_outputs(const pooljit_kernel* kernel, const void* input, void* const* outputs,
                        int output_count, void* const* indices, int indices_count,
                        const pooljit_run_options* given) {
  return run_checked(kernel, given,
                     [&](const pooljit_run_options& options, int64_t batch,
                         pooljit::ir::Operands operands) -> pooljit::ir::Result<void> {
                       const auto written = written_of(outputs, output_count, indices, indices_count);
                       if (!options.parallel)
                         return kernel->kernel->run(input, written, nullptr, batch, operands);
                       CallerPool pool(options,
                                       options.threads > 0 ? options.threads : kernel->kernel->threads());
                       return kernel->kernel->run(input, written, &pool, batch, operands);
                     });
}

int pooljit_run_outputs_part(const pooljit_kernel* kernel, const void* input, void* const* outputs,
                             int output_count, void* const* indices, int indices_count,
                             const pooljit_run_options* given, int part, int parts) {
  return run_checked(
      kernel, given, [&](const pooljit_run_options& options, int64_t batch, pooljit::ir::Operands operands) {
        return kernel->kernel->run_part(input, written_of(outputs, output_count, indices, indices_count),
                                        {part, parts, options.scratch}, batch, operands);
      });
}

int pooljit_run_part(const pooljit_kernel* kernel, const void* input, void* output, void* indices,
                     const pooljit_run_options* given, int part, int parts) {
  return run_checked(kernel, given,
                     [&](const pooljit_run_options& options, int64_t batch, pooljit::ir::Operands operands) {
                       return kernel->kernel->run_part(input, output, indices, {part, parts, options.scratch},
                                                       batch, operands);
                     });
}

void pooljit_release(pooljit_kernel* kernel) { delete kernel; }

const char* pooljit_last_error() { return last_error; }

const char* pooljit_version() { return POOLJIT_VERSION; }
