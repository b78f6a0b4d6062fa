#pragma once
// The thread of a service, the backstop: works while there is something to do that no worker does, then sleeps.

#include <atomic>
#include <cstdint>
#include <thread>

#include "rdma/mailbox/sleeper.h"
#include "src/cluster/messages/door.h"
#include "src/cluster/messages/service.h"
#include "src/txn/worker_core.h"

namespace granary::cluster::messages {

class ServiceThread {
 public:
  /// `worker`: the owner's. `sleeps_at`: an endpoint for this thread alone (ServicePlace). From now on, and until this ends, the thread works
  /// with the service and the worker while it is inside of the door.
  ServiceThread(Service& service, Door& door, rdma::Endpoint& sleeps_at, txn::WorkerCore& worker);
  ~ServiceThread();
  ServiceThread(const ServiceThread&) = delete;
  ServiceThread& operator=(const ServiceThread&) = delete;

  /// Times that it went to sleep. Any thread.
  std::uint64_t sleeps() const { return sleeps_.load(std::memory_order_relaxed); }

 private:
  void run();
  bool step();
  bool look_once_more();

  Service& service_;
  Door& door_;
  rdma::Endpoint& sleeps_at_;
  txn::WorkerCore& worker_;
  rdma::mailbox::Sleeper sleeper_;
  bool left_to_workers_ = false;          // at the last step: all answers are out, and workers look at the rings
  std::atomic<bool> stopping_{false};     // set by the destructor (release), read by the thread (acquire)
  std::atomic<std::uint64_t> sleeps_{0};  // written by the thread, relaxed
  std::thread thread_;
};

}  // namespace granary::cluster::messages
