#pragma once
// Holds a question to another node, its outcome and its answer. Messenger carries it.

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rdma/fabric.h"
#include "src/cluster/messages/frame.h"

namespace granary::cluster::messages {

enum class AskOutcome : std::uint8_t {
  kOpen,  ///< has not ended
  kAnswered,
  kRefused,         ///< status() says why; nothing was done
  kTimedOut,        ///< the other node has done it, or has not, or will
  kBroken,          ///< the connection broke, or there was none: the other node has done it, or has not
  kMalformed,       ///< the answer could not be understood: the other node is damaged
  kTooLarge,        ///< the question is longer than a message may be
  kAnswerTooLarge,  ///< the other node has done it, and its answer is longer than a message may be
  kNoMemory,        ///< there was none here for question or answer: the other node has done it, or has not
};
std::string_view name(AskOutcome outcome);

class Question {
 public:
  explicit Question(rdma::NodeId node) : node_(node) {}
  virtual ~Question() = default;

  rdma::NodeId node() const { return node_; }
  AskOutcome outcome() const { return outcome_; }
  /// After kRefused: why.
  ReplyStatus status() const { return status_; }

  // For Messenger.
  struct Asking;  ///< the fiber or thread that waits for the answer
  void set_asking(Asking* asking) { asking_ = asking; }
  Asking* asking() const { return asking_; }
  /// Whether a worker of the other node runs it, which may take as long as it likes.
  bool is_call() const { return type() == RequestType::kCall; }
  virtual void encode(std::string& message) const = 0;
  void receive(std::string_view message);
  void end(AskOutcome outcome) { outcome_ = outcome; }

 protected:
  Question(Question&&) = default;
  void begin_anew(rdma::NodeId node) {
    node_ = node;
    outcome_ = AskOutcome::kOpen;
    status_ = ReplyStatus::kDone;
  }
  virtual RequestType type() const = 0;
  virtual bool decode_answer(std::string_view body) = 0;

 private:
  rdma::NodeId node_;
  Asking* asking_ = nullptr;
  AskOutcome outcome_ = AskOutcome::kOpen;
  ReplyStatus status_ = ReplyStatus::kDone;
};

/// Says in a message how a question has ended, and why it was refused.
std::string how_it_ended(const Question& question);

template <typename Request>
class QuestionOf final : public Question {
 public:
  /// Everything that the request points to outlives the question.
  QuestionOf(rdma::NodeId node, const Request& request) : Question(node), request_(request) {}

  /// Makes it another question. It keeps its memory, and the bytes of its answer until the next one comes.
  void renew(rdma::NodeId node, const Request& request) {
    begin_anew(node);
    request_ = request;
  }

  Request& request() { return request_; }
  /// After kAnswered. Views in it are into bytes that the question keeps.
  typename Request::Answer& answer() { return answer_; }
  const typename Request::Answer& answer() const { return answer_; }

  void encode(std::string& message) const override { messages::encode(Request::kType, request_, message); }

 private:
  RequestType type() const override { return Request::kType; }
  bool decode_answer(std::string_view body) override {
    body_.assign(body.begin(), body.end());
    return decode(std::string_view(body_.data(), body_.size()), answer_);
  }

  Request request_;
  std::vector<char> body_;  ///< whose address stays when the question is moved
  typename Request::Answer answer_;
};

/// Questions of one kind that are asked together. The next ones use their memory again.
template <typename Request>
class Questions {
 public:
  QuestionOf<Request>& add(rdma::NodeId node, const Request& request) {
    const std::size_t at = all_.size();
    if (at == asks_.size()) {
      asks_.emplace_back(node, request);
    } else {
      asks_[at].renew(node, request);
    }
    all_.push_back(&asks_[at]);
    return asks_[at];
  }
  void clear() {
    all_.clear();
    while (asks_.size() > kMostKept) asks_.pop_back();
  }

  void drop_last() { all_.pop_back(); }

  std::size_t size() const { return all_.size(); }
  const QuestionOf<Request>& operator[](std::size_t i) const { return asks_[i]; }
  std::span<Question* const> all() const { return all_; }

 private:
  static constexpr std::size_t kMostKept = 128;

  std::deque<QuestionOf<Request>> asks_;
  std::vector<Question*> all_;  ///< the first of asks_
};

}  // namespace granary::cluster::messages
