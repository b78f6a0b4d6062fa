#pragma once
// Owns a file descriptor, so that it is closed whatever ends the work with it, an exception for want of memory, too.

#include <unistd.h>

#include <utility>

namespace granary::base {

class Descriptor {
 public:
  Descriptor() = default;
  /// Takes over the descriptor; a negative one, as calls return that fail, stands for none.
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { reset(); }
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }

  int get() const { return fd_; }
  bool open() const { return fd_ >= 0; }
  void reset() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  int fd_ = -1;
};

}  // namespace granary::base
