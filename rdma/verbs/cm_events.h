#pragma once
// Takes events of rdma_cm off their channel, in a thread that hands them to the connections which they are about.

#include <rdma/rdma_cma.h>

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <granary/status.h>

#include "rdma/verbs/alarm.h"

namespace granary::rdma::verbs {

struct CloseChannel {
  void operator()(rdma_event_channel* channel) const { rdma_destroy_event_channel(channel); }
};
using Channel = std::unique_ptr<rdma_event_channel, CloseChannel>;
/// Opens a channel on which taking an event never waits. Returns none on an error, with the reason in errno. A readable
/// channel promises no event: an id that is destroyed, or moved to another channel, takes its events along.
Channel open_channel();

/// Destroys the id, and before it its queue pair, if there is one. Waits until all events of the id have been
/// acknowledged.
struct CloseId {
  void operator()(rdma_cm_id* id) const {
    if (id->qp != nullptr) rdma_destroy_qp(id);
    rdma_destroy_id(id);
  }
};
using CmId = std::unique_ptr<rdma_cm_id, CloseId>;

struct AckEvent {
  void operator()(rdma_cm_event* event) const { rdma_ack_cm_event(event); }
};
using CmEvent = std::unique_ptr<rdma_cm_event, AckEvent>;

/// Returns "cannot WHAT: the reason in errno", kUnavailable.
Status cm_error(const std::string& what);

/// Gets the events of an id, whose context points to it once the events are the thread's.
class CmTarget {
 public:
  virtual ~CmTarget() = default;
  /// Is called by the thread. The id cannot be destroyed meanwhile.
  virtual void on_event(const rdma_cm_event& event) = 0;
};

/// Takes events off a channel in a thread of its own until it is destroyed.
class EventThread {
 public:
  /// `after_each` is called when an event has been acknowledged, and may destroy ids. `answer` is called when
  /// `descriptor` is readable. `wake` is raised for a call, and to end the thread.
  EventThread(rdma_event_channel* channel, std::function<void()> after_each, int descriptor,
              std::function<void()> answer, Alarm wake);
  ~EventThread();

  /// Runs `task` in the thread, and `after_each` after it. Returns when both have run. Any other thread calls it.
  void call(const std::function<void()>& task);

 private:
  void run();
  void take_event();
  /// Runs the calls. Returns false if the thread is to end.
  bool run_calls();

  rdma_event_channel* const channel_;
  const std::function<void()> after_each_;
  const int descriptor_;
  const std::function<void()> answer_;
  const Alarm wake_;
  std::mutex mutex_;
  std::vector<std::packaged_task<void()>> calls_;
  bool ending_ = false;
  std::thread thread_;
};

/// Returns the next event of a channel. Waits at most until `deadline_us` of base::monotonic_us(), and returns none if
/// the time is up.
CmEvent next_event(rdma_event_channel* channel, std::uint64_t deadline_us);

}  // namespace granary::rdma::verbs
