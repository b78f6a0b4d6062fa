#pragma once
// Waits for events at descriptors: strangers that connect, and peers that die. A thread runs it for a fabric.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "rdma/shm/descriptor.h"

namespace granary::rdma::shm {

/// Thread-safe.
class Watcher {
 public:
  /// Is called when the descriptor can be read or was hung up. It may add and remove handlers.
  using Handler = std::function<void()>;

  static Result<std::unique_ptr<Watcher>> create();

  void add(int fd, Handler handler);
  /// Removes the handler. It is not called any more, except for a call that is running now.
  void remove(int fd);
  /// Waits at most this long, and calls the handlers of the descriptors at which something happened.
  void step(std::uint64_t timeout_us);
  /// Ends a step() that waits.
  void wake();

 private:
  Watcher(Descriptor poll, Descriptor alarm);

  const Descriptor poll_;
  const Descriptor alarm_;
  std::mutex mutex_;
  std::map<int, Handler> handlers_;
};

}  // namespace granary::rdma::shm
