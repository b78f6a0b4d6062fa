#pragma once
// Receives the messages of a mailbox (ring.h).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <granary/status.h>

#include "rdma/mailbox/ring.h"

namespace granary::rdma::mailbox {

class Receiver {
 public:
  /// `ring` is 64-byte aligned memory in a region that the sender reaches, and is zero when its first receiver is made.
  /// An earlier receiver of it has ended. A message longer than `most_bytes` is an error of the sender.
  Receiver(char* ring, std::uint64_t ring_bytes, std::uint64_t most_bytes);

  /// Returns the next whole message, if it has arrived. It is valid until the next call. Never waits.
  std::optional<std::string_view> poll();
  /// Whether poll() would have something to do.
  bool has_something() const;
  /// Tells the sender that this worker sleeps at the bell from now on, until get_up(). Before it sleeps, the worker
  /// must look once more, by has_something() of all its mailboxes.
  void lie_down(BellId bell);
  void get_up();
  /// Returns the session that a sender wants, or has; 0 if there never was one. poll() serves it first.
  std::uint16_t wanted_session() const;
  /// Returns how many receivers the ring had before this one.
  std::uint64_t earlier() const { return earlier_; }
  /// Returns OK, or what the sender did wrong. After an error no message is taken until the sender takes a new session.
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
  bool inherited_ = true;  ///< whether an earlier receiver served the session, so that its messages are dropped
  std::string message_;    ///< the pieces that have come so far; the next message uses the memory again
  bool whole_ = false;
  bool handed_out_ = false;  ///< whether poll() has returned it
  Status status_;
};

}  // namespace granary::rdma::mailbox
