#pragma once
// Runs the procedures that other nodes call here, with threads of the node's own, and finishes calls of chains that
// were left half done.

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

/// Returns the outcome of a call as the bytes of its answer: the run's result and the reply, or the error.
std::string encode_call_result(const Result<RunResult>& result, const std::string& reply);
/// Returns what encode_call_result() has encoded; kUnavailable if the bytes cannot be understood.
Result<RunResult> decode_call_result(std::string_view bytes, std::string& reply);

class CallWorkers {
 public:
  CallWorkers(cluster::messages::CallQueue& queue, const Procedures& procedures,
              std::vector<std::unique_ptr<ClusterThread>> workers);
  ~CallWorkers();
  CallWorkers(const CallWorkers&) = delete;
  CallWorkers& operator=(const CallWorkers&) = delete;

  /// Starts the threads; throws std::system_error if the system refuses one. Called once.
  void begin();
  /// Has the threads end: each still runs a call that it has taken. Waits a second for them; returns false if one may
  /// take longer.
  bool end();

 private:
  void run(ClusterThread& mine);
  void finish_left(ClusterThread& mine, bool idle);
  Result<RunResult> call(ClusterThread& mine, const cluster::messages::CallQueue::Job& job, std::string& reply) const;

  cluster::messages::CallQueue& queue_;
  const Procedures& procedures_;
  const std::vector<std::unique_ptr<ClusterThread>> workers_;
  /// When calls that were left half done were tried last, by the steady clock. The thread whose CAS moves it on tries
  /// them; relaxed, as nothing else is read by it.
  std::atomic<std::int64_t> tried_us_{0};
  std::atomic<bool> stopping_{false};  // set by end() and the destructor, read by the threads; relaxed: only a signal
  /// How many threads have not ended. begin() counts them before anybody may ask them to end. Each counts itself down
  /// (release), and end() reads (acquire).
  std::atomic<std::size_t> running_{0};
  std::vector<std::thread> threads_;
};

}  // namespace granary::db
