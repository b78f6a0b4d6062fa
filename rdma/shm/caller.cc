#include "rdma/shm/caller.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "rdma/shm/watched_memory.h"

namespace granary::rdma::shm {
namespace {

using Clock = Caller::Clock;

/// Waits for the node's next packet.
Result<ReceivedHello> hear(int socket, NodeId node, Clock::time_point end) {
  const auto left = std::chrono::duration_cast<std::chrono::microseconds>(end - Clock::now()).count();
  if (!wait_readable(socket, static_cast<std::uint64_t>(std::max<std::int64_t>(left, 0)))) {
    return Status(StatusCode::kUnavailable, fmt::format("node {} does not answer; is it stopped?", node));
  }
  return receive_hello(socket);
}

}  // namespace

Result<std::shared_ptr<Peer>> Caller::greet(const std::string& path, NodeId node, Clock::time_point end) const {
  Result<Descriptor> socket = connect_to(path);
  if (!socket.ok()) {
    return Status(socket.status().code(), fmt::format("node {} is not there: {}", node, socket.status().message()));
  }
  if (Status status = ask(socket->get(), node, end); !status.ok()) return status;
  Result<ReceivedHello> received = hear(socket->get(), node, end);
  const Status heard = received.ok() ? check_answerer(received->hello, node) : received.status();
  if (!heard.ok()) {
    say_farewell(socket->get());  // this process is a guest there since it has proved its key
    return heard;
  }
  return Peer::map(std::move(received).value(), std::move(socket).value(), holder_of(hello_.node, hello_.generation));
}

/// Greets the node, and proves the key once the node has proved that it has it.
Status Caller::ask(int socket, NodeId node, Clock::time_point end) const {
  if (const unsigned user = peer_of(socket).user; user != ::geteuid()) {
    return Status(StatusCode::kFailedPrecondition,
                  fmt::format("user {} listens in the place of node {}, not user {}", user, node, ::geteuid()));
  }
  Hello mine = hello_;
  mine.region_count = mine.passes_process = 0;
  make_fresh(mine.challenge);
  if (Status status = send_hello(socket, mine, {}); !status.ok()) return status;
  const Result<ReceivedHello> reply = hear(socket, node, end);
  if (!reply.ok()) return reply.status();
  if (Status status = check_answerer(reply->hello, node); !status.ok()) return status;
  const ClusterKey& key = mine_.key;
  if (!equal(reply->hello.proof, proof_of(key, Side::kAnswerer, mine, reply->hello))) {
    return Status(StatusCode::kFailedPrecondition,
                  fmt::format("node {} has another cluster key than node {}, or one of them has none; give both the "
                              "same key file",
                              node, hello_.node));
  }
  mine.proof = proof_of(key, Side::kCaller, mine, reply->hello);
  mine.passes_process = 1;
  return send_hello(socket, mine, {self_.handle()});
}

Status Caller::check_answerer(const Hello& theirs, NodeId node) const {
  if (Status status = check_compatible(hello_, theirs); !status.ok()) return status;
  if (theirs.node != node) {
    return Status(StatusCode::kFailedPrecondition,
                  fmt::format("node {} answers in the place of node {}", theirs.node, node));
  }
  if (theirs.kind == HelloKind::kCutOff) return CutLives::refused(mine_, node);
  if (theirs.kind != HelloKind::kGreeting) {
    return Status(StatusCode::kFailedPrecondition,
                  fmt::format("node {} refuses: it cannot tell that this is process {}, and so could not end it; a "
                              "process that forks opens its fabric afterwards",
                              node, self_.number()));
  }
  if (cut_lives_.contains(node, theirs.generation)) return CutLives::answered(node, theirs.generation);
  return {};
}

}  // namespace granary::rdma::shm
