#include "rdma/shm/hello.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <cstring>

namespace granary::rdma::shm {
namespace {

constexpr std::size_t kControlBytes = CMSG_SPACE(sizeof(int) * (1 + kMostRegions));

std::vector<Descriptor> take_files(msghdr& message) {
  std::vector<Descriptor> files;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof fd);
      files.emplace_back(fd);
    }
  }
  return files;
}

Status refuse(const char* why) {
  return Status(StatusCode::kFailedPrecondition, fmt::format("what answers is no Granary node of this kind: {}", why));
}

}  // namespace

std::array<std::uint16_t, 3> Hello::Region::pack_address(const char* base) {
  const std::uint64_t units = reinterpret_cast<std::uintptr_t>(base) >> kAddressShift;
  return {static_cast<std::uint16_t>(units), static_cast<std::uint16_t>(units >> 16),
          static_cast<std::uint16_t>(units >> 32)};
}

std::uint64_t Hello::Region::unpack_address() const {
  const std::uint64_t units = address[0] | std::uint64_t{address[1]} << 16 | std::uint64_t{address[2]} << 32;
  return units << kAddressShift;
}

Status send_hello(int socket, const Hello& hello, const std::vector<int>& files) {
  alignas(cmsghdr) char control[kControlBytes] = {};
  iovec bytes{const_cast<Hello*>(&hello), sizeof hello};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  if (!files.empty()) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(sizeof(int) * files.size());
    cmsghdr* part = CMSG_FIRSTHDR(&message);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(sizeof(int) * files.size());
    std::memcpy(CMSG_DATA(part), files.data(), sizeof(int) * files.size());
  }
  if (::sendmsg(socket, &message, MSG_NOSIGNAL) != static_cast<ssize_t>(sizeof hello)) {
    return system_error(StatusCode::kUnavailable, "greet the peer");
  }
  return {};
}

void say_farewell(int socket) {
  Hello farewell;
  farewell.kind = HelloKind::kFarewell;
  (void)send_hello(socket, farewell, {});
}

Result<ReceivedHello> receive_hello(int socket) {
  alignas(cmsghdr) char control[kControlBytes] = {};
  ReceivedHello received;
  iovec bytes{&received.hello, sizeof received.hello};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t size = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  if (size < 0) return system_error(StatusCode::kUnavailable, "hear the peer's greeting");
  received.files = take_files(message);
  if (size == 0) return Status(StatusCode::kUnavailable, "the peer hung up instead of greeting");
  if (static_cast<std::size_t>(size) != sizeof(Hello) || (message.msg_flags & MSG_TRUNC) != 0)
    return refuse("its greeting has another size");
  if ((message.msg_flags & MSG_CTRUNC) != 0) {
    return Status(StatusCode::kUnavailable,
                  "the peer passes files that this process may not open any more: raise its limit of open files "
                  "(ulimit -n)");
  }
  if (received.hello.magic != Hello{}.magic) return refuse("its greeting begins otherwise");
  const Hello& hello = received.hello;
  if (hello.kind > HelloKind::kFarewell) return refuse("its packet is of a kind that this release does not know");
  if (hello.region_count > kMostRegions || hello.passes_process > 1 ||
      received.files.size() != std::size_t{hello.passes_process} + hello.region_count) {
    return refuse("it does not pass a file for its process and each region");
  }
  if (hello.passes_process == 1) {
    received.process = std::move(received.files.front());
    received.files.erase(received.files.begin());
  }
  return received;
}

Status check_compatible(const Hello& mine, const Hello& theirs) {
  if (mine.version != theirs.version) {
    return Status(
        StatusCode::kFailedPrecondition,
        fmt::format("node {} speaks version {} of the shared-memory protocol, node {} speaks version {}; run the "
                    "same Granary on both",
                    theirs.node, theirs.version, mine.node, mine.version));
  }
  if (mine.layout != theirs.layout) {
    return Status(StatusCode::kFailedPrecondition,
                  fmt::format("node {} has memory layout {:#x}, node {} has {:#x}; run the same Granary with the same "
                              "cluster file on both",
                              theirs.node, theirs.layout, mine.node, mine.layout));
  }
  return {};
}

Proof proof_of(const ClusterKey& key, Side side, const Hello& caller, const Hello& answerer) {
  Hello one = caller, other = answerer;
  one.proof = other.proof = {};
  return prove(key, side, {bytes_of(one), bytes_of(other)});
}

}  // namespace granary::rdma::shm
