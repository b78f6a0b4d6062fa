// Counts what one poll of a worker looks at while it waits for another node: the rings of its mailboxes, by the pages
// that are touched, and the calls of its endpoint. It also counts the rings that a step of a node's service looks at.
// The counts are the same however many nodes there are. Not covered: what a provider's endpoint does in a call, the
// line of signs for each 64 workers that ask, and what it costs to fall asleep, which looks at all mailboxes.

#include <signal.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <utility>

#include <gtest/gtest.h>

#include "src/base/check.h"
#include "tests/cluster/transaction/sim_cluster.h"
#include "tests/rdma/forwarding_endpoint.h"

namespace granary::cluster::test {
namespace {

/// Counts which pieces of a range of memory are touched: nobody may touch them, and whoever does so raises a signal,
/// whose handler counts the piece and gives it back. So the code that is looked at needs no counters of its own. One at
/// a time, and only the thread that made it touches the range meanwhile.
class TouchedPieces {
 public:
  /// Begins to count. All three are multiples of the size of a page, and the memory can be read and written.
  TouchedPieces(char* begin, std::uint64_t bytes, std::uint64_t piece_bytes)
      : begin_(begin),
        bytes_(bytes),
        piece_bytes_(piece_bytes) {
    watching = this;
    SignalAction ours{};
    ours.sa_sigaction = &TouchedPieces::touched;
    ours.sa_flags = SA_SIGINFO;
    base::always_check(::sigaction(SIGSEGV, &ours, &before_) == 0, "the signal can be handled");
    base::always_check(::mprotect(begin_, bytes_, PROT_NONE) == 0, "the range consists of whole pages");
  }
  ~TouchedPieces() {
    base::always_check(::mprotect(begin_, bytes_, PROT_READ | PROT_WRITE) == 0, "the range can be given back");
    ::sigaction(SIGSEGV, &before_, nullptr);
    watching = nullptr;
  }
  TouchedPieces(const TouchedPieces&) = delete;
  TouchedPieces& operator=(const TouchedPieces&) = delete;

  /// How many pieces have been touched so far.
  std::size_t count() const { return count_; }

 private:
  using SignalAction = struct sigaction;

  /// A fault somewhere else is handled as if nobody counted, when its instruction is tried again.
  static void touched(int signal, siginfo_t* info, void*) {
    TouchedPieces& all = *watching;
    const auto at = reinterpret_cast<std::uintptr_t>(info->si_addr) - reinterpret_cast<std::uintptr_t>(all.begin_);
    if (at >= all.bytes_) {
      ::sigaction(signal, &all.before_, nullptr);
      return;
    }
    ++all.count_;
    ::mprotect(all.begin_ + at / all.piece_bytes_ * all.piece_bytes_, all.piece_bytes_, PROT_READ | PROT_WRITE);
  }

  static inline TouchedPieces* watching = nullptr;

  char* const begin_;
  const std::uint64_t bytes_;
  const std::uint64_t piece_bytes_;
  std::size_t count_ = 0;
  SignalAction before_{};
};

struct Looks {
  std::size_t rings = 0;
  std::uint64_t endpoint_calls = 0;
  bool operator==(const Looks&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Looks& looks) {
  return out << looks.rings << " rings and " << looks.endpoint_calls << " calls of the endpoint";
}

/// A worker of node 0, beside those of the cluster, which has been answered by all other nodes.
class WorkerOfManyNodes {
 public:
  explicit WorkerOfManyNodes(unsigned nodes) : cluster_(nodes), nodes_(nodes) {
    cluster_.start(1);
    SimClusterNode& node = cluster_.node(0);
    worker_ = node.database().register_worker().value();
    auto endpoint = std::make_unique<rdma::test::ForwardingEndpoint>(node.fabric().open_endpoint().value());
    endpoint_ = endpoint.get();
    parts_ = std::make_unique<NodeParts>(node.parts(waiter_));
    remote_ =
        std::make_unique<RemoteWorker>(*parts_, *worker_.core(), kNumber, cluster_.scheduler, std::move(endpoint));
    cluster_.when_time_passes([this] { poll_(); });
    for (rdma::NodeId other = 1; other < nodes; ++other) EXPECT_EQ(ask(other), messages::AskOutcome::kAnswered);
  }
  ~WorkerOfManyNodes() {
    remote_->finish();
    cluster_.when_time_passes([] {});
  }
  WorkerOfManyNodes(const WorkerOfManyNodes&) = delete;
  WorkerOfManyNodes& operator=(const WorkerOfManyNodes&) = delete;

  /// Counts the most looks of one poll while the worker waits for an answer of node 1, which sends none. At times the
  /// worker READs whether the node has taken the question, so there are polls with a call more of the endpoint.
  Looks while_it_waits_for_an_answer() {
    Looks most;
    cluster_.node(1).keep_silent(true);
    poll_ = [&] {
      const Looks looks = looks_of([this] { remote_->poll(); });
      most.rings = std::max(most.rings, looks.rings);
      most.endpoint_calls = std::max(most.endpoint_calls, looks.endpoint_calls);
    };
    EXPECT_EQ(ask(1), messages::AskOutcome::kTimedOut);
    cluster_.node(1).keep_silent(false);
    poll_ = [this] { remote_->poll(); };
    return most;
  }
  /// Counts those of a poll while no question is under way, as when it waits for one-sided operations.
  Looks without_a_question() {
    return looks_of([this] { remote_->poll(); });
  }
  /// Counts those of a worker that is about to sleep.
  Looks before_it_sleeps() {
    return looks_of([this] { remote_->messenger().step_all(); });
  }

 private:
  static constexpr std::uint32_t kNumber = 1;  ///< the cluster's worker has 0

  messages::AskOutcome ask(rdma::NodeId node) {
    messages::QuestionOf<messages::Describe> question(node, {});
    remote_->messenger().ask(question);
    return question.outcome();
  }
  Looks looks_of(const std::function<void()>& act) {
    const messages::MailboxLayout& layout = parts_->layout;
    const std::uint64_t calls = endpoint_->calls();
    const TouchedPieces rings(parts_->mailboxes + layout.answer_ring(kNumber, 0), nodes_ * layout.ring_bytes,
                              layout.ring_bytes);
    act();
    return {rings.count(), endpoint_->calls() - calls};
  }

  NoRest waiter_;
  SimCluster cluster_;
  const unsigned nodes_;
  Worker worker_;
  rdma::test::ForwardingEndpoint* endpoint_ = nullptr;
  std::unique_ptr<NodeParts> parts_;
  std::function<void()> poll_ = [this] { remote_->poll(); };
  std::unique_ptr<RemoteWorker> remote_;
};

/// The service of node 0, which the workers of all other nodes have asked.
class ServiceOfManyNodes {
 public:
  explicit ServiceOfManyNodes(unsigned nodes) : cluster_(nodes), nodes_(nodes) {
    cluster_.start(kWorkers);
    for (unsigned other = 1; other < nodes; ++other) {
      for (std::size_t worker = 0; worker < kWorkers; ++worker) ask(other, worker);
    }
    for (int i = 0; i < 1'000; ++i) cluster_.scheduler.yield();  // until nothing is under way any more
  }

  /// Returns how many rings an idle step looks at.
  std::size_t when_idle() {
    std::size_t most = 0;
    for (unsigned i = 0; i < 3 * nodes_ * kWorkers; ++i) most = std::max(most, rings_of_a_step());
    return most;
  }
  /// Returns how many rings a step looks at, at most, while one worker asks.
  std::size_t while_one_asks() {
    std::size_t most = 0;
    cluster_.node(0).keep_silent(true);
    cluster_.when_time_passes([&] { most = std::max(most, rings_of_a_step()); });
    ask(1, 1);
    cluster_.when_time_passes([] {});
    cluster_.node(0).keep_silent(false);
    return most;
  }

 private:
  static constexpr std::uint32_t kWorkers = 2;

  void ask(unsigned node, std::size_t worker) {
    messages::QuestionOf<messages::Describe> question(0, {});
    cluster_.node(node).remote(worker).messenger().ask(question);
    EXPECT_EQ(question.outcome(), messages::AskOutcome::kAnswered);
  }
  std::size_t rings_of_a_step() {
    SimClusterNode& node = cluster_.node(0);
    const NodeParts parts = node.parts(waiter_);
    const messages::MailboxLayout& layout = parts.layout;
    const TouchedPieces rings(parts.mailboxes + layout.request_ring(0, 0), layout.count() * layout.ring_bytes,
                              layout.ring_bytes);
    node.service().step(parts.now_us());
    return rings.count();
  }

  NoRest waiter_;
  SimCluster cluster_;
  const unsigned nodes_;
};

TEST(PollCost, OfAServiceIsTheSameForTwentyFourNodesAsForTwo) {
  for (const unsigned nodes : {2u, 24u}) {
    ServiceOfManyNodes service(nodes);
    EXPECT_EQ(service.when_idle(), 1u) << nodes << " nodes; the one whose turn it is";
    EXPECT_EQ(service.while_one_asks(), 2u) << nodes << " nodes; and the one whose sign has changed";
  }
}

TEST(PollCost, IsTheSameForTwentyFourNodesAsForTwo) {
  for (const unsigned nodes : {2u, 24u}) {
    WorkerOfManyNodes worker(nodes);
    EXPECT_EQ(worker.while_it_waits_for_an_answer(), (Looks{.rings = 1, .endpoint_calls = 2})) << nodes << " nodes";
    EXPECT_EQ(worker.without_a_question(), (Looks{.rings = 0, .endpoint_calls = 1})) << nodes << " nodes";
    EXPECT_EQ(worker.before_it_sleeps(), (Looks{.rings = nodes, .endpoint_calls = 0})) << "what is counted is seen";
  }
}

}  // namespace
}  // namespace granary::cluster::test
