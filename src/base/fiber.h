#pragma once
// Runs a body with a stack of its own on the thread that resumes it, until the body suspends or ends.
//
// A fiber is a thin layer over Boost.Context's fcontext. It tells AddressSanitizer and ThreadSanitizer of each switch,
// so that both know on which stack they are. Exceptions do not leave a body. It may throw and catch its own, and may
// suspend while it handles one: each side of a switch has its own exceptions.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace granary::base {

/// The size of a fiber's stack. Below it lies a page that must not be touched.
inline constexpr std::size_t kStackBytes = std::size_t{256} << 10;

/// A fiber, which one thread at a time resumes. If another thread than before resumes it, the body may not use after
/// the suspension what it knew of the former thread before, such as addresses of thread-local variables, which the
/// compiler may keep.
class Fiber {
 public:
  explicit Fiber(std::function<void()> body);
  /// Makes a fiber. Returns nullptr if there is no memory for its stack; the constructor ends the process then. The
  /// caller may give it a `number`, to tell it from others: also from a later one, which may get its address.
  static std::unique_ptr<Fiber> try_make(std::function<void()> body, std::uint64_t number = 0);
  /// The body must have ended, or never have begun.
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Runs the body until it suspends or ends. Called outside of the body.
  void resume();
  /// Goes back to the code that resumed the body. Called by the body.
  void suspend();
  bool ended() const { return ended_; }
  std::uint64_t number() const { return number_; }

 private:
  Fiber(std::function<void()> body, std::uint64_t number, char* stack);
  /// The facts about one side of a switch that sanitizers need.
  struct Side {
    void* address_stack = nullptr;  ///< ASan's fake stack, while the side is not running
    const void* bottom = nullptr;
    std::size_t bytes = 0;
    void* thread_state = nullptr;  ///< TSan's state of the side
  };
  friend struct FiberEntry;
  /// The exceptions of a side that does not run, as the C++ runtime keeps them for each thread. The layout of
  /// __cxa_eh_globals is fixed by the Itanium C++ ABI, section 2.2.2 of its part on exceptions.
  struct Exceptions {
    void* caught = nullptr;     ///< the exceptions being handled, the latest first
    unsigned int uncaught = 0;  ///< how many have been thrown and not been caught yet
    bool operator==(const Exceptions&) const = default;
  };
  static Exceptions& exceptions_of_thread();
  static void exchange(Exceptions& running, Exceptions& kept);
  /// These are called before and after a switch.
  static void leave(Side& from, const Side& to, bool for_good);
  static void arrive(Side& at, Side* from);

  const std::function<void()> body_;
  const std::uint64_t number_;
  char* const stack_;
  void* inside_ = nullptr;   ///< the body's context, while it is suspended
  void* outside_ = nullptr;  ///< the resumer's, while the body runs
  Side body_side_;
  Side resumer_side_;
  Exceptions exceptions_;  ///< the body's, while it is suspended; the resumer's, while the body runs
  bool begun_ = false;
  bool ended_ = false;
};

}  // namespace granary::base
