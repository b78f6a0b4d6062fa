#include "bench/store/two_pc/server.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>

#include <fmt/format.h>

#include "bench/store/two_pc/work.h"

namespace granary::bench::two_pc {
namespace {

Socket spare_descriptor() { return Socket(::eventfd(0, EFD_CLOEXEC)); }

}  // namespace

Result<std::unique_ptr<Server>> Server::start(const std::string& address, Rows& rows) {
  Entry entry{.address = address};
  auto listener = listen_at(address, &entry.port);
  if (!listener.ok()) return listener.status();
  const Result<Token> token = new_token();
  if (!token.ok()) return token.status();
  entry.token = *token;
  Waiting waiting{.listener = std::move(*listener),
                  .epoll = Socket(::epoll_create1(EPOLL_CLOEXEC)),
                  .end = Socket(::eventfd(0, EFD_CLOEXEC)),
                  .spare = spare_descriptor()};
  if (Status watched = watch(waiting); !watched.ok()) return watched;
  return std::unique_ptr<Server>(new Server(std::move(entry), std::move(waiting), rows));
}

Status Server::watch(const Waiting& waiting) {
  bool watched = waiting.spare.get() >= 0;
  for (const int descriptor : {waiting.listener.get(), waiting.end.get()}) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = descriptor;
    watched = watched && ::epoll_ctl(waiting.epoll.get(), EPOLL_CTL_ADD, descriptor, &event) == 0;
  }
  if (watched) return {};
  return Status(StatusCode::kUnavailable,
                fmt::format("cannot wait for callers: {}; raise `ulimit -n`", std::strerror(errno)));
}

Server::Server(Entry entry, Waiting waiting, Rows& rows)
    : rows_(rows),
      entry_(std::move(entry)),
      waiting_(std::move(waiting)),
      thread_([this] { serve(); }) {}

Server::~Server() {
  static_cast<void>(::eventfd_write(waiting_.end.get(), 1));
  thread_.join();
}

void Server::serve() {
  std::array<epoll_event, 64> events{};
  while (true) {
    const int count = ::epoll_wait(waiting_.epoll.get(), events.data(), static_cast<int>(events.size()), -1);
    for (int i = 0; i < count; ++i) {
      const int descriptor = events[static_cast<std::size_t>(i)].data.fd;
      if (descriptor == waiting_.end.get()) return;
      if (descriptor == waiting_.listener.get()) {
        accept_all();
      } else if (const auto caller = callers_.find(descriptor); !serve(*caller->second)) {
        callers_.erase(caller);  // closes its descriptor, which epoll then no longer watches
      }
    }
  }
}

void Server::accept_all() {
  for (int made; (made = ::accept4(waiting_.listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0;) {
    const auto caller = callers_.insert_or_assign(made, std::make_unique<Caller>(Socket(made), rows_)).first;
    if (!watch(*caller->second, EPOLL_CTL_ADD)) callers_.erase(caller);
  }
  if (errno == EMFILE || errno == ENFILE) refuse_one();
}

/// Accepts a caller for which there is no descriptor, and drops it: it sees the end of its connection, and epoll does
/// not tell of it again and again. If other threads take the spare descriptor in between, epoll tells of it after a
/// rest.
void Server::refuse_one() {
  waiting_.spare = Socket();
  if (Socket(::accept4(waiting_.listener.get(), nullptr, nullptr, SOCK_CLOEXEC)).get() < 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  waiting_.spare = spare_descriptor();
}

/// Watches a caller's connection. As long as a caller does not take its answers, the server takes no requests of it.
bool Server::watch(const Caller& caller, int operation) {
  epoll_event event{};
  event.events = caller.stream.has_unsent() ? EPOLLOUT : EPOLLIN;
  event.data.fd = caller.stream.descriptor();
  return ::epoll_ctl(waiting_.epoll.get(), operation, event.data.fd, &event) == 0;
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
