#pragma once
// Receives rings, which are empty messages to the queue pairs that serve peers, with the bell as immediate data.
//
// All queue pairs share one receive queue, and one completion queue with a place for each entry of it, so neither
// overflows. A peer rings only when it knows that this node's endpoint sleeps, so rings are rare. If the event thread
// has more than kMostKept rings to take, for example because the process is stopped, peers' devices hold the next ones
// back and try again.

#include <infiniband/verbs.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>

#include "rdma/verbs/alarm.h"
#include "rdma/verbs/device_context.h"

namespace granary::rdma::verbs {

/// The bells of one fabric. Thread-safe.
class Bells {
 public:
  static Result<std::unique_ptr<Bells>> open(const DeviceContext& device);

  /// Makes rings for this bell raise the alarm of a sleeping endpoint from now on, until remove().
  void add(BellId bell, const Alarm& alarm);
  void remove(BellId bell);

  /// Returns the receive queue of queue pairs at which rings arrive.
  ibv_srq* receive_queue() const { return received_.get(); }
  ibv_cq* completions() const { return completions_.get(); }
  /// Returns a descriptor that is readable when rings have come. Then the event thread calls answer().
  int descriptor() const { return channel_->fd; }
  void answer();
  /// Takes the rings that have come, and awaits as many again. Called in the event thread.
  void drain();

 private:
  static constexpr int kMostKept = 1024;  ///< fewer if the device has fewer

  Bells() = default;
  Status await_one();
  void ring(BellId bell);

  CompletionChannel channel_;
  CompletionQueue completions_;
  std::unique_ptr<ibv_srq, Free<ibv_destroy_srq>> received_;
  std::mutex mutex_;
  std::map<BellId, const Alarm*> alarms_;
};

}  // namespace granary::rdma::verbs
