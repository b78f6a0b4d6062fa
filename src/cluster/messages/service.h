#pragma once
// A node's side of messages: answers the workers of all other nodes. Requests about data are answered on the spot by
// Owner, procedure calls go to workers by way of a queue, control requests to a handler.
//
// Messages of other nodes are not trusted (I26). A worker that sends what no messenger sends is cut off until it begins
// anew: it gets no answers, and its further messages are dropped. The others notice nothing. Memory is bounded by the
// rings, and by Rpc::kMostCalls answers for each worker of another node.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "rdma/fiber/peers.h"
#include "rdma/mailbox/receiver.h"
#include "src/cluster/messages/call_queue.h"
#include "src/cluster/messages/file_source.h"
#include "src/cluster/messages/layout.h"
#include "src/cluster/messages/owner.h"
#include "src/cluster/messages/signs.h"

namespace granary::cluster::messages {

/// The means of a service's work. All of them outlive the service.
struct ServiceParts {
  const MailboxLayout& layout;
  char* mailboxes = nullptr;  ///< this node's region of mailboxes, layout.region_bytes() long
  rdma::NodeId own_node = 0;
  rdma::Endpoint& endpoint;  ///< for the service alone
  Owner& owner;
  CallQueue* calls = nullptr;   ///< none: calls are refused
  FileSource* files = nullptr;  ///< none: nobody reads this node's files
  /// Answers control requests in the service's thread, and returns soon. None: they are refused.
  std::function<std::string(rdma::NodeId from, std::string_view bytes)> control;
  /// How long connecting to a node that has asked is waited for at first (rdma::fiber::Peers says how much longer
  /// later). All that the service does waits meanwhile, so each step tries a node that does not answer for only one of
  /// its workers.
  std::uint64_t connect_timeout_us = 100'000;
};

/// Written by the service (relaxed), read by statistics.
struct ServiceCounts {
  std::atomic<std::uint64_t> requests{0};
  std::atomic<std::uint64_t> refused{0};
  std::atomic<std::uint64_t> cut_off{0};    ///< how often a worker of another node was cut off
  std::atomic<std::uint64_t> connected{0};  ///< how often one has connected
};

/// Used by the thread of its endpoint and of the owner's worker.
class Service {
 public:
  explicit Service(ServiceParts parts);
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  /// Takes and answers what has arrived. False if there was nothing to do. It looks at the rings whose signs have
  /// changed, and at one ring more, in turn, since a sign may be missed. So an idle step costs the same however many
  /// nodes ask.
  bool step(std::uint64_t now_us);
  /// Has what the node holds of this node's memory taken back. Any thread may call it when the node's life is over and
  /// was cut off, and before a later life of the node is served.
  void forget(rdma::NodeId node);
  const ServiceCounts& counts() const { return counts_; }

  // For a Sleeper.
  /// Valid as long as the service.
  std::vector<rdma::mailbox::Receiver*> receivers();
  /// Within this time step() has to be called even if nothing arrives.
  std::uint64_t most_sleep_us() const;

 private:
  class Link;
  /// A request about data and its answer. The next request of its kind uses their memory again.
  template <typename Request>
  struct Exchange {
    Request request;
    typename Request::Answer answer;
  };
  using Exchanges = std::tuple<Exchange<Describe>, Exchange<FindRecord>, Exchange<Scan>, Exchange<SnapshotGet>,
                               Exchange<SnapshotScan>, Exchange<LendBlocks>, Exchange<NoteRemoved>>;
  void forget_former_lives();
  void poll();
  bool pass_on_results();
  void look();
  void note_due(Link& link);
  bool step_due(std::uint64_t now_us);

  const ServiceParts parts_;
  rdma::fiber::Peers peers_;
  ServiceCounts counts_;
  Exchanges exchanges_;  ///< for all links
  /// A node as its workers' links see it.
  struct AskingNode {
    rdma::NodeId node;
    bool silent = false;  ///< it did not answer when this step tried to connect to it
  };
  std::vector<AskingNode> asking_nodes_;      ///< by the nodes' indexes
  std::vector<std::unique_ptr<Link>> links_;  ///< by the nodes' indexes, then by worker
  std::vector<Link*> due_;                    ///< links that have something to do, in any order
  Signs signs_;                               ///< of the links' rings
  std::size_t next_look_ = 0;                 ///< the link whose ring is looked at next, whatever its sign
  /// By the nodes' indexes: to be forgotten in the next step. forget() stores with release before the node's next life
  /// is known to anybody, so the step that meets a message of that life, which comes after it, loads it before it
  /// answers.
  std::vector<std::atomic<bool>> forgotten_;
  /// Whether any of them is. Stored with release after that one, and taken back before they are looked at, so none is
  /// overlooked.
  std::atomic<bool> any_forgotten_{false};
};

}  // namespace granary::cluster::messages
