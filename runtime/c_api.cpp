// The C interface of include/pooljit.h, on top of the runtime: values become codes, nothing is thrown.
#include <algorithm>
#include <new>

#include "pooljit.h"
#include "runtime/compile.h"
#include "runtime/options.h"

struct pooljit_kernel {
  pooljit::runtime::KernelPtr kernel;
};

struct pooljit_spec {
  std::shared_ptr<const pooljit::runtime::CheckedSpec> spec;
};

namespace {

using pooljit::ir::Error;
using pooljit::ir::ErrorKind;

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

void set_last_error(std::string_view text) {
  const size_t length = std::min(text.size(), sizeof last_error - 1);
  std::copy_n(text.data(), length, last_error);
  last_error[length] = '\0';
}

int fail(const Error& error) {
  set_last_error(to_string(error));
  return code_of(error.kind);
}

int fail_null(const char* argument) {
  return fail({ErrorKind::invalid, "runtime.null", std::string("the argument ") + argument + " is null", ""});
}

// Calls body, which returns a code; a lack of memory or threads, the only exceptions that the standard
// library throws below, becomes one too.
template <typename Body>
int guarded(Body body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    set_last_error("runtime.memory: out of memory");
  } catch (const std::exception& error) {
    set_last_error(std::string("runtime.system: ") + error.what());
  }
  return POOLJIT_SYSTEM;
}

// The caller's handle of what was made.
template <typename Made, typename Handle>
int give(pooljit::ir::Result<Made> made, Handle** handle) {
  if (!made) return fail(made.error());
  *handle = new Handle{std::move(*made)};
  return POOLJIT_OK;
}

// What make(spec, options) makes of two texts of the caller's.
template <typename Handle, typename Make>
int give_of_texts(const char* spec, const char* options, Handle** handle, const char* name, Make make) {
  return guarded([&] {
    if (!handle) return fail_null(name);
    *handle = nullptr;
    if (!spec) return fail_null("spec");
    const auto words = pooljit::runtime::parse_option_words(options ? options : "");
    return words ? give(make(spec, *words), handle) : fail(words.error());
  });
}

}  // namespace

int pooljit_compile(const char* spec, const char* options, pooljit_kernel** kernel) {
  return give_of_texts(spec, options, kernel, "kernel",
                       [](std::string_view text, const pooljit::Options& words) {
                         return pooljit::runtime::compile(text, words);
                       });
}

int pooljit_spec_read(const char* spec, const char* options, pooljit_spec** object) {
  return give_of_texts(spec, options, object, "object", pooljit::runtime::check_spec);
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

int pooljit_output_shape(const pooljit_kernel* kernel, int64_t* dims, int* rank) {
  return guarded([&] {
    if (!kernel) return fail_null("kernel");
    if (!dims) return fail_null("dims");
    if (!rank) return fail_null("rank");
    const std::vector<int64_t>& shape = kernel->kernel->output_shape();
    static_assert(pooljit::runtime::max_task_dims <= POOLJIT_MAX_RANK);
    std::copy(shape.begin(), shape.end(), dims);
    *rank = static_cast<int>(shape.size());
    return int{POOLJIT_OK};
  });
}

int pooljit_run(const pooljit_kernel* kernel, const void* input, void* output, void* indices) {
  return guarded([&] {
    if (!kernel) return fail_null("kernel");
    const auto done = kernel->kernel->run(input, output, indices);
    return done ? int{POOLJIT_OK} : fail(done.error());
  });
}

int pooljit_run_operands(const pooljit_kernel* kernel, const void* input, void* output, void* indices,
                         const void* const* operands, int count) {
  return guarded([&] {
    if (!kernel) return fail_null("kernel");
    if (!operands && count > 0) return fail_null("operands");
    const pooljit::ir::Operands all(operands, count > 0 ? size_t(count) : 0);
    const auto done = kernel->kernel->run(input, output, indices, nullptr, -1, all);
    return done ? int{POOLJIT_OK} : fail(done.error());
  });
}

const char* pooljit_proof(const pooljit_kernel* kernel) {
  return kernel ? kernel->kernel->code().info.proof.c_str() : "";
}

void pooljit_release(pooljit_kernel* kernel) { delete kernel; }

const char* pooljit_last_error() { return last_error; }

const char* pooljit_version() { return POOLJIT_VERSION; }
