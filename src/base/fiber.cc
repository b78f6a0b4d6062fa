#include "src/base/fiber.h"

#include <cxxabi.h>
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#include <sanitizer/tsan_interface.h>
#include <sys/mman.h>

#include <boost/context/detail/fcontext.hpp>
#include <utility>

#include "src/base/check.h"
#include "src/base/sanitizers.h"

namespace granary::base {
namespace {

namespace context = boost::context::detail;

constexpr std::size_t kGuardBytes = 4096;

/// Maps a stack. Returns nullptr if there is no memory for it.
char* try_map_stack() {
  void* at = ::mmap(nullptr, kGuardBytes + kStackBytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (at == MAP_FAILED) return nullptr;
  if (::mprotect(at, kGuardBytes, PROT_NONE) != 0) {
    ::munmap(at, kGuardBytes + kStackBytes);
    return nullptr;
  }
  return static_cast<char*>(at) + kGuardBytes;
}

void unmap_stack(char* stack) { ::munmap(stack - kGuardBytes, kGuardBytes + kStackBytes); }

}  // namespace

/// Begins a body, on its own stack.
struct FiberEntry {
  static void run(context::transfer_t from) {
    auto* const self = static_cast<Fiber*>(from.data);
    self->outside_ = from.fctx;
    Fiber::arrive(self->body_side_, &self->resumer_side_);
    self->body_();
    self->ended_ = true;
    Fiber::leave(self->body_side_, self->resumer_side_, /*for_good=*/true);
    context::jump_fcontext(self->outside_, nullptr);
  }
};

std::unique_ptr<Fiber> Fiber::try_make(std::function<void()> body, std::uint64_t number) {
  char* const stack = try_map_stack();
  if (stack == nullptr) return nullptr;
  try {
    return std::unique_ptr<Fiber>(new Fiber(std::move(body), number, stack));
  } catch (...) {
    unmap_stack(stack);
    throw;
  }
}

Fiber::Fiber(std::function<void()> body) : Fiber(std::move(body), 0, try_map_stack()) {}

Fiber::Fiber(std::function<void()> body, std::uint64_t number, char* stack)
    : body_(std::move(body)),
      number_(number),
      stack_(stack) {
  always_check(stack_ != nullptr, "no memory for a fiber's stack");
  inside_ = context::make_fcontext(stack_ + kStackBytes, kStackBytes, &FiberEntry::run);
  body_side_.bottom = stack_;
  body_side_.bytes = kStackBytes;
  if constexpr (kThreadSanitizer) body_side_.thread_state = __tsan_create_fiber(0);
}

Fiber::~Fiber() {
  always_check(ended_ || !begun_, "a fiber ends before it is destroyed");
  if constexpr (kThreadSanitizer) __tsan_destroy_fiber(body_side_.thread_state);
  // The memory may be mapped for something else later, which is no frame of a stack.
  if constexpr (kAddressSanitizer) __asan_unpoison_memory_region(stack_, kStackBytes);
  unmap_stack(stack_);
}

void Fiber::leave(Side& from, const Side& to, bool for_good) {
  if constexpr (kAddressSanitizer) {
    __sanitizer_start_switch_fiber(for_good ? nullptr : &from.address_stack, to.bottom, to.bytes);
  }
  if constexpr (kThreadSanitizer) __tsan_switch_to_fiber(to.thread_state, 0);
}

/// Arrives at a side after a switch. `from`, unless it is nullptr, learns where the stack lies from which the body was
/// resumed.
void Fiber::arrive(Side& at, Side* from) {
  if constexpr (kAddressSanitizer) {
    __sanitizer_finish_switch_fiber(at.address_stack, from == nullptr ? nullptr : &from->bottom,
                                    from == nullptr ? nullptr : &from->bytes);
  }
}

/// Returns the exceptions of the thread that runs. The runtime is asked once for each thread, since a switch would be a
/// tenth slower otherwise.
Fiber::Exceptions& Fiber::exceptions_of_thread() {
  static thread_local constinit Exceptions* at = nullptr;
  if (at == nullptr) [[unlikely]]
    at = reinterpret_cast<Exceptions*>(abi::__cxa_get_globals());
  return *at;
}

/// Exchanges the exceptions of two sides. Mostly neither side handles one, and then nothing is stored.
void Fiber::exchange(Exceptions& running, Exceptions& kept) {
  if (running != kept) [[unlikely]]
    std::swap(running, kept);
}

/// Resumes the body. It is never inlined: a body that resumes another fiber may run in another thread later, and has to
/// look again where that thread's exceptions are.
[[gnu::noinline]] void Fiber::resume() {
  begun_ = true;
  if constexpr (kThreadSanitizer) resumer_side_.thread_state = __tsan_get_current_fiber();
  Exceptions& running = exceptions_of_thread();
  exchange(running, exceptions_);
  leave(resumer_side_, body_side_, /*for_good=*/false);
  inside_ = context::jump_fcontext(inside_, this).fctx;
  arrive(resumer_side_, nullptr);
  exchange(running, exceptions_);
}

void Fiber::suspend() {
  leave(body_side_, resumer_side_, /*for_good=*/false);
  outside_ = context::jump_fcontext(outside_, nullptr).fctx;
  arrive(body_side_, &resumer_side_);
}

}  // namespace granary::base
