// What the files of the C interface share: handles, and how errors become codes.
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
#include "pooljit.hpp"
#include "runtime/compile.h"
#include "runtime/layer.h"

struct pooljit_kernel {
  pooljit::runtime::KernelPtr kernel;
};

struct pooljit_spec {
  explicit pooljit_spec(std::shared_ptr<const pooljit::runtime::CheckedSpec> checked)
      : spec(std::move(checked)) {}
  std::shared_ptr<const pooljit::runtime::CheckedSpec> spec;
  // Made when it is first asked for.
  mutable std::once_flag layer_made;
  mutable std::unique_ptr<const pooljit::runtime::Layer> layer;
};

struct pooljit_schedule_list {
  std::vector<pooljit::ScheduleInfo> schedules;
};

namespace pooljit::c_api {

void set_last_error(std::string_view text);
// Keep the error for pooljit_last_error(), and return its code.
int fail(const ir::Error& error);
int fail_null(const char* argument);

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
int give(ir::Result<Made> made, Handle** handle) {
  if (!made) return fail(made.error());
  *handle = new Handle{std::move(*made)};
  return POOLJIT_OK;
}

// "runtime.struct": the caller's struct is smaller than its first version, or holds what this library does
// not know.
ir::Error wrong_struct(const char* name, size_t size, bool is_newer);

// Copies as much as the caller's struct has room for; its size stays.
template <typename Struct, typename Size>
int write_struct(const char* name, const Struct& from, Struct* to, Size Struct::*size) {
  const size_t room = (*to).*size;
  if (room < sizeof(Size)) return fail(wrong_struct(name, room, false));
  const Size kept = (*to).*size;
  std::memcpy(to, &from, std::min(room, sizeof from));
  (*to).*size = kept;
  return POOLJIT_OK;
}

// Cut to fit into `bytes`, ended by a 0; into no memory: nothing.
inline void write_text(std::string_view from, char* text, size_t bytes) {
  if (!text || bytes == 0) return;
  const size_t length = std::min(from.size(), bytes - 1);
  std::copy_n(from.data(), length, text);
  text[length] = '\0';
}

}  // namespace pooljit::c_api
