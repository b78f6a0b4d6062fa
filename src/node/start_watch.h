#pragma once
// Hears when a node that is still joining, recovering or starting is to give up (ClusterOptions::give_up). The question is asked by a
// thread of its own, so that it does not matter what the node is busy with.

#include <atomic>
#include <functional>
#include <mutex>
#include <thread>

namespace granary::db {

class StartWatch {
 public:
  /// No thread if `give_up` is empty.
  explicit StartWatch(std::function<bool()> give_up);
  ~StartWatch() { end(); }
  StartWatch(const StartWatch&) = delete;
  StartWatch& operator=(const StartWatch&) = delete;

  /// Whether the node is to give up. Thread-safe.
  bool gives_up() const { return gives_up_.load(std::memory_order_acquire); }
  /// Calls `act` once the node is to give up: now, if it is already, or from the thread.
  void on_give_up(std::function<void()> act);
  /// Nobody is asked and nothing called from now on. For the thread that starts the node.
  void end();

 private:
  void run();

  const std::function<bool()> give_up_;
  std::atomic<bool> gives_up_{false};  ///< set by the thread, release; read by whoever waits, acquire
  std::atomic<bool> ended_{false};     ///< set by end(), read by the thread; relaxed, as the thread is joined
  std::mutex mutex_;                   ///< guards act_, and that it is called once
  std::function<void()> act_;
  std::thread thread_;
};

}  // namespace granary::db
