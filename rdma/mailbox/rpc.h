#pragma once
// Requests and answers over a pair of mailboxes, one in each direction between two workers. Both may ask.
//
// An answer that comes after its call has ended (timed out) is dropped. A call that did not end with an answer
// may have been carried out or not: what is asked for must bear that.

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

/// Used by the thread of the sender's endpoint; time is given to it.
class Rpc {
 public:
  using CallId = std::uint64_t;
  /// Called once, inside step(), with the answer (empty if there is none). It may make calls.
  using Done = std::function<void(CallOutcome outcome, std::string_view answer)>;
  /// Puts the answer to a request into `answer`, which is empty; or returns false: then answer() follows, later. May
  /// not use this object.
  using Handler = std::function<bool(CallId call, std::string_view request, std::string& answer)>;

  /// Calls under way at most; so the peer has to keep no more answers than that for us. If it must, because calls of
  /// ours timed out, it drops what is asked.
  static constexpr std::size_t kMostCalls = 64;
  /// The part of a message that is neither request nor answer.
  static constexpr std::size_t kHeaderBytes = 16;

  /// `last_call`: of the one before on the same mailboxes, since answers to that may still arrive.
  /// When the sender's connection is broken, another may be put into its place; calls end, answers go on.
  Rpc(Sender& sender, Receiver& receiver, Handler handler, CallId last_call = 0)
      : sender_(sender),
        receiver_(receiver),
        handler_(std::move(handler)),
        last_call_(last_call) {}

  /// kFull also if there are kMostCalls under way.
  SendResult call(std::string_view request, std::uint64_t now_us, std::uint64_t timeout_us, Done done);
  /// The answer to a request that the handler has put off.
  void answer(CallId call, std::string_view body);
  CallId last_call() const { return last_call_; }
  /// Nothing to do but to wait for messages, and for answers that were put off.
  bool quiet() const { return calls_.empty() && waiting_ == 0 && sender_.quiet(); }
  /// Messages so far that were neither request nor answer.
  std::uint64_t senseless() const { return senseless_; }
  /// When the next call's time is over: step() is wanted then. The greatest number if there is none.
  std::uint64_t next_deadline_us() const;
  /// Takes what has arrived, answers, ends calls whose time is over.
  void step(std::uint64_t now_us);

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
  void end_overdue(std::uint64_t now_us);
  void end(CallId call, CallOutcome outcome, std::string_view answer);

  Sender& sender_;
  Receiver& receiver_;
  const Handler handler_;
  CallId last_call_;
  std::vector<Call> calls_;      ///< under way, in the order of their ids
  std::vector<Answer> answers_;  ///< the first waiting_ of them; the others' memory is for later ones
  std::size_t waiting_ = 0;      ///< answers that the sender has not taken yet
  std::size_t put_off_ = 0;      ///< requests whose answers are to come
  std::uint64_t senseless_ = 0;
};

}  // namespace granary::rdma::mailbox
