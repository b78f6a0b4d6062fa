#pragma once
// A reference to a callable for the length of one call: two words, no allocation.

#include <memory>
#include <type_traits>
#include <utility>

namespace granary {

template <typename Signature>
class FunctionRef;

template <typename R, typename... Args>
class FunctionRef<R(Args...)> {
 public:
  template <typename F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef> && std::is_invocable_r_v<R, F&, Args...>)
  // NOLINTNEXTLINE(google-explicit-constructor,bugprone-forwarding-reference-overload): lambdas are passed as they are
  FunctionRef(F&& callable)
      : object_(address(std::addressof(callable))),
        call_([](void* object, Args... args) -> R {
          return (*reinterpret_cast<std::remove_reference_t<F>*>(object))(std::forward<Args>(args)...);
        }) {}

  R operator()(Args... args) const { return call_(object_, std::forward<Args>(args)...); }

  /// An address that tells kinds of callables apart, such as lambdas. Different types may share one (a linker may fold
  /// equal code), and one type may have several.
  const void* code() const { return reinterpret_cast<const void*>(call_); }

 private:
  // POSIX lets a function's address travel as void*.
  template <typename F>
  static void* address(F* callable) {
    if constexpr (std::is_function_v<F>) {
      return reinterpret_cast<void*>(callable);
    } else {
      return const_cast<void*>(static_cast<const void*>(callable));
    }
  }

  void* object_;
  R (*call_)(void*, Args...);
};

}  // namespace granary
