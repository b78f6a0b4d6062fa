#pragma once
// Wakes a thread of this node that waits at a descriptor.

#include <utility>

#include <granary/status.h>

namespace granary::rdma::verbs {

/// Has a descriptor that is readable after raise(), until clear().
class Alarm {
 public:
  /// Returns kUnavailable if the process may open no more files.
  static Result<Alarm> open();
  ~Alarm();
  Alarm(Alarm&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Alarm& operator=(Alarm&&) = delete;
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;

  void raise() const;
  void clear() const;
  int descriptor() const { return descriptor_; }

 private:
  explicit Alarm(int descriptor) : descriptor_(descriptor) {}

  int descriptor_;  ///< an eventfd
};

}  // namespace granary::rdma::verbs
