// Errors of pooljit's C++ interface, pooljit.hpp: every one is a pooljit::Error.
//
//   try {
//     pooljit::compile("max_pool2d(float32[1,64,4,4], kernel_size=5)");
//   } catch (const pooljit::Error& error) {
//     return error.id() == "spec.output_size" ? 0 : 1;
//   }
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "pooljit.h"

namespace pooljit {

// What went wrong. what() is "id: message (hint)".
class POOLJIT_API Error : public std::runtime_error {
 public:
  enum class Kind : uint8_t {
    invalid = POOLJIT_INVALID,          // the spec, an option or an argument is wrong
    unsupported = POOLJIT_UNSUPPORTED,  // it is right, but this build or this machine cannot do it
    system = POOLJIT_SYSTEM,            // the system refused memory or a permission
  };
  // Of the calling thread's last call that failed.
  static Error last() {
    pooljit_error error = {};
    error.size = sizeof error;
    pooljit_last_error_info(&error);
    return Error(error);
  }

  Kind kind() const noexcept { return kind_; }
  // Stable: "spec.padding", "runtime.isa"; docs/errors.md lists them all.
  const std::string& id() const noexcept { return id_; }
  const std::string& message() const noexcept { return message_; }
  const std::string& hint() const noexcept { return hint_; }  // what to write instead; may be empty

 private:
  explicit Error(const pooljit_error& error)
      : std::runtime_error(pooljit_last_error()),
        kind_(static_cast<Kind>(error.code)),
        id_(error.id),
        message_(error.message),
        hint_(error.hint) {}

  Kind kind_;
  std::string id_, message_, hint_;
};

// Throws the error of a C call that failed.
inline void check(int code) {
  if (code != POOLJIT_OK) throw Error::last();
}

}  // namespace pooljit
