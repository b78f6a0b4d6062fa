#pragma once
// A question to another node, and in the end its answer. Messenger carries it.

#include <cstdint>
#include <string>
#include <string_view>

#include "rdma/fabric.h"
#include "src/cluster/messages/frame.h"

namespace granary::cluster::messages {

enum class AskOutcome : std::uint8_t {
  kOpen,  ///< has not ended
  kAnswered,
  kRefused,    ///< verdict() says why; nothing was done
  kTimedOut,   ///< the other node has done it, or has not, or will
  kBroken,     ///< the connection broke, or there was none: the other node has done it, or has not
  kMalformed,  ///< the answer could not be understood: the other node is damaged
  kTooLarge,   ///< the question is longer than a message may be
};
std::string_view name(AskOutcome outcome);

class Question {
 public:
  explicit Question(rdma::NodeId node) : node_(node) {}
  virtual ~Question() = default;

  rdma::NodeId node() const { return node_; }
  AskOutcome outcome() const { return outcome_; }
  /// After kRefused: why.
  Verdict verdict() const { return verdict_; }

  // For Messenger.
  virtual std::string encode() const = 0;
  void settle(std::string_view message);
  void end(AskOutcome outcome) { outcome_ = outcome; }

 protected:
  Question(const Question&) = default;
  Question& operator=(const Question&) = default;
  virtual Type type() const = 0;
  virtual bool take(std::string_view body) = 0;

 private:
  rdma::NodeId node_;
  AskOutcome outcome_ = AskOutcome::kOpen;
  Verdict verdict_ = Verdict::kDone;
};

template <typename Request>
class Ask final : public Question {
 public:
  /// Everything that the request points to outlives the question.
  Ask(rdma::NodeId node, const Request& request) : Question(node), request_(request) {}

  /// After kAnswered.
  typename Request::Answer& answer() { return answer_; }
  const typename Request::Answer& answer() const { return answer_; }

  std::string encode() const override { return encode_request(request_); }

 private:
  Type type() const override { return Request::kType; }
  bool take(std::string_view body) override { return decode(body, answer_); }

  Request request_;
  typename Request::Answer answer_;
};

}  // namespace granary::cluster::messages
