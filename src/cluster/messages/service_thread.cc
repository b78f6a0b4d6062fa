#include "src/cluster/messages/service_thread.h"

#include "src/base/tsc_clock.h"

namespace granary::cluster::messages {

using rdma::mailbox::Sleeper;

ServiceThread::ServiceThread(Service& service, Door& door, rdma::Endpoint& sleeps_at, txn::WorkerCore& worker)
    : service_(service),
      door_(door),
      sleeps_at_(sleeps_at),
      worker_(worker),
      sleeper_(sleeps_at, service.receivers(), [this] { return look_once_more(); }),
      thread_([this] { run(); }) {}

ServiceThread::~ServiceThread() {
  stopping_.store(true, std::memory_order_release);
  sleeps_at_.rouse();
  thread_.join();
}

/// False if there was nothing to do; also if a worker is inside, which rouses this thread afterwards.
bool ServiceThread::step() {
  if (!door_.enter_or_ask()) return false;
  const bool any = service_.step(base::monotonic_us());
  const std::uint64_t most_us = service_.most_sleep_us();
  if (!any) sleeper_.limit(most_us);
  left_to_workers_ = most_us == Sleeper::kMostSleep_us && service_.attended();
  door_.leave_as_backstop();
  return any;
}

bool ServiceThread::look_once_more() {
  if (!door_.enter_or_ask()) return false;
  const bool any = service_.has_something();
  door_.leave_as_backstop();
  return any;
}

/// While workers look at the rings it goes to sleep at once, and leaves to them what comes next; but not before all answers are out.
void ServiceThread::run() {
  worker_.attach();
  for (std::uint32_t turn = 0; !stopping_.load(std::memory_order_acquire);) {
    if (step()) {
      turn = 0;
      continue;
    }
    sleeper_.pause(left_to_workers_ ? Sleeper::kSpins : turn++);
    sleeps_.store(sleeper_.counts().sleeps, std::memory_order_relaxed);
  }
  worker_.detach();
}

}  // namespace granary::cluster::messages
