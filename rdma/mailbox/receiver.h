#pragma once
// The receiving end of a mailbox (ring.h).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <granary/status.h>

#include "rdma/mailbox/ring.h"

namespace granary::rdma::mailbox {

class Receiver {
 public:
  /// `ring`: 64-byte aligned memory in a region that the sender reaches, zero when its first receiver is made. An
  /// earlier receiver of it has ended. Messages longer than `most_bytes` are an error of the sender.
  Receiver(char* ring, std::uint64_t ring_bytes, std::uint64_t most_bytes);

  /// The next whole message, if it has arrived; valid until the next call. Never waits.
  std::optional<std::string_view> poll();
  /// Whether poll() would have something to do.
  bool has_something() const;
  /// Tells the sender that this worker sleeps at the bell from now on, until get_up(). It must look once more before it
  /// does: has_something() of all its mailboxes.
  void lie_down(BellId bell);
  void get_up();
  /// The session that a sender wants, or has; 0: none ever did. poll() begins with serving it.
  std::uint16_t wanted_session() const;
  /// How many receivers the ring had before this one.
  std::uint64_t earlier() const { return earlier_; }
  /// OK, or what the sender did wrong; then nothing more is taken until it takes a new session.
  const Status& status() const { return status_; }

 private:
  std::uint64_t* at(std::uint64_t position) const { return data_ + position % capacity_ / 8; }
  bool take_fragment();
  bool check(const Seal& seal);
  void serve_new_session();

  std::uint64_t* const session_word_;
  std::uint64_t* const consumed_word_;
  std::uint64_t* const sleep_word_;
  std::uint64_t* const data_;
  const std::uint64_t capacity_;
  const std::uint64_t most_bytes_;
  Consumed consumed_;
  Sleep sleep_;
  std::uint64_t earlier_ = 0;
  bool inherited_ = true;  ///< an earlier receiver served the session: its messages are dropped
  std::string message_;    ///< its pieces so far, in memory that the next message uses again
  bool whole_ = false;
  bool handed_out_ = false;  ///< poll() has returned it
  Status status_;
};

}  // namespace granary::rdma::mailbox
