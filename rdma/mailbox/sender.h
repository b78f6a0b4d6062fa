#pragma once
// Sends the messages of a mailbox (ring.h).

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "rdma/fabric.h"
#include "rdma/mailbox/ring.h"

namespace granary::rdma::mailbox {

enum class SendResult : std::uint8_t {
  kTaken,     ///< copied; it will arrive, in order, or the connection breaks
  kFull,      ///< earlier messages have not been sent in full: step(), then try again
  kTooLarge,  ///< longer than the mailbox takes
  kBroken,    ///< the connection is broken, or another sender has taken the mailbox; what was not answered may be lost
};

/// Says where a sender works.
struct SenderPlace {
  RemoteAddress ring;            ///< the receiver's ring
  std::uint64_t ring_bytes = 0;  ///< the size of the ring at the receiver
  std::uint64_t most_bytes = 0;  ///< the greatest size of a message, at the receiver
  char* staging = nullptr;       ///< registered, 8-byte aligned; `ring_bytes` long, for this sender alone
  std::uint64_t tag = 0;         ///< the tag of its completions; no other user of the endpoint has it
  /// The byte of the receiver's node that is this mailbox's sign (ring.h). Nothing: the receiver looks at its ring.
  std::optional<RemoteAddress> sign = {};
};

/// The endpoint's thread uses it. The code that polls the endpoint gives it the completions with its tag, and goes on
/// polling after a send(), as a sleeping receiver is rung then.
class Sender {
 public:
  Sender(Endpoint& endpoint, ConnectionId connection, const SenderPlace& place);

  /// Sends a message of two parts, of which the second may be empty. If it throws std::bad_alloc, it has taken nothing.
  SendResult send(std::string_view head, std::string_view body = {});
  /// Goes on with the message that has not been sent in full. Never waits. While idle() is false and nothing else
  /// happens, it has to be called now and then, since no completion tells the sender when there is room again.
  void step();
  /// Takes a completion with this sender's tag.
  void completed(const Completion& completion);

  /// Ends the session, as if the connection had broken: its calls end, and another sender may take its place.
  void give_up() { state_ = State::kBroken; }

  bool broken() const { return state_ == State::kBroken; }
  /// Whether all messages that were taken are in the receiver's ring, or on their way with nothing left to do here.
  bool idle() const { return sent_ == message_.size() && !open_; }
  /// Whether the receiver serves this sender. Then its messages arrive unless the connection breaks.
  bool served() const { return state_ == State::kOpen; }
  /// Whether it is idle, and no receiver has to be rung any more.
  bool quiet() const { return idle() && !look_again_ && !asking_; }

 private:
  enum class State : std::uint8_t { kTakeSession, kTakingSession, kAwaitService, kOpen, kBroken };

  PostResult post(std::span<const Operation> chain, Signal signal);
  void take_session();
  void begin_session();
  /// READs the receiver's words, which learn() gets.
  void ask();
  void learn();
  void wake_receiver(Sleep sleep);
  void push();
  bool push_fragment();
  Operation next_sign() const;
  /// Returns how many bytes are written and, as far as the sender knows, not consumed.
  std::uint64_t in_ring() const;

  Endpoint& endpoint_;
  const ConnectionId connection_;
  const SenderPlace place_;
  const std::uint64_t capacity_;
  std::uint64_t* const answer_;  ///< in staging: gets the words of fetch-adds and READs
  std::uint8_t* const signs_;    ///< in staging: the signs that are on their way
  char* const mirror_;           ///< in staging: laid out as the ring's data, so its room is free when the ring's is
  State state_ = State::kTakeSession;
  bool asking_ = false;      ///< a READ is under way
  bool look_again_ = false;  ///< a seal was written after the last READ was posted, or a ring had no room
  std::uint32_t rung_ = 0;   ///< the last sleep of the receiver for which it was rung
  std::uint8_t sign_ = 0;    ///< the last sign that was posted
  std::uint16_t session_ = 0;
  std::uint64_t consumed_ = 0;  ///< the position (ring.h) that the last READ has told
  std::uint64_t written_ = 0;   ///< the position up to which the ring is written
  std::string message_;         ///< the message that has not been sent in full
  std::size_t sent_ = 0;
  bool open_ = false;  ///< whether its last fragment has not been sent
};

}  // namespace granary::rdma::mailbox
