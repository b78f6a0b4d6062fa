#pragma once
// Threads that run the procedures which other nodes call here, and finish calls of chains that were left half done.

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <granary/procedure.h>

#include "src/node/cluster_thread.h"
#include "src/cluster/messages/call_queue.h"

namespace granary::db {

/// The outcome of a call, as bytes of its answer: the run's result and the reply, or the error.
std::string encode_call_result(const Result<RunResult>& result, const std::string& reply);
/// kUnavailable if the bytes are no such thing.
Result<RunResult> decode_call_result(std::string_view bytes, std::string& reply);

class CallWorkers {
 public:
  CallWorkers(cluster::messages::CallQueue& queue, const Procedures& procedures,
              std::vector<std::unique_ptr<ClusterThread>> workers);
  ~CallWorkers();
  CallWorkers(const CallWorkers&) = delete;
  CallWorkers& operator=(const CallWorkers&) = delete;

  /// Starts the threads; std::system_error if the system refuses one. Once.
  void begin();
  /// No call is begun any more. Waits a second for those that are under way; false if one may take longer.
  bool end();

 private:
  void run(ClusterThread& mine);
  void finish_left(ClusterThread& mine, bool idle);
  Result<RunResult> call(ClusterThread& mine, const cluster::messages::CallQueue::Job& job, std::string& reply) const;

  cluster::messages::CallQueue& queue_;
  const Procedures& procedures_;
  const std::vector<std::unique_ptr<ClusterThread>> workers_;
  /// When calls that were left half done were tried last, by the steady clock. The thread that moves it on (relaxed)
  /// tries them.
  std::atomic<std::int64_t> tried_us_{0};
  std::atomic<bool> stopping_{false};  // set by end(), read by the threads
  /// Threads that have not ended. begin() counts them, before anybody may ask them to end; each counts itself down
  /// (release), end() reads (acquire).
  std::atomic<std::size_t> running_{0};
  std::vector<std::thread> threads_;
};

}  // namespace granary::db
