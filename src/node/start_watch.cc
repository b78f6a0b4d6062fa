#include "src/node/start_watch.h"

#include <chrono>
#include <utility>

#include "src/base/threads.h"

namespace granary::db {

StartWatch::StartWatch(std::function<bool()> give_up) : give_up_(std::move(give_up)) {
  if (give_up_) thread_ = std::thread([this] { run(); });
}

void StartWatch::run() {
  base::name_thread("gr-start-watch");
  constexpr auto kPause = std::chrono::milliseconds(20);
  for (; !ended_.load(std::memory_order_relaxed); std::this_thread::sleep_for(kPause)) {
    if (!give_up_()) continue;
    const std::lock_guard lock(mutex_);
    gives_up_.store(true, std::memory_order_release);
    if (act_) act_();
    return;
  }
}

void StartWatch::on_give_up(std::function<void()> act) {
  const std::lock_guard lock(mutex_);
  act_ = std::move(act);
  if (gives_up()) act_();
}

void StartWatch::end() {
  ended_.store(true, std::memory_order_relaxed);
  if (thread_.joinable()) thread_.join();
}

}  // namespace granary::db
