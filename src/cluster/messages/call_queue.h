#pragma once
// Procedure calls of other nodes on their way from the service to workers, and their results on the way back. The queue
// is bounded: a call that does not fit is refused. Procedures may take long, so the service does not run them itself.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "src/cluster/messages/requests.h"

namespace granary::cluster::messages {

/// Thread-safe.
class CallQueue {
 public:
  /// Names a call for the service.
  struct Ticket {
    std::size_t link = 0;
    std::uint64_t session = 0;
    std::uint64_t call = 0;
  };
  struct Job {
    Ticket ticket;
    std::string procedure;
    std::string arguments;
  };
  struct Finished {
    Ticket ticket;
    std::string result;
  };

  /// At most so many calls wait for a worker.
  explicit CallQueue(std::size_t most_waiting) : most_waiting_(most_waiting) {}

  // Workers.
  /// The next call, waiting for one; nothing if the time was up.
  std::optional<Job> wait(std::uint64_t timeout_us);
  /// Ends a job with its result. Must be called once for every job that was taken.
  void finish(const Job& job, std::string result);

  // The service.
  /// False if too many calls wait.
  bool put(Job job);
  std::vector<Finished> take_finished();
  /// finish() calls it, since the service may sleep, until another function is set. It does not use the queue.
  void set_notify(std::function<void()> notify);

 private:
  const std::size_t most_waiting_;
  std::mutex mutex_;  // guards what follows
  std::function<void()> notify_;
  std::condition_variable arrived_;
  std::deque<Job> waiting_;
  std::vector<Finished> finished_;
};

}  // namespace granary::cluster::messages
