#include "rdma/verbs/cm_events.h"

#include <fcntl.h>
#include <poll.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "src/base/threads.h"
#include "src/base/tsc_clock.h"

namespace granary::rdma::verbs {

Status cm_error(const std::string& what) {
  return Status(StatusCode::kUnavailable, fmt::format("cannot {}: {}", what, std::strerror(errno)));
}

Channel open_channel() {
  Channel channel(rdma_create_event_channel());
  if (channel == nullptr || ::fcntl(channel->fd, F_SETFL, O_NONBLOCK) != 0) return nullptr;
  return channel;
}

CmEvent next_event(rdma_event_channel* channel, std::uint64_t deadline_us) {
  while (true) {
    const std::uint64_t now = base::monotonic_us();
    pollfd waiting{.fd = channel->fd, .events = POLLIN, .revents = 0};
    const int left_ms = now >= deadline_us ? 0 : static_cast<int>((deadline_us - now + 999) / 1000);
    rdma_cm_event* event = nullptr;
    if (::poll(&waiting, 1, left_ms) > 0 && rdma_get_cm_event(channel, &event) == 0) return CmEvent(event);
    if (left_ms == 0) return nullptr;
  }
}

EventThread::EventThread(rdma_event_channel* channel, std::function<void()> after_each, int descriptor,
                         std::function<void()> answer, Alarm wake)
    : channel_(channel),
      after_each_(std::move(after_each)),
      descriptor_(descriptor),
      answer_(std::move(answer)),
      wake_(std::move(wake)),
      thread_([this] { run(); }) {}

EventThread::~EventThread() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.raise();
  thread_.join();
}

void EventThread::call(const std::function<void()>& task) {
  std::packaged_task<void()> call([&] {
    task();
    after_each_();
  });
  const std::future<void> done = call.get_future();
  {
    const std::lock_guard lock(mutex_);
    calls_.push_back(std::move(call));
  }
  wake_.raise();
  done.wait();
}

void EventThread::run() {
  base::name_thread("gr-fabric");
  while (true) {
    pollfd waiting[3] = {{.fd = channel_->fd, .events = POLLIN, .revents = 0},
                         {.fd = descriptor_, .events = POLLIN, .revents = 0},
                         {.fd = wake_.descriptor(), .events = POLLIN, .revents = 0}};
    if (::poll(waiting, 3, -1) < 0) continue;
    if (waiting[2].revents != 0 && !run_calls()) return;
    if (waiting[1].revents != 0) answer_();
    if (waiting[0].revents != 0) take_event();
  }
}

bool EventThread::run_calls() {
  wake_.clear();
  std::vector<std::packaged_task<void()>> calls;
  {
    const std::lock_guard lock(mutex_);
    if (ending_) return false;
    calls.swap(calls_);
  }
  for (std::packaged_task<void()>& call : calls) call();
  return true;
}

void EventThread::take_event() {
  rdma_cm_event* raw = nullptr;
  if (rdma_get_cm_event(channel_, &raw) != 0) return;
  {
    const CmEvent event(raw);
    // The id of a request is new, and has inherited its listener's context.
    static_cast<CmTarget*>(event->id->context)->on_event(*event);
  }
  after_each_();
}

}  // namespace granary::rdma::verbs
