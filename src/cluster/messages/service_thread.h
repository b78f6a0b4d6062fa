#pragma once
// The thread of a service: works while there is something to do, then sleeps at its endpoint.

#include <atomic>
#include <cstdint>
#include <thread>

#include "rdma/mailbox/sleeper.h"
#include "src/cluster/messages/service.h"
#include "src/txn/worker_core.h"

namespace granary::cluster::messages {

class ServiceThread {
 public:
  /// `worker`: the owner's. From now on, and until this ends, the thread has service, endpoint and worker for itself.
  ServiceThread(Service& service, rdma::Endpoint& endpoint, txn::WorkerCore& worker);
  ~ServiceThread();
  ServiceThread(const ServiceThread&) = delete;
  ServiceThread& operator=(const ServiceThread&) = delete;

  /// Times that it went to sleep. Any thread.
  std::uint64_t sleeps() const { return sleeps_.load(std::memory_order_relaxed); }

 private:
  void run();

  Service& service_;
  rdma::Endpoint& endpoint_;
  txn::WorkerCore& worker_;
  rdma::mailbox::Sleeper sleeper_;
  std::atomic<bool> stopping_{false};     // set by the destructor (release), read by the thread (acquire)
  std::atomic<std::uint64_t> sleeps_{0};  // written by the thread, relaxed
  std::thread thread_;
};

}  // namespace granary::cluster::messages
