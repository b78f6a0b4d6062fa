#pragma once
// Steps a membership in a thread as long as this object lives. The listener's calls come from that thread.

#include <atomic>
#include <thread>

#include "cluster_config/membership/membership.h"
#include "src/base/threads.h"

namespace granary::membership {

class MembershipThread {
 public:
  explicit MembershipThread(Membership& membership) : membership_(membership), thread_([this] { run(); }) {}
  ~MembershipThread() {
    stopping_.store(true, std::memory_order_release);  // run() acquires it
    membership_.wake();
    thread_.join();
  }
  MembershipThread(const MembershipThread&) = delete;
  MembershipThread& operator=(const MembershipThread&) = delete;

 private:
  void run() {
    base::name_thread("gr-membership");
    while (!stopping_.load(std::memory_order_acquire)) membership_.step(kForever);
  }

  Membership& membership_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace granary::membership
