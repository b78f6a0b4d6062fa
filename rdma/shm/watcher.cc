#include "rdma/shm/watcher.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>

namespace granary::rdma::shm {

Watcher::Watcher(Descriptor poll, Descriptor alarm) : poll_(std::move(poll)), alarm_(std::move(alarm)) {}

Result<std::unique_ptr<Watcher>> Watcher::create() {
  Descriptor poll(::epoll_create1(EPOLL_CLOEXEC));
  Descriptor alarm(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!poll.open() || !alarm.open()) return system_error(StatusCode::kResourceExhausted, "watch peers");
  std::unique_ptr<Watcher> watcher(new Watcher(std::move(poll), std::move(alarm)));
  watcher->add(watcher->alarm_.get(), [at = watcher.get()] {
    std::uint64_t count = 0;
    (void)!::read(at->alarm_.get(), &count, sizeof count);
  });
  return watcher;
}

void Watcher::add(int fd, Handler handler) {
  const std::lock_guard lock(mutex_);
  handlers_[fd] = std::move(handler);
  epoll_event event{};
  event.events = EPOLLIN | EPOLLRDHUP;
  event.data.fd = fd;
  ::epoll_ctl(poll_.get(), EPOLL_CTL_ADD, fd, &event);
}

void Watcher::remove(int fd) {
  const std::lock_guard lock(mutex_);
  if (handlers_.erase(fd) != 0) ::epoll_ctl(poll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

void Watcher::step(std::uint64_t timeout_us) {
  std::array<epoll_event, 16> events;
  const int timeout_ms = static_cast<int>((timeout_us + 999) / 1000);
  const int count = ::epoll_wait(poll_.get(), events.data(), events.size(), timeout_ms);
  for (int i = 0; i < count; ++i) {
    Handler handler;
    {
      const std::lock_guard lock(mutex_);
      const auto found = handlers_.find(events[static_cast<std::size_t>(i)].data.fd);
      if (found != handlers_.end()) handler = found->second;
    }
    if (handler) handler();
  }
}

void Watcher::wake() {
  const std::uint64_t one = 1;
  (void)!::write(alarm_.get(), &one, sizeof one);
}

}  // namespace granary::rdma::shm
