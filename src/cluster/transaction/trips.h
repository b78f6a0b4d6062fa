#pragma once
// Runs a transaction's one-sided steps and its questions to other nodes, and counts them. It also has the memory that
// these need until the transaction ends. Before anything goes out, it ends the worker's HTM region
// (cc::drtm::leave_region).

#include <span>
#include <tuple>

#include "rdma/fiber/rounds.h"
#include "src/base/arena.h"
#include "src/base/batch.h"
#include "src/cluster/record_access/access_step.h"
#include "src/cluster/transaction/reach.h"

namespace granary::cluster {

using Step = rdma::fiber::Step;
template <typename T>
using Batch = base::Batch<T>;

class Trips {
 public:
  explicit Trips(Reach& reach)
      : reach_(reach),
        rounds_(reach.scheduler, reach.endpoint, reach.peers, reach.waiter),
        buffers_(reach.buffers) {}

  Reach& reach() { return reach_; }
  const Reach& reach() const { return reach_; }

  /// Runs the steps together, and counts their round trips for this part of the transaction.
  void run(TripPhase phase, std::span<Step* const> steps);
  void run(TripPhase phase, std::span<AccessStep* const> steps);
  void run(TripPhase phase, Step& step) {
    Step* const one = &step;
    run(phase, std::span(&one, 1));
  }
  /// Posts the steps and waits for nothing (rdma::fiber::Rounds::start). That does not count as a round trip, as nobody
  /// waits for it.
  void start(std::span<AccessStep* const> steps, rdma::fiber::Chains& chains);
  void ask(std::span<messages::Question* const> questions);
  /// Makes room for questions of one kind. Their answers are valid until it is called again for this kind.
  template <typename Request>
  messages::Questions<Request>& questions() {
    auto& questions = std::get<messages::Questions<Request>>(questions_);
    questions.clear();
    return questions;
  }

  /// Allocates registered memory, which stays until clear(); nullptr if the node has no more.
  void* buffer(std::size_t bytes) { return buffers_.allocate(bytes); }
  /// Gives away the registered memory, for operations that outlast the transaction (undelivered.h).
  Buffers hand_over_buffers() { return std::move(buffers_); }
  /// Ordinary memory, which stays until clear(). Objects in it cost no allocation.
  base::Arena& arena() { return arena_; }
  template <typename T>
  Batch<T> batch(std::size_t capacity) {
    return {arena_, capacity};
  }
  void clear();

 private:
  void count(const rdma::fiber::Traffic& before);

  Reach& reach_;
  rdma::fiber::Rounds rounds_;
  base::Arena arena_;
  Buffers buffers_;
  std::tuple<messages::Questions<messages::FindRecord>, messages::Questions<messages::Scan>,
             messages::Questions<messages::LendBlocks>, messages::Questions<messages::NoteRemoved>>
      questions_;
};

}  // namespace granary::cluster
