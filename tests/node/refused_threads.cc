// Loaded before the C library (LD_PRELOAD): pthread_create() succeeds $GRANARY_THREADS times, then the system has no
// more threads.

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*),
                              void* argument) noexcept {
  static std::atomic<int> made{0};  // counted up by all threads; only the number matters
  const char* const limit = std::getenv("GRANARY_THREADS");
  if (limit != nullptr && made.fetch_add(1, std::memory_order_relaxed) >= std::atoi(limit)) return EAGAIN;
  const auto create = reinterpret_cast<decltype(&pthread_create)>(::dlsym(RTLD_NEXT, "pthread_create"));
  return create(thread, attributes, body, argument);
}
