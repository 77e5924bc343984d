// Shared by the files of the C interface: handles, and how errors become codes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "pooljit.h"
#include "runtime/compile.h"
#include "runtime/layer.h"

struct pooljit_kernel {
  pooljit::runtime::AnyKernel any;
};

struct pooljit_spec {
  explicit pooljit_spec(std::shared_ptr<const pooljit::runtime::CheckedSpec> checked)
      : spec(std::move(checked)) {}
  std::shared_ptr<const pooljit::runtime::CheckedSpec> spec;
  // Made when they are first asked for.
  mutable std::once_flag layers_made;
  mutable std::unique_ptr<const pooljit::runtime::PoolsStruct> layers;
};

namespace pooljit::c_api {

// Keep the error for pooljit_last_error(), and return its code.
int fail(const ir::Error& error);
int fail_null(const char* argument);
int fail_system(const char* id, const char* message);
inline int code_of(const ir::Result<void>& done) { return done ? int{POOLJIT_OK} : fail(done.error()); }

// Calls body, which returns a code; a lack of memory or threads, the only exceptions that the standard
// library throws below, becomes one too.
template <typename Body>
int guarded(Body body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return fail_system("runtime.memory", "out of memory");
  } catch (const std::exception& error) {
    return fail_system("runtime.system", error.what());
  }
}

// Calls body with the kernel of a handle, whose sizes have to be known.
template <typename Body>
int with_kernel(const pooljit_kernel* handle, Body body) {
  if (!handle) return fail_null("kernel");
  if (const auto* const kernel = std::get_if<runtime::KernelPtr>(&handle->any)) return body(**kernel);
  return fail(std::get<runtime::FreeKernelPtr>(handle->any)->sizes_not_said());
}

// The list of a caller. Errors: "run.dims".
ir::Result<std::span<const int64_t>> sizes_of(const int64_t* dims, int32_t count);
// The same with the kernel for a size: of a handle that has one, that one, if it is its size. Errors: also
// "runtime.null", "spec.sizes" and those of FreeKernel::code_for. is_whole_run: for a run, which counts.
ir::Result<runtime::KernelPtr> kernel_of_size(const pooljit_kernel& handle, const int64_t* dims,
                                              int32_t count, bool is_whole_run);

// The caller's handle of a new object.
template <typename Made, typename Handle>
int give(ir::Result<Made> made, Handle** handle) {
  if (!made) return fail(made.error());
  *handle = new Handle{std::move(*made)};
  return POOLJIT_OK;
}

// "runtime.struct": the caller's struct is smaller than its first version, or holds what this library does
// not know.
ir::Error wrong_struct(const char* name, size_t size, bool is_newer);

// "runtime.range"
ir::Error out_of_range(const char* what, int64_t number, size_t count);

// The fields that the caller's struct has, the rest 0. `least`: the size of its first version.
template <typename Struct>
ir::Result<Struct> read_struct(const char* name, const Struct& given, size_t least = sizeof(Struct)) {
  const size_t size = given.size;
  if (size < least) return tl::unexpected(wrong_struct(name, size, false));
  const auto* const bytes = reinterpret_cast<const unsigned char*>(&given);
  if (size > sizeof given &&
      std::any_of(bytes + sizeof given, bytes + size, [](unsigned char byte) { return byte != 0; }))
    return tl::unexpected(wrong_struct(name, size, true));
  Struct read = {};
  std::memcpy(&read, &given, std::min(size, sizeof given));
  return read;
}

// Copies as much as the caller's struct has room for; its size stays.
template <typename Struct>
int write_struct(const char* name, const Struct& from, Struct* to) {
  const size_t room = to->size;
  if (room < sizeof room) return fail(wrong_struct(name, room, false));
  std::memcpy(to, &from, std::min(room, sizeof from));
  to->size = room;
  return POOLJIT_OK;
}

}  // namespace pooljit::c_api
