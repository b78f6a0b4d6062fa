#pragma once
// Sends requests and answers over a pair of mailboxes, one in each direction between two workers. Both may ask.
//
// An answer that comes after its call has ended (timed out) is dropped. A call that did not end with an answer may have
// been carried out or not, and requests must allow for that.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "rdma/mailbox/receiver.h"
#include "rdma/mailbox/sender.h"

namespace granary::rdma::mailbox {

enum class CallOutcome : std::uint8_t {
  kAnswered,
  kTimedOut,
  kBroken,  ///< the connection is broken
};

/// One side of such a pair. The thread of the sender's endpoint uses it, and passes the time to it.
class Rpc {
 public:
  using CallId = std::uint64_t;
  /// Is called once, inside step(), with the answer, which is empty if there is none. It may make calls.
  using Done = std::function<void(CallOutcome outcome, std::string_view answer)>;
  /// Puts the answer to a request into `answer`, which is empty. Or returns false, and answer() follows later. It may
  /// not use this object.
  using Handler = std::function<bool(CallId call, std::string_view request, std::string& answer)>;

  /// The greatest number of calls under way, so that the peer has to keep no more answers than that for us. If it would
  /// have to, because calls of ours timed out, it drops the request.
  static constexpr std::size_t kMostCalls = 64;
  /// The size of the part of a message that is neither request nor answer.
  static constexpr std::size_t kHeaderBytes = 16;

  /// `last_call` is the last call of the previous Rpc on the same mailboxes, since answers to its calls may still
  /// arrive. When the sender's connection is broken, another sender may be put into its place. Calls end then, but
  /// answers go on.
  Rpc(Sender& sender, Receiver& receiver, Handler handler, CallId last_call = 0)
      : sender_(sender),
        receiver_(receiver),
        handler_(std::move(handler)),
        last_call_(last_call) {}

  /// Makes a call. Returns kFull also if there are kMostCalls under way. If it throws std::bad_alloc, there is no call.
  SendResult call(std::string_view request, std::uint64_t now_us, std::uint64_t timeout_us, Done done);
  /// Sends the answer to a request that the handler has put off.
  void answer(CallId call, std::string_view body);
  CallId last_call() const { return last_call_; }
  /// Whether there is nothing to do but to wait for messages, and for answers that were put off.
  bool quiet() const { return calls_.empty() && waiting_ == 0 && sender_.quiet(); }
  /// Returns how many messages so far were neither request nor answer.
  std::uint64_t senseless() const { return senseless_; }
  /// Returns when the time of the next call is over, which is when step() is wanted; the greatest number if there is no
  /// call.
  std::uint64_t next_deadline_us() const;
  /// Takes the messages that have arrived, sends answers, and ends calls whose time is over. If it throws
  /// std::bad_alloc, a message for which there is no memory lies where it was.
  void step(std::uint64_t now_us);
  /// Ends the calls whose time is over, or all of them if the connection is broken. Needs no memory.
  void end_overdue(std::uint64_t now_us);

 private:
  struct Call {
    CallId id = 0;
    std::uint64_t deadline_us = 0;
    Done done;
  };
  struct Answer {
    CallId call = 0;
    std::string body;
  };

  void take(std::string_view message);
  void handle(CallId call, std::string_view request);
  Answer& add_answer(CallId call);
  void send_answers();
  void end(CallId call, CallOutcome outcome, std::string_view answer);

  Sender& sender_;
  Receiver& receiver_;
  const Handler handler_;
  CallId last_call_;
  std::vector<Call> calls_;      ///< calls under way, in the order of their ids
  std::vector<Answer> answers_;  ///< only the first waiting_ count; the others' memory is for later ones
  std::size_t waiting_ = 0;      ///< how many answers the sender has not taken yet
  std::size_t put_off_ = 0;      ///< how many requests will be answered later
  std::uint64_t senseless_ = 0;
};

}  // namespace granary::rdma::mailbox
