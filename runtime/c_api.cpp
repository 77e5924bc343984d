// The C interface of include/pooljit.h, on top of the runtime: values become codes, nothing is thrown. Here:
// errors, options and compiling.
#include "runtime/c_api.h"

#include <cstdio>
#include <string_view>

#include "runtime/linked_code.h"
#include "runtime/options.h"

using namespace pooljit::c_api;
using pooljit::ir::ErrorKind;

namespace {

// The thread's last error. Arrays of fixed size, so that reporting a lack of memory needs none; longer texts
// are cut.
struct LastError {
  int code = POOLJIT_OK;
  char id[64] = "", message[1024] = "", hint[512] = "", text[1536] = "";
};
thread_local LastError last_error;

template <size_t room>
void set(char (&to)[room], std::string_view from) {
  const size_t length = std::min(from.size(), room - 1);
  std::copy_n(from.data(), length, to);
  to[length] = '\0';
}

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

// Calls take(name, the caller's field, the runtime's) for each text.
template <typename Given, typename Take>
void for_each_text(Given& given, pooljit::runtime::Options& options, Take take) {
  take(given.backend, options.backend);
  take(given.isa, options.isa);
  take(given.schedule, options.schedule);
  take(given.tune_db, options.tune_db);
  take(given.measure, options.measure);
  take(given.names, options.names);
  take(given.fallback, options.fallback);
  take(given.label, options.label);
}

// A null pointer means the default.
pooljit::ir::Result<pooljit::runtime::Options> read_options(const pooljit_options* pointer) {
  pooljit::runtime::Options options;
  if (!pointer) return options;
  const auto given = read_struct("pooljit_options", *pointer);
  if (!given) return tl::unexpected(given.error());
  for_each_text(*given, options, [](const char* text, std::string& to) {
    if (text && *text) to = text;
  });
  options.threads = given->threads;
  options.sizes = given->sizes;
  options.exact_after = given->exact_after;
  if (given->verify != 0 && given->verify != 1)
    return pooljit::ir::invalid("runtime.options", "verify is " + std::to_string(given->verify), "0 or 1");
  options.verify = given->verify == 1;
  return options;
}

// The result of make(options).
template <typename Handle, typename Make>
int give_with_options(const pooljit_options* options, Handle** handle, const char* name, const void* input,
                      const char* input_name, Make make) {
  return guarded([&] {
    if (!handle) return fail_null(name);
    *handle = nullptr;
    if (!input) return fail_null(input_name);
    const auto read = read_options(options);
    return read ? give(make(*read), handle) : fail(read.error());
  });
}

// make() makes the spec.
template <typename Given>
int make_spec(const Given* given, const char* name, const pooljit_options* options, pooljit_spec** object) {
  using Made = pooljit::ir::Result<std::shared_ptr<const pooljit::runtime::CheckedSpec>>;
  return give_with_options(options, object, "object", given, name,
                           [&](const pooljit::runtime::Options& read) -> Made {
                             auto spec = pooljit::runtime::spec_of(*given);
                             if (!spec) return tl::unexpected(spec.error());
                             return pooljit::runtime::check_spec(std::move(*spec), read);
                           });
}

}  // namespace

namespace pooljit::c_api {

ir::Result<std::span<const int64_t>> sizes_of(const int64_t* dims, int32_t count) {
  if (count > static_cast<int32_t>(frontend::max_rank))
    return ir::invalid("run.dims", std::to_string(count) + " dims are given",
                       "one to three: all spatial dims");
  if ((dims != nullptr) == (count > 0) && count >= 0) return std::span(dims, static_cast<size_t>(count));
  return ir::invalid(
      "run.dims",
      std::string("dims is ") + (dims ? "given" : "null") + " with " + std::to_string(count) + " entries",
      "the extents of all spatial dims, and how many there are");
}

ir::Result<runtime::KernelPtr> kernel_of_size(const pooljit_kernel& handle, const int64_t* dims,
                                              int32_t count, bool is_whole_run) {
  const auto sizes = sizes_of(dims, count);
  if (!sizes) return tl::unexpected(sizes.error());
  if (const auto* const free = std::get_if<runtime::FreeKernelPtr>(&handle.any))
    return is_whole_run ? (*free)->code_for_run(*sizes) : (*free)->code_for(*sizes);
  const runtime::KernelPtr& kernel = std::get<runtime::KernelPtr>(handle.any);
  const auto same = frontend::with_sizes(kernel->spec(), *sizes);
  return same ? ir::Result<runtime::KernelPtr>(kernel) : tl::unexpected(same.error());
}

int fail(const ir::Error& error) {
  last_error.code = ::code_of(error.kind);
  set(last_error.id, error.id);
  set(last_error.message, error.message);
  set(last_error.hint, error.hint);
  set(last_error.text, to_string(error));
  return last_error.code;
}

int fail_null(const char* argument) {
  return fail(
      {ir::ErrorKind::invalid, "runtime.null", std::string("the argument ") + argument + " is null", ""});
}

int fail_system(const char* id, const char* message) {
  last_error.code = POOLJIT_SYSTEM;
  set(last_error.id, id);
  set(last_error.message, message);
  set(last_error.hint, "");
  std::snprintf(last_error.text, sizeof last_error.text, "%s: %s", id, message);
  return POOLJIT_SYSTEM;
}

ir::Error out_of_range(const char* what, int64_t number, size_t count) {
  return {ir::ErrorKind::invalid, "runtime.range",
          std::string(what) + " " + std::to_string(number) + " of " + std::to_string(count),
          "they are counted from 0"};
}

ir::Error wrong_struct(const char* name, size_t size, bool is_newer) {
  return {
      ir::ErrorKind::invalid, "runtime.struct",
      std::string("the size of ") + name + " is " + std::to_string(size) +
          (is_newer ? ", and a field that this library does not know is set" : ""),
      is_newer ? "install a newer pooljit" : "set size to sizeof of the struct, and 0 in what is not set"};
}

}  // namespace pooljit::c_api

int pooljit_options_read(const char* text, pooljit_options* options, char* room, size_t bytes) {
  return guarded([&] {
    if (!text) return fail_null("text");
    if (!options) return fail_null("options");
    auto read = pooljit::runtime::parse_option_words(text);
    if (!read) return fail(read.error());
    pooljit_options made = {};
    made.threads = read->threads;
    made.sizes = read->sizes;
    made.exact_after = read->exact_after;
    made.verify = read->verify;
    pooljit::runtime::Options usual;
    std::vector<std::string> defaults;
    for_each_text(made, usual, [&](const char*, const std::string& text) { defaults.push_back(text); });
    size_t used = 0, number = 0;
    for_each_text(made, *read, [&](const char*& to, const std::string& from) {
      if (from == defaults[number++]) return;
      if (room && used + from.size() < bytes) {
        std::memcpy(room + used, from.c_str(), from.size() + 1);
        to = room + used;
      }
      used += from.size() + 1;
    });
    if (used > 0 && !room) return fail_null("room");
    if (used > bytes)
      return fail(
          {ErrorKind::invalid, "runtime.options",
           "the options' texts need " + std::to_string(used) + " bytes, room has " + std::to_string(bytes),
           "strlen(text) + 1 are enough"});
    return write_struct("pooljit_options", made, options);
  });
}

int pooljit_compile(const char* spec, const pooljit_options* options, pooljit_kernel** kernel) {
  return give_with_options(
      options, kernel, "kernel", spec, "spec",
      [&](const pooljit::runtime::Options& read) { return pooljit::runtime::compile_any(spec, read); });
}

int pooljit_set_measure(const char* measure) {
  return guarded(
      [&] { return pooljit::c_api::code_of(pooljit::runtime::set_measure(measure ? measure : "")); });
}

int pooljit_spec_read(const char* spec, const pooljit_options* options, pooljit_spec** object) {
  return give_with_options(options, object, "object", spec, "spec",
                           [&](const pooljit::runtime::Options& read) {
                             return pooljit::runtime::check_spec(std::string_view(spec), read);
                           });
}

int pooljit_spec_make(const pooljit_layer* layer, const pooljit_options* options, pooljit_spec** object) {
  return make_spec(layer, "layer", options, object);
}

int pooljit_spec_make_pools(const pooljit_pools* pools, const pooljit_options* options,
                            pooljit_spec** object) {
  return make_spec(pools, "pools", options, object);
}

int pooljit_spec_compile(const pooljit_spec* object, pooljit_kernel** kernel) {
  return guarded([&] {
    if (!kernel) return fail_null("kernel");
    *kernel = nullptr;
    if (!object) return fail_null("object");
    return give(pooljit::runtime::compile_any(*object->spec), kernel);
  });
}

int pooljit_spec_sized(const pooljit_spec* object, const int64_t* dims, int32_t count, pooljit_spec** sized) {
  return guarded([&] {
    if (!sized) return fail_null("sized");
    *sized = nullptr;
    if (!object) return fail_null("object");
    const auto sizes = sizes_of(dims, count);
    if (!sizes) return fail(sizes.error());
    auto spec = pooljit::frontend::with_sizes(object->spec->spec(), *sizes);
    if (!spec) return fail(spec.error());
    pooljit::runtime::Options options = object->spec->options();
    options.sizes = options.exact_after = 0;  // there is one
    return give(pooljit::runtime::check_spec(std::move(*spec), options), sized);
  });
}

int pooljit_kernel_sized(const pooljit_kernel* kernel, const int64_t* dims, int32_t count,
                         pooljit_kernel** sized) {
  return guarded([&] {
    if (!sized) return fail_null("sized");
    *sized = nullptr;
    if (!kernel) return fail_null("kernel");
    return give(kernel_of_size(*kernel, dims, count, false), sized);
  });
}

int pooljit_link(const pooljit_linked_code* code, pooljit_kernel** kernel) {
  return guarded([&] {
    if (!kernel) return fail_null("kernel");
    *kernel = nullptr;
    if (!code) return fail_null("code");
    return give(pooljit::runtime::linked_kernel(*code), kernel);
  });
}

void pooljit_spec_release(pooljit_spec* object) { delete object; }

void pooljit_release(pooljit_kernel* kernel) { delete kernel; }

const char* pooljit_last_error() { return last_error.text; }

int pooljit_last_error_info(pooljit_error* error) {
  if (!error) return fail_null("error");
  pooljit_error known = {};
  known.code = last_error.code;
  known.id = last_error.id;
  known.message = last_error.message;
  known.hint = last_error.hint;
  return write_struct("pooljit_error", known, error);
}

const char* pooljit_version() { return POOLJIT_VERSION; }
