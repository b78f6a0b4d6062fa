#pragma once
// The sending end of a mailbox (ring.h).

#include <cstdint>
#include <span>
#include <string_view>

#include "rdma/fabric.h"
#include "rdma/mailbox/ring.h"

namespace granary::rdma::mailbox {

enum class SendResult : std::uint8_t {
  kTaken,     ///< copied; it will arrive, in order, or the connection breaks
  kFull,      ///< earlier messages are not out yet: step(), then try again
  kTooLarge,  ///< longer than the mailbox takes
  kBroken,    ///< the connection is broken, or another sender has taken the mailbox; what was not answered may be lost
};

/// Where a sender works.
struct SenderPlace {
  RemoteAddress ring;            ///< of the receiver's ring
  std::uint64_t ring_bytes = 0;  ///< as the receiver has it
  std::uint64_t most_bytes = 0;  ///< of a message, as the receiver has it
  char* staging = nullptr;       ///< registered, 8-byte aligned; `ring_bytes` long, for this sender alone
  std::uint64_t tag = 0;         ///< of its completions; no other user of the endpoint has it
};

/// Used by the endpoint's thread. Whoever polls the endpoint gives it the completions with its tag, and goes on polling
/// after a send(): that is when a receiver that sleeps is rung.
class Sender {
 public:
  Sender(Endpoint& endpoint, ConnectionId connection, const SenderPlace& place);

  /// Sends a message of two parts, of which the second may be empty.
  SendResult send(std::string_view head, std::string_view body = {});
  /// Goes on with what is not out yet. Never waits. While idle() is false and nothing else happens, somebody has to
  /// call it now and then: nobody tells the sender when there is room again.
  void step();
  /// A completion with this sender's tag.
  void completed(const Completion& completion);

  /// Ends the session, as if the connection had broken: calls of it end, and another sender may take this one's place.
  void give_up() { state_ = State::kBroken; }

  bool broken() const { return state_ == State::kBroken; }
  /// Whether all messages that were taken are in the receiver's ring, or on their way with nothing left to do here.
  bool idle() const { return sent_ == message_.size() && !open_; }
  /// The receiver serves this sender: what it sends arrives unless the connection breaks from now on.
  bool served() const { return state_ == State::kOpen; }
  /// Idle, and nobody has to be rung any more.
  bool quiet() const { return idle() && !look_again_ && !asking_; }

 private:
  enum class State : std::uint8_t { kTakeSession, kTakingSession, kAwaitService, kOpen, kBroken };

  PostResult post(std::span<const Operation> chain, Signal signal);
  void take_session();
  /// READs the receiver's words; learn() gets them.
  void ask();
  void learn();
  void wake_receiver(Sleep sleep);
  void push();
  bool push_fragment();
  /// Bytes that are written and, as far as the sender knows, not consumed.
  std::uint64_t in_ring() const;

  Endpoint& endpoint_;
  const ConnectionId connection_;
  const SenderPlace place_;
  const std::uint64_t capacity_;
  std::uint64_t* const answer_;  ///< in staging: where fetch-add and READ put their words
  char* const mirror_;           ///< in staging: as the ring's data, so that its room is free when the ring's is
  State state_ = State::kTakeSession;
  bool asking_ = false;      ///< a READ is under way
  bool look_again_ = false;  ///< a seal was written after the last READ was posted, or a ring had no room
  std::uint32_t rung_ = 0;   ///< the sleep of the receiver for which it was rung last
  std::uint16_t session_ = 0;
  std::uint64_t consumed_ = 0;  ///< a position (ring.h), as the last READ told it
  std::uint64_t written_ = 0;   ///< a position
  std::string message_;         ///< the one that is not out yet
  std::size_t sent_ = 0;
  bool open_ = false;  ///< its last fragment is not out
};

}  // namespace granary::rdma::mailbox
