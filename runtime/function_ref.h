// FunctionRef: a callable argument that is called before the function returns.
#pragma once

#include <memory>
#include <type_traits>

namespace pooljit::runtime {

// A reference to something callable, which must outlive it. Costs nothing to make.
template <typename Signature>
class FunctionRef;
template <typename Return, typename... Args>
class FunctionRef<Return(Args...)> {
 public:
  template <typename Callable>
  // The constraint keeps it from hiding the copy; clang-tidy 14 does not read constraints.
  // NOLINTNEXTLINE(bugprone-forwarding-reference-overload)
  requires(!std::is_same_v<std::remove_cvref_t<Callable>, FunctionRef>) FunctionRef(Callable&& callable)
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(callable)))),
        call_([](void* object, Args... args) -> Return {
          return (*static_cast<std::remove_reference_t<Callable>*>(object))(static_cast<Args>(args)...);
        }) {}
  Return operator()(Args... args) const { return call_(object_, static_cast<Args>(args)...); }

 private:
  void* object_;
  Return (*call_)(void*, Args...);
};

}  // namespace pooljit::runtime
