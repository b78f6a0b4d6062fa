#include "src/cluster/messages/messenger.h"

#include <algorithm>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "rdma/mailbox/sleeper.h"
#include "src/base/test_hooks.h"

namespace granary::cluster::messages {

using rdma::NodeId;
using rdma::mailbox::CallOutcome;
using rdma::mailbox::Receiver;
using rdma::mailbox::Rpc;
using rdma::mailbox::Sender;
using rdma::mailbox::SendResult;

/// A fiber that waits for questions, or the thread outside of fibers. It lies on the waiting stack.
struct Question::Asking {
  rdma::fiber::Fiber* fiber = nullptr;
  bool parked = false;
  std::size_t open = 0;
};

/// The mailboxes with one node.
class Messenger::Link {
 public:
  Link(const MessengerParts& parts, NodeId node)
      : parts_(parts),
        node_(node),
        receiver_(parts.mailboxes + parts.layout.answer_ring(parts.worker, node), parts.layout.ring_bytes,
                  parts.layout.most_bytes),
        last_call_(receiver_.earlier() << kCallBits) {}

  void add(Question& question, Question::Asking& asking) {
    question.set_asking(&asking);
    waiting_.push_back({&question, parts_.now_us() + parts_.timeout_us});
    ++asking.open;
  }
  /// Takes back the questions that were added, of which none has been sent.
  void withdraw(const Question::Asking& asking) {
    std::erase_if(waiting_, [&asking](const Waiting& one) { return one.question->asking() == &asking; });
  }
  void step();
  void completed(const rdma::Completion& completion) {
    if (sender_ && completion.tag == tag_) sender_->completed(completion);
  }
  Receiver& receiver() { return receiver_; }
  std::uint64_t most_sleep_us() const;

  /// Whether nothing is under way: not until somebody asks is there anything to do, but to drop what comes late.
  bool idle() const {
    return waiting_.empty() && open_calls_ == 0 && (!sender_ || sender_->idle() || sender_->broken());
  }
  bool busy = false;  ///< the messenger's: it is among busy_

 private:
  /// A worker's calls of a node have ids of their own, none of those that an earlier worker with its number has used.
  /// An answer to that one may come in any session, but to no call of this one. No worker makes so many calls as the
  /// lower bits count.
  static constexpr unsigned kCallBits = 48;

  struct Waiting {
    Question* question;
    std::uint64_t deadline_us;
  };

  void serve(std::uint64_t now_us);
  void drop_messages();
  void begin_anew_if_deaf();
  bool seems_deaf() const;
  bool open();
  std::optional<SendResult> try_send(const Waiting& item, std::uint64_t now_us);
  SendResult send(const Waiting& item, std::uint64_t now_us);
  static void receive(Question& question, std::string_view text);
  void end(Question& question, AskOutcome outcome) const;
  void ended(const Question& question) const;

  const MessengerParts& parts_;
  const NodeId node_;
  Receiver receiver_;
  std::optional<Sender> sender_;
  std::optional<Rpc> rpc_;
  Rpc::CallId last_call_;  ///< before those of rpc_
  std::uint64_t tag_ = 0;
  std::uint64_t connections_ = 0;
  std::uint64_t retry_us_ = 0;    ///< when connecting may be tried again
  std::vector<Waiting> waiting_;  ///< not sent yet; in the order of their deadlines
  std::string text_;              ///< of the first of them, if that is `encoded_`
  bool encoded_ = false;
  std::size_t open_calls_ = 0;
  bool unanswered_ = false;  ///< a call was sent, and since then none was answered
  std::uint64_t unanswered_since_us_ = 0;
  bool deaf_ = false;                ///< a call has timed out, and seems_deaf()
  bool gave_up_unreadable_ = false;  ///< the sender was given up because the answers have become unreadable
};

void Messenger::Link::step() {
  if (idle() && !receiver_.has_something()) return;
  const std::uint64_t now_us = parts_.now_us();
  if (rpc_) {
    serve(now_us);
    begin_anew_if_deaf();
  } else {
    drop_messages();
  }
  std::size_t done = 0;
  for (; done < waiting_.size(); ++done) {
    const Waiting next = waiting_[done];
    const std::optional<SendResult> sent = try_send(next, now_us);
    if (!sent) end(*next.question, AskOutcome::kNoMemory);
    if (sent == SendResult::kFull && next.deadline_us > now_us) break;
    if (sent == SendResult::kBroken) end(*next.question, AskOutcome::kBroken);
    if (sent == SendResult::kTooLarge) end(*next.question, AskOutcome::kTooLarge);
    if (sent == SendResult::kFull) end(*next.question, AskOutcome::kTimedOut);
    encoded_ = false;
  }
  waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(done));
}

/// Takes what has arrived. If there is no memory for it, it is taken in a later step, and questions end in time all the
/// same.
void Messenger::Link::serve(std::uint64_t now_us) {
  try {
    rpc_->step(now_us);
  } catch (const std::bad_alloc&) {
    rpc_->end_overdue(now_us);
  }
}

/// Takes what arrives before this worker has asked the node: answers to an earlier worker with its number. While they
/// lie there the worker could not sleep, nor the node's service, whose session nobody served. A message for which there
/// is no memory is dropped in a later step.
void Messenger::Link::drop_messages() {
  try {
    while (receiver_.poll()) {
    }
  } catch (const std::bad_alloc&) {
  }
}

/// Whether the node has served this session, and answered nothing for so long that it does not seem to hear it.
bool Messenger::Link::seems_deaf() const {
  constexpr std::uint64_t kSilence_us = 2'000'000;
  return sender_->served() && unanswered_ && parts_.now_us() - unanswered_since_us_ >= kSilence_us;
}

/// A node may have stopped to hear this worker although the connection is sound: it has cut the worker off because of a
/// damaged message (service_link.h), or its answers have become unreadable. A new session is heard again, and brings
/// answers of a new session.
void Messenger::Link::begin_anew_if_deaf() {
  const bool readable = receiver_.status().ok();
  if (readable) gave_up_unreadable_ = false;
  const bool unreadable = !readable && !std::exchange(gave_up_unreadable_, true);
  if (!std::exchange(deaf_, false) && !unreadable) return;
  unanswered_ = false;
  sender_->give_up();
  serve(parts_.now_us());
}

/// Sends the question. Returns nothing if there is no memory for that.
std::optional<SendResult> Messenger::Link::try_send(const Waiting& item, std::uint64_t now_us) {
  try {
    return send(item, now_us);
  } catch (const std::bad_alloc&) {
    return std::nullopt;
  }
}

void Messenger::Link::receive(Question& question, std::string_view text) {
  try {
    question.receive(text);
  } catch (const std::bad_alloc&) {
    question.end(AskOutcome::kNoMemory);
  }
}

SendResult Messenger::Link::send(const Waiting& item, std::uint64_t now_us) {
  if (!open()) return SendResult::kBroken;
  const std::uint64_t left_us = item.deadline_us - std::min(item.deadline_us, now_us);
  if (!std::exchange(encoded_, true)) item.question->encode(text_);
  // So few words that a std::function holds them without memory of its own.
  const auto done = [this, question = item.question](CallOutcome outcome, std::string_view text) {
    --open_calls_;
    switch (outcome) {
      case CallOutcome::kAnswered:
        unanswered_ = false;
        receive(*question, text);
        break;
      case CallOutcome::kTimedOut:
        deaf_ |= !question->is_call() && seems_deaf();
        question->end(AskOutcome::kTimedOut);
        break;
      case CallOutcome::kBroken: question->end(AskOutcome::kBroken); break;
    }
    ended(*question);
  };
  const SendResult result = rpc_->call(text_, now_us, left_us, done);
  if (result != SendResult::kTaken) return result;
  ++open_calls_;
  if (!std::exchange(unanswered_, true)) unanswered_since_us_ = now_us;
  return result;
}

/// A broken sender's calls end in Rpc::step(), before another takes its place.
bool Messenger::Link::open() {
  if (parts_.lives && !parts_.lives(node_)) return false;
  if (sender_ && !sender_->broken()) return true;
  if (open_calls_ != 0) serve(parts_.now_us());
  if (parts_.now_us() < retry_us_) return false;
  if (!parts_.peers.connect(node_, parts_.connect_timeout_us).ok()) {
    retry_us_ = parts_.now_us() + parts_.connect_timeout_us;
    return false;
  }
  // Connecting may take so long that the node has died, and its next life has answered, which may have only a part of
  // its data yet. That life begins to listen when this node knows of it.
  if (parts_.lives && !parts_.lives(node_) && !base::injected("ask-whoever-answers")) return false;
  rdma::Endpoint& endpoint = parts_.peers.endpoint();
  const rdma::ConnectionId connection = *parts_.peers.find(node_);
  const rdma::RemoteAddress ring{.node = node_,
                                 .region = parts_.layout.region,
                                 .generation = endpoint.peer_generation(connection),
                                 .offset = parts_.layout.request_ring(parts_.own_node, parts_.worker)};
  rdma::RemoteAddress sign = ring;
  sign.offset = parts_.layout.request_sign(parts_.own_node, parts_.worker);
  tag_ = (++connections_ << 17) | (std::uint64_t{node_} << 1) | 1;
  // The calls of the former ones have ended. They go together, also if there is no memory for the next ones.
  if (rpc_) last_call_ = rpc_->last_call();
  rpc_.reset();
  sender_.emplace(
      endpoint, connection,
      rdma::mailbox::SenderPlace{.ring = ring,
                                 .ring_bytes = parts_.layout.ring_bytes,
                                 .most_bytes = parts_.layout.most_bytes,
                                 .staging = parts_.mailboxes + parts_.layout.request_staging(parts_.worker, node_),
                                 .tag = tag_,
                                 .sign = sign});
  rpc_.emplace(
      *sender_, receiver_, [](Rpc::CallId, std::string_view, std::string&) { return true; }, last_call_);
  return true;
}

void Messenger::Link::end(Question& question, AskOutcome outcome) const {
  question.end(outcome);
  ended(question);
}

void Messenger::Link::ended(const Question& question) const {
  Question::Asking& asking = *question.asking();
  if (--asking.open == 0 && std::exchange(asking.parked, false)) parts_.scheduler.wake(asking.fiber);
}

std::uint64_t Messenger::Link::most_sleep_us() const {
  if (!waiting_.empty() || (sender_ && !sender_->idle() && !sender_->broken())) {
    return rdma::mailbox::Sleeper::kAskAgain_us;
  }
  if (open_calls_ == 0) return ~std::uint64_t{0};
  const std::uint64_t deadline_us = rpc_->next_deadline_us();
  return deadline_us - std::min(deadline_us, parts_.now_us());
}

Messenger::Messenger(MessengerParts parts) : parts_(std::move(parts)) {
  for (std::size_t at = 0; at < parts_.layout.nodes; ++at)
    links_.push_back(std::make_unique<Link>(parts_, parts_.layout.id_at(at)));
  busy_.reserve(links_.size());
}

Messenger::~Messenger() = default;

void Messenger::ask(std::span<Question* const> questions) {
  Question::Asking asking;
  try {
    add(questions, asking);
  } catch (...) {
    for (const auto& link : links_) link->withdraw(asking);
    throw;
  }
  step();
  if (asking.open == 0) return;
  asking.fiber = parts_.scheduler.current();
  asking.parked = true;
  parts_.scheduler.park();
}

void Messenger::add(std::span<Question* const> questions, Question::Asking& asking) {
  for (Question* const question : questions) {
    const std::size_t index = parts_.layout.index_of(question->node());
    if (index < links_.size()) {
      Link& link = *links_[index];
      link.add(*question, asking);
      if (!std::exchange(link.busy, true)) busy_.push_back(&link);
    } else {
      question->end(AskOutcome::kBroken);
    }
  }
}

void Messenger::step() {
  for (std::size_t i = 0; i < busy_.size();) {
    Link* const link = busy_[i];
    link->step();
    if (!link->idle()) {
      ++i;
      continue;
    }
    link->busy = false;
    busy_[i] = busy_.back();
    busy_.pop_back();
  }
}

void Messenger::step_all() {
  for (const auto& link : links_) link->step();
}

void Messenger::completed(const rdma::Completion& completion) {
  const std::size_t index = parts_.layout.index_of(static_cast<NodeId>(completion.tag >> 1));
  if (index < links_.size()) links_[index]->completed(completion);
}

std::vector<Receiver*> Messenger::receivers() {
  std::vector<Receiver*> all;
  for (const auto& link : links_) all.push_back(&link->receiver());
  return all;
}

std::uint64_t Messenger::most_sleep_us() const {
  std::uint64_t least = ~std::uint64_t{0};
  for (const Link* const link : busy_) least = std::min(least, link->most_sleep_us());
  return least;
}

}  // namespace granary::cluster::messages
