#pragma once
// A fiber: a body with a stack of its own that runs on the thread that resumes it, until it suspends or ends.
//
// A thin layer over Boost.Context's fcontext, which tells AddressSanitizer and ThreadSanitizer of each switch, so that
// both know on which stack they are. Exceptions do not leave a body. It may throw and catch its own, and may suspend
// while it handles one: each side of a switch has its own exceptions.

#include <cstddef>
#include <functional>
#include <memory>

namespace granary::base {

/// Bytes of a fiber's stack, below which lies a page that must not be touched.
inline constexpr std::size_t kStackBytes = std::size_t{256} << 10;

/// Resumed by one thread at a time. If it is another one than before, the body may not use, behind the suspension, what
/// it has known of the thread before it, such as addresses of thread-local variables, which the compiler may keep.
class Fiber {
 public:
  explicit Fiber(std::function<void()> body);
  /// Makes one, or returns nullptr if there is no memory for its stack, where the constructor ends the process.
  static std::unique_ptr<Fiber> try_make(std::function<void()> body);
  /// The body has ended, or never begun.
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Runs the body until it suspends or ends. Called outside of it.
  void resume();
  /// Goes back to who resumed it. Called by the body.
  void suspend();
  bool ended() const { return ended_; }

 private:
  Fiber(std::function<void()> body, char* stack);
  /// The facts about one side of a switch that sanitizers ask for.
  struct Side {
    void* address_stack = nullptr;  ///< ASan's fake stack, while the side is not running
    const void* bottom = nullptr;
    std::size_t bytes = 0;
    void* thread_state = nullptr;  ///< TSan's
  };
  friend struct FiberEntry;
  /// The exceptions of a side that does not run: what the C++ runtime keeps of each thread. The layout of
  /// __cxa_eh_globals is fixed by the Itanium C++ ABI, section 2.2.2 of its part on exceptions.
  struct Exceptions {
    void* caught = nullptr;     ///< those being handled, the latest first
    unsigned int uncaught = 0;  ///< how many have been thrown and not been caught yet
    bool operator==(const Exceptions&) const = default;
  };
  static Exceptions& exceptions_of_thread();
  static void exchange(Exceptions& running, Exceptions& kept);
  /// Before and after a switch.
  static void leave(Side& from, const Side& to, bool for_good);
  static void arrive(Side& at, Side* from);

  const std::function<void()> body_;
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
