#include "bench/store/two_pc/peers.h"

#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>

#include "src/base/tsc_clock.h"

namespace granary::bench::two_pc {

namespace {

constexpr time_t kPatience_s = 30;  // a node that has not answered for so long counts as lost
constexpr int kPings = 20;

}  // namespace

Peers::~Peers() {
  std::vector<Call> calls;
  for (std::uint32_t node = 0; node < connections_.size(); ++node) {
    if (connections_[node].stream) calls.push_back({.node = node, .kind = Kind::kPing});
  }
  static_cast<void>(ask(calls));
}

bool Peers::ask(std::span<Call> calls) {
  for (const Call& call : calls) connected(call.node);
  const std::uint64_t start = base::monotonic_ns();
  bool all = true;
  for (const Call& call : calls) {
    Stream* const stream = connected(call.node);
    if (stream == nullptr) continue;
    stream->add(call.kind, call.body);
    if (!stream->flush()) lose(call.node);
    ++traffic_.messages;
  }
  for (Call& call : calls) {  // takes all answers, even after a failure, as the next call would get those left over
    Stream* const stream = connected(call.node);
    if (stream != nullptr && await(*stream, call.answer)) continue;
    lose(call.node);
    all = false;
  }
  ++traffic_.round_trips;
  traffic_.waited_ns += base::monotonic_ns() - start;
  return all;
}

void Peers::tell(std::uint32_t node, Kind kind) {
  Stream* const stream = connected(node);
  if (stream == nullptr) return;
  stream->add(kind, {});
  if (!stream->flush()) lose(node);
  ++traffic_.messages;
}

Stream* Peers::connected(std::uint32_t node) {
  Connection& connection = connections_[node];
  if (!connection.stream && !connection.lost) {
    Result<Stream> made = connect(node);
    if (made.ok() && ping(*made)) {
      connection.stream.emplace(std::move(*made));
    } else {
      connection.lost = true;
    }
  }
  return connection.stream ? &*connection.stream : nullptr;
}

Result<Stream> Peers::connect(std::uint32_t node) {
  const Result<Entry> entry = book_.read(node);
  if (!entry.ok()) return entry.status();
  Result<Socket> socket = connect_to(entry->address, entry->port);
  if (!socket.ok()) return socket.status();
  const timeval patience{kPatience_s, 0};
  ::setsockopt(socket->get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  Stream stream(std::move(*socket));
  std::string token;
  put(token, entry->token);
  stream.add(Kind::kHello, token);
  return stream;
}

/// Measures how long a round trip takes that asks for nothing. Returns false if the node does not answer.
bool Peers::ping(Stream& stream) {
  std::uint64_t fastest = ~std::uint64_t{0};
  std::string_view answer;
  for (int i = 0; i < kPings; ++i) {
    const std::uint64_t start = base::monotonic_ns();
    stream.add(Kind::kPing, {});
    if (!stream.flush() || !await(stream, answer)) return false;
    fastest = std::min(fastest, base::monotonic_ns() - start);
  }
  ++traffic_.pings;
  traffic_.pinged_ns += fastest;
  return true;
}

bool Peers::await(Stream& stream, std::string_view& answer) {
  Frame frame;
  while (!stream.next(frame)) {
    if (stream.is_broken() || stream.receive() != Stream::Came::kSomething) return false;
  }
  answer = frame.body;
  return true;
}

void Peers::lose(std::uint32_t node) { connections_[node] = {.stream = std::nullopt, .lost = true}; }

}  // namespace granary::bench::two_pc
