#pragma once
// Makes the answerer's side of connections: lets peers in, and holds the queue pairs through which they reach this
// node's memory.
//
// A kernel tells the other side of a process's death only if it knew that the connection was made. So the caller waits
// until it reads, in a word of this node's own region, that this node knows it.
//
// I5: an endpoint has one connection to this node. When it asks for another, the previous queue pair is destroyed
// first. So nothing of that takes effect any more when the endpoint hears that it is connected.

#include <list>
#include <memory>

#include "rdma/cut_lives.h"
#include "rdma/verbs/bells.h"
#include "rdma/verbs/challenges.h"
#include "rdma/verbs/cm_events.h"
#include "rdma/verbs/device_context.h"
#include "rdma/verbs/hello.h"
#include "rdma/verbs/own_region.h"

namespace granary::rdma::verbs {

/// The guests of one fabric. Only the event thread uses it, but another thread makes and destroys it.
class Acceptor final : public CmTarget {
 public:
  /// Begins to listen. `listener` is bound, and its channel is the event thread's. It gets the acceptor as its context.
  /// The acceptor refuses the lives of `cut_lives`.
  static Result<std::unique_ptr<Acceptor>> listen(const NodeOptions& node, const CutLives& cut_lives,
                                                  const DeviceContext& device, OwnRegion& own, Bells& bells,
                                                  rdma_cm_id& listener);
  ~Acceptor() override;

  /// Handles a request to the listener.
  void on_event(const rdma_cm_event& event) override;
  /// Destroys the queue pairs by which the lives of `node` up to `last` reach this node's memory.
  void cut_off(NodeId node, Generation last);
  /// Destroys the connections that have ended. It must not be called while an event is being handled.
  void clean_up();

 private:
  /// A peer's connection to this node.
  class Guest final : public CmTarget {
   public:
    Guest(Acceptor& host, CmId id, const Request& asked, OwnRegion::Word welcome)
        : request(asked),
          host_(host),
          id_(std::move(id)),
          welcome_(std::move(welcome)) {
      id_->context = static_cast<CmTarget*>(this);
    }
    void on_event(const rdma_cm_event& event) override;
    rdma_cm_id& id() { return *id_; }
    const Request request;

   private:
    Acceptor& host_;
    const CmId id_;
    const OwnRegion::Word welcome_;  ///< 1 once the peer would be told of this node's death
  };
  using Guests = std::list<std::unique_ptr<Guest>>;

  Acceptor(const NodeOptions& node, const CutLives& cut_lives, const DeviceContext& device, OwnRegion& own,
           Bells& bells, CompletionQueue completions)
      : node_(node),
        cut_lives_(cut_lives),
        device_(device),
        own_(own),
        bells_(bells),
        completions_(std::move(completions)) {}
  /// Destroys the queue pairs that the request replaces. Returns kTooLate if one of them is newer.
  Refusal replace_older(const Request& request);
  Refusal accept(CmId& id, const rdma_conn_param& offered, const Request& request);
  /// Whether the request proves that it comes from the cluster.
  Refusal admit(const Request& request);
  void refuse(CmId id, Refusal refusal, const Request& request);
  void end(const Guest& guest);
  void destroy_queue_pair(rdma_cm_id& id);
  Answer answer(Refusal refusal) const;

  const NodeOptions node_;
  const CutLives& cut_lives_;
  const DeviceContext& device_;
  OwnRegion& own_;
  Bells& bells_;
  const CompletionQueue completions_;  ///< stays empty, as guests' queue pairs send nothing
  Guests guests_;
  Guests ended_;
  std::list<CmId> refused_;
  Challenges challenges_;
};

}  // namespace granary::rdma::verbs
