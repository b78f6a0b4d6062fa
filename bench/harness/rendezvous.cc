#include "bench/harness/rendezvous.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace granary::bench {

namespace {

class SocketRendezvous final : public Rendezvous {
 public:
  explicit SocketRendezvous(int descriptor) : descriptor_(descriptor) {}
  ~SocketRendezvous() override { close(descriptor_); }

  Status await(Meeting meeting) override {
    char byte = static_cast<char>('0' + static_cast<int>(meeting));
    const bool sent = send(descriptor_, &byte, 1, MSG_NOSIGNAL) == 1;
    ssize_t got = 0;
    while (sent && (got = recv(descriptor_, &byte, 1, 0)) < 0 && errno == EINTR) {
    }
    if (sent && got == 1) return {};
    return Status(StatusCode::kUnavailable, "the run has been given up: another node has failed, or who started all");
  }

  void tell_return() override {
    // If the other end is gone, the next meeting reports it.
    [[maybe_unused]] const ssize_t sent = send(descriptor_, &kReturnByte, 1, MSG_NOSIGNAL);
  }

 private:
  const int descriptor_;
};

}  // namespace

std::unique_ptr<Rendezvous> rendezvous_over(int descriptor) { return std::make_unique<SocketRendezvous>(descriptor); }

}  // namespace granary::bench
