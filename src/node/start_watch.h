#pragma once
// Learns when a node that is still joining, recovering or starting shall give up (ClusterOptions::give_up). It asks in
// a thread of its own, so that it does not matter what the node is busy with.

#include <atomic>
#include <functional>
#include <mutex>
#include <thread>

namespace granary::db {

class StartWatch {
 public:
  /// Begins the watch. Without a `give_up` there is no thread.
  explicit StartWatch(std::function<bool()> give_up);
  ~StartWatch() { end(); }
  StartWatch(const StartWatch&) = delete;
  StartWatch& operator=(const StartWatch&) = delete;

  /// Whether the node shall give up. Thread-safe.
  bool gives_up() const { return gives_up_.load(std::memory_order_acquire); }
  /// Calls `act` once, when the node shall give up: at once if it already shall, or from the thread.
  void on_give_up(std::function<void()> act);
  /// Ends the watch: nothing is asked or called from now on. Only the thread that starts the node calls it.
  void end();

 private:
  void run();

  const std::function<bool()> give_up_;
  std::atomic<bool> gives_up_{false};  ///< set by the thread (release), read by threads that wait (acquire)
  std::atomic<bool> ended_{false};     ///< set by end(), read by the thread; relaxed, as the thread is joined
  std::mutex mutex_;                   ///< guards act_, and that it is called once
  std::function<void()> act_;
  std::thread thread_;
};

}  // namespace granary::db
