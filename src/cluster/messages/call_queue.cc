#include "src/cluster/messages/call_queue.h"

#include <chrono>
#include <utility>

namespace granary::cluster::messages {

std::optional<CallQueue::Job> CallQueue::wait(std::uint64_t timeout_us) {
  std::unique_lock lock(mutex_);
  arrived_.wait_for(lock, std::chrono::microseconds(timeout_us), [this] { return !waiting_.empty(); });
  if (waiting_.empty()) return {};
  std::optional<Job> job = std::move(waiting_.front());
  waiting_.pop_front();
  return job;
}

void CallQueue::finish(const Job& job, std::string result) {
  const std::lock_guard lock(mutex_);
  finished_.push_back({job.ticket, std::move(result)});
  if (notify_) notify_();
}

void CallQueue::set_notify(std::function<void()> notify) {
  const std::lock_guard lock(mutex_);
  notify_ = std::move(notify);
}

bool CallQueue::put(Job job) {
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() >= most_waiting_) return false;
    waiting_.push_back(std::move(job));
  }
  arrived_.notify_one();
  return true;
}

std::vector<CallQueue::Finished> CallQueue::take_finished() {
  const std::lock_guard lock(mutex_);
  return std::exchange(finished_, {});
}

}  // namespace granary::cluster::messages
