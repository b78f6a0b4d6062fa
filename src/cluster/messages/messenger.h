#pragma once
// A worker's side of messages: asks other nodes and waits for their answers. Several questions, to several nodes, cost
// one wait.
//
//   QuestionOf<FindRecord> one(2, {.table = 7, .key = "k", .make = true});
//   QuestionOf<Scan> two(3, {...});
//   messenger.ask({&one, &two});
//   if (one.outcome() == AskOutcome::kAnswered) use(one.answer());
//
// A node is connected when it is asked first, and anew after a connection broke, for example because the node
// restarted. Questions that were under way then end as kBroken.

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

#include "rdma/fiber/peers.h"
#include "rdma/fiber/scheduler.h"
#include "rdma/mailbox/receiver.h"
#include "rdma/mailbox/rpc.h"
#include "rdma/mailbox/sender.h"
#include "src/cluster/messages/layout.h"
#include "src/cluster/messages/question.h"

namespace granary::cluster::messages {

/// The worker that a messenger serves, and the means of its work. All of them outlive the messenger.
struct MessengerParts {
  const MailboxLayout& layout;
  char* mailboxes = nullptr;  ///< this node's region of mailboxes, layout.region_bytes() long
  rdma::NodeId own_node = 0;
  std::uint32_t worker = 0;   ///< of this node, below layout.workers; nobody else has it
  rdma::fiber::Peers& peers;  ///< of the worker's endpoint
  rdma::fiber::Scheduler& scheduler;
  std::function<std::uint64_t()> now_us;
  std::uint64_t timeout_us;          ///< of a question
  std::uint64_t connect_timeout_us;  ///< the whole worker waits that long for a node that does not answer
  /// Whether a node is a member that lives and may be asked; others are not asked. Empty: all nodes are asked.
  std::function<bool(rdma::NodeId)> lives = {};
};

/// Used by the thread of its endpoint.
class Messenger {
 public:
  explicit Messenger(MessengerParts parts);
  ~Messenger();
  Messenger(const Messenger&) = delete;
  Messenger& operator=(const Messenger&) = delete;

  /// Returns when all questions have ended. Meanwhile the scheduler's other fibers run, and may ask as well. If it
  /// throws std::bad_alloc, nothing has been asked.
  void ask(std::span<Question* const> questions);
  void ask(std::initializer_list<Question*> questions) { ask(std::span(questions.begin(), questions.size())); }
  void ask(Question& question) { ask({&question}); }

  /// Takes what has arrived, sends what waits, ends what is overdue. The scheduler's poll calls it. Only the nodes that
  /// are being asked are looked at, so it costs the same however many there are. It serves the questions of all fibers,
  /// so it throws no std::bad_alloc into one of them: a question for which there is no memory ends.
  void step();
  /// Does the same for all nodes: from one whose question was given up, an answer may still come. Called by who is
  /// about to sleep until something arrives.
  void step_all();
  /// How many nodes step() looks at.
  std::size_t looked_at() const { return busy_.size(); }
  /// A completion with an odd tag (FiberEndpoint's `others`).
  void completed(const rdma::Completion& completion);

  // The mailboxes that the worker's Sleeper looks at. Valid as long as the messenger.
  std::vector<rdma::mailbox::Receiver*> receivers();
  /// Within this time step() has to be called even if nothing arrives.
  std::uint64_t most_sleep_us() const;

 private:
  class Link;
  void add(std::span<Question* const> questions, Question::Asking& asking);

  const MessengerParts parts_;
  std::vector<std::unique_ptr<Link>> links_;  ///< by the nodes' indexes
  std::vector<Link*> busy_;                   ///< that have something under way, in any order
};

}  // namespace granary::cluster::messages
