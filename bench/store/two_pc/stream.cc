#include "bench/store/two_pc/stream.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

namespace granary::bench::two_pc {

Stream::Stream(Socket socket) : socket_(std::move(socket)) {
  const int yes = 1;
  ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

void Stream::add(Kind kind, std::string_view body) {
  put(out_, Header{static_cast<std::uint32_t>(body.size()), kind});
  out_.append(body);
}

bool Stream::flush() {
  while (!out_.empty()) {
    const ssize_t sent = ::send(socket_.get(), out_.data(), out_.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return errno == EAGAIN;
    out_.erase(0, static_cast<std::size_t>(sent));
  }
  return true;
}

Stream::Came Stream::receive() {
  std::array<char, std::size_t{16} << 10> chunk;
  in_.erase(0, std::exchange(taken_, 0));
  ssize_t came = 0;
  while ((came = ::recv(socket_.get(), chunk.data(), chunk.size(), 0)) < 0 && errno == EINTR) {
  }
  if (came < 0) return errno == EAGAIN ? Came::kNothing : Came::kEnd;
  in_.append(chunk.data(), static_cast<std::size_t>(came));
  return came == 0 ? Came::kEnd : Came::kSomething;
}

bool Stream::next(Frame& frame, std::uint32_t most_bytes) {
  const std::string_view rest = std::string_view(in_).substr(taken_);
  Header header;
  if (rest.size() < sizeof header) return false;
  std::memcpy(&header, rest.data(), sizeof header);
  broken_ = broken_ || header.bytes > most_bytes;
  if (broken_ || rest.size() - sizeof header < header.bytes) return false;
  frame = {header.kind, rest.substr(sizeof header, header.bytes)};
  taken_ += sizeof header + header.bytes;
  return true;
}

}  // namespace granary::bench::two_pc
