// Errors as values. Three kinds are never mixed: the caller's spec is wrong, we do not support
// it, the system refused something (a file, memory). A bug of ours is none of them: it aborts (see check.h).
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace pooljit::ir {

enum class ErrorKind {
  invalid,      // the caller's spec, option or data is wrong
  unsupported,  // it is right, but pooljit does not do it
  system,       // the system refused a file, memory or a permission
};

// `id` is stable and documented in docs/errors.md ("spec.padding", "npy.dtype"). `message` names the
// offending value, `hint` says what to write instead and may be empty.
struct Error {
  ErrorKind kind = ErrorKind::invalid;
  std::string id;
  std::string message;
  std::string hint;
};

template <typename T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> invalid(std::string id, std::string message, std::string hint = "") {
  return tl::unexpected<Error>(Error{ErrorKind::invalid, std::move(id), std::move(message), std::move(hint)});
}
inline tl::unexpected<Error> unsupported(std::string id, std::string message, std::string hint = "") {
  return tl::unexpected<Error>(
      Error{ErrorKind::unsupported, std::move(id), std::move(message), std::move(hint)});
}
inline tl::unexpected<Error> system_error(std::string id, std::string message, std::string hint = "") {
  return tl::unexpected<Error>(Error{ErrorKind::system, std::move(id), std::move(message), std::move(hint)});
}

// "id: message (hint)", the one way an error is shown to people.
std::string to_string(const Error& error);

}  // namespace pooljit::ir
