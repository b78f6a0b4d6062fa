#pragma once
// TCP sockets that their owner closes when it is destroyed. Addresses are numeric, IPv4 or IPv6.

#include <cstdint>
#include <string>
#include <utility>

#include <granary/status.h>

namespace granary::bench::two_pc {

class Socket {
 public:
  explicit Socket(int descriptor = -1) : descriptor_(descriptor) {}
  ~Socket();
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

/// Listens at this address and no other, at a free port, which `*port` is set to. Accepting does not block.
Result<Socket> listen_at(const std::string& address, std::uint16_t* port);
Result<Socket> connect_to(const std::string& address, std::uint16_t port);

}  // namespace granary::bench::two_pc
