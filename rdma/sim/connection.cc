#include "rdma/sim/connection.h"

#include <fmt/format.h>

#include <algorithm>

#include "rdma/sim/sim_fabric.h"
#include "src/base/check.h"
#include "src/base/shared_words.h"
#include "src/base/test_hooks.h"

namespace granary::rdma::sim {
namespace {

constexpr const char* kNames[] = {"read", "write", "cas", "add"};

}  // namespace

Connection::Connection(SimNetwork& network, const NodeOptions& from, SimFabric& target, PeerRegions regions)
    : network_(network),
      number_(network.next_connection_number()),
      from_(from.node),
      from_life_(from.generation),
      target_(&target),
      regions_(std::move(regions)) {
  network_.trace(fmt::format("connect {} to {} as c{}", from_, to(), number_));
}

void Connection::post(std::span<const Operation> chain, Signal signal, std::uint64_t tag, std::uint32_t inline_bytes) {
  for (const Operation& operation : chain) {
    post_operation(operation, operation.kind == OperationKind::kWrite && operation.bytes <= inline_bytes);
  }
  chains_.push_back({tag, static_cast<std::uint32_t>(chain.size()), signal});
  const std::uint64_t done = base::injected("completion-before-effect") ? network_.now() : last_end_;
  last_completion_ = std::max(last_completion_, done + network_.some_delay());
  network_.at(last_completion_, [self = shared_from_this(), number = posted_chains_++] {
    if (self->broken_ || self->replies_lost_) return;
    self->chains_[number - self->reported_chains_].done = true;
    self->network_.trace(fmt::format("c{} completes chain {}", self->number_, number));
  });
  if (network_.random().chance(network_.options().loss)) {
    const std::uint64_t when = network_.random().below(last_completion_ - network_.now() + 1);
    network_.at(network_.now() + when, [self = shared_from_this()] { self->break_now("the network lost it"); });
  }
}

/// Returns the time when the first line may move. WRITEs wait for WRITEs, and all other operations for everything.
std::uint64_t Connection::begin_of(const Operation& operation) {
  const std::uint64_t arrives = network_.now() + network_.some_delay();
  const bool fenced = operation.fenced && !base::injected("write-ignores-fence");
  const bool overtakes =
      operation.kind == OperationKind::kWrite && !fenced && network_.random().chance(network_.options().overtake);
  return std::max(arrives, (overtakes ? last_write_end_ : last_end_) + 1);
}

void Connection::post_operation(const Operation& operation, bool copy) {
  const std::uint64_t begin = begin_of(operation);
  base::debug_invariant("I25", [&] {
    const bool may_overtake = operation.kind == OperationKind::kWrite && !operation.fenced;
    return begin > (may_overtake ? last_write_end_ : last_end_);
  });
  const bool torn = operation.kind == OperationKind::kRead && base::injected("torn-header-read");
  const std::uint32_t together = torn ? base::kWord : kLine;
  std::uint64_t end = begin;
  for (std::uint32_t at = 0; at < operation.bytes;) {
    const auto into_line = static_cast<std::uint32_t>((operation.remote.offset + at) % together);
    const std::uint32_t bytes = std::min(operation.bytes - at, together - into_line);
    const std::uint64_t time = begin + network_.random().below(network_.options().tear + 1);
    add_piece(operation, at, bytes, time, copy);
    end = std::max(end, time);
    at += bytes;
  }
  last_end_ = std::max(last_end_, end);
  if (operation.kind == OperationKind::kWrite) last_write_end_ = std::max(last_write_end_, end);
}

void Connection::add_piece(const Operation& operation, std::uint32_t at, std::uint32_t bytes, std::uint64_t time,
                           bool copy) {
  auto piece = std::make_shared<Piece>(Piece{operation, at, bytes, {}});
  if (copy) copy_from_buffer(*piece);
  under_way_.push_back(piece);
  network_.at(time, [self = shared_from_this(), piece] {
    std::erase(self->under_way_, piece);
    self->move(*piece);
  });
}

void Connection::move(Piece& piece) {
  if (network_.now() > cut_ || target_ == nullptr) return;
  const Operation& operation = piece.operation;
  network_.trace(fmt::format("c{} {} {}:{}+{} {}", number_, kNames[static_cast<int>(operation.kind)],
                             operation.remote.region, operation.remote.offset, piece.at, piece.bytes));
  auto* theirs =
      reinterpret_cast<std::uint64_t*>(target_->base(operation.remote.region) + operation.remote.offset + piece.at);
  switch (operation.kind) {
    case OperationKind::kRead: load(theirs, piece); break;
    case OperationKind::kWrite: store(theirs, piece); break;
    case OperationKind::kCompareSwap:
    case OperationKind::kFetchAdd: atomic(theirs, piece); break;
  }
}

void Connection::store(std::uint64_t* theirs, Piece& piece) {
  if (!piece.data) copy_from_buffer(piece);
  if (piece.operation.of_a_byte()) {
    base::store_byte(reinterpret_cast<std::uint8_t*>(theirs), static_cast<std::uint8_t>(piece.data->front()));
    return;
  }
  for (std::size_t i = 0; i < piece.bytes / base::kWord; ++i) base::store_word(theirs + i, (*piece.data)[i]);
}

void Connection::load(const std::uint64_t* theirs, const Piece& piece) {
  if (broken_ || replies_lost_) return;
  auto* mine = static_cast<std::uint64_t*>(piece.operation.local) + piece.at / base::kWord;
  for (std::size_t i = 0; i < piece.bytes / base::kWord; ++i) base::store_word(mine + i, base::load_word(theirs + i));
}

void Connection::atomic(std::uint64_t* theirs, const Piece& piece) {
  const Operation& operation = piece.operation;
  const std::uint64_t old = base::load_word(theirs);
  if (operation.kind == OperationKind::kFetchAdd) {
    base::store_word(theirs, old + operation.operand);
  } else if (old == operation.operand) {
    base::store_word(theirs, operation.desired);
  }
  if (!broken_ && !replies_lost_) base::store_word(static_cast<std::uint64_t*>(operation.local), old);
}

void Connection::copy_from_buffer(Piece& piece) {
  piece.data.emplace();
  if (piece.operation.of_a_byte()) {
    piece.data->front() = *static_cast<const std::uint8_t*>(piece.operation.local);
    return;
  }
  const auto* mine = static_cast<const std::uint64_t*>(piece.operation.local) + piece.at / base::kWord;
  for (std::size_t i = 0; i < piece.bytes / base::kWord; ++i) (*piece.data)[i] = base::load_word(mine + i);
}

void Connection::ring(BellId bell) {
  last_write_end_ = std::max(network_.now() + network_.some_delay(), last_write_end_ + 1);
  last_end_ = std::max(last_end_, last_write_end_);
  network_.at(last_write_end_, [self = shared_from_this(), bell] {
    if (self->network_.now() > self->cut_ || self->target_ == nullptr) return;
    self->network_.trace(fmt::format("c{} rings {}", self->number_, bell));
    self->target_->ring(bell);
  });
}

std::optional<Connection::Report> Connection::take_report() {
  if (!has_report()) return {};
  const Chain chain = chains_.front();
  chains_.pop_front();
  ++reported_chains_;
  return Report{chain.tag, chain.operations, chain.signal,
                chain.done ? CompletionStatus::kDone : CompletionStatus::kBroken};
}

void Connection::break_now(const std::string& why) {
  if (broken_) return;
  broken_ = true;
  why_broken_ = why;
  const std::uint64_t left = last_end_ > network_.now() ? last_end_ - network_.now() : 0;
  cut_ = std::min(cut_, network_.now() + network_.random().below(2 * left + 1));  // all of it survives every other time
  network_.trace(fmt::format("c{} breaks: {}; cut at {}", number_, why, cut_));
  for (const auto& piece : under_way_) {  // the initiator may use its buffers again
    if (piece->operation.kind == OperationKind::kWrite && !piece->data) copy_from_buffer(*piece);
  }
}

void Connection::sever() {
  if (!base::injected("broken-goes-on")) cut_ = std::min(cut_, network_.now());
}

void Connection::lose_requests() {
  sever();
  notice_later("the link is down");
}

void Connection::lose_replies() {
  replies_lost_ = true;
  notice_later("the link is down");
}

/// Ends all effects of the operations, and with them their completions.
void Connection::target_gone(const std::string& why) {
  target_ = nullptr;
  replies_lost_ = true;
  notice_later(why);
}

void Connection::cut_off_here() {
  target_ = nullptr;
  break_now("its life is cut off");
}

void Connection::notice_later(const std::string& why) {
  const std::uint64_t when = network_.now() + network_.random().below(network_.options().most_notice);
  network_.at(when, [self = shared_from_this(), why] { self->break_now(why); });
}

}  // namespace granary::rdma::sim
