#include "bench/store/two_pc/server.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <array>

#include "bench/store/two_pc/work.h"

namespace granary::bench::two_pc {

Result<std::unique_ptr<Server>> Server::start(const std::string& address, Rows& rows) {
  Entry entry{.address = address};
  auto listener = listen_at(address, &entry.port);
  if (!listener.ok()) return listener.status();
  const Result<Token> token = new_token();
  if (!token.ok()) return token.status();
  entry.token = *token;
  return std::unique_ptr<Server>(new Server(std::move(entry), std::move(*listener), rows));
}

Server::Server(Entry entry, Socket listener, Rows& rows)
    : rows_(rows),
      entry_(std::move(entry)),
      listener_(std::move(listener)),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      end_(::eventfd(0, EFD_CLOEXEC)) {
  for (const int descriptor : {listener_.get(), end_.get()}) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = descriptor;
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event);
  }
  thread_ = std::thread([this] { serve(); });
}

Server::~Server() {
  static_cast<void>(::eventfd_write(end_.get(), 1));
  thread_.join();
}

void Server::serve() {
  std::array<epoll_event, 64> events{};
  while (true) {
    const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), -1);
    for (int i = 0; i < count; ++i) {
      const int descriptor = events[static_cast<std::size_t>(i)].data.fd;
      if (descriptor == end_.get()) return;
      if (descriptor == listener_.get()) {
        accept_all();
      } else if (const auto caller = callers_.find(descriptor); !serve(*caller->second)) {
        callers_.erase(caller);  // closes its descriptor, which epoll then no longer watches
      }
    }
  }
}

void Server::accept_all() {
  for (int made; (made = ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0;) {
    const auto caller = callers_.insert_or_assign(made, std::make_unique<Caller>(Socket(made), rows_)).first;
    if (!watch(*caller->second, EPOLL_CTL_ADD)) callers_.erase(caller);
  }
}

/// Watches a caller's connection. As long as a caller does not take its answers, the server takes no requests of it.
bool Server::watch(const Caller& caller, int operation) {
  epoll_event event{};
  event.events = caller.stream.has_unsent() ? EPOLLOUT : EPOLLIN;
  event.data.fd = caller.stream.descriptor();
  return ::epoll_ctl(epoll_.get(), operation, event.data.fd, &event) == 0;
}

bool Server::serve(Caller& caller) {
  const bool was_full = caller.stream.has_unsent();
  if (!was_full && caller.stream.receive() == Stream::Came::kEnd) return false;
  for (Frame frame; caller.stream.next(frame, caller.known ? kMostBytes : sizeof(Token));) {
    if (!take(caller, frame)) return false;
  }
  if (caller.stream.is_broken() || !caller.stream.flush()) return false;
  return caller.stream.has_unsent() == was_full || watch(caller, EPOLL_CTL_MOD);
}

bool Server::take(Caller& caller, const Frame& frame) {
  if (!caller.known) {
    Parts parts(frame.body);
    return caller.known = frame.kind == Kind::kHello && parts.take<Token>() == entry_.token;
  }
  if (!do_work(caller.branch, frame.kind, frame.body, answer_)) return false;
  if (is_answered(frame.kind)) caller.stream.add(Kind::kAnswer, answer_);
  return true;
}

}  // namespace granary::bench::two_pc
