// How procedures run, in one transaction or in a chain of them.

#include <cstring>
#include <vector>

#include <granary/procedure.h>

#include "src/txn/chopping/chopping.h"

namespace granary {
namespace {

/// A copy of bytes, aligned as any plain struct.
std::unique_ptr<std::byte[]> copy_of(const void* bytes, std::size_t size) {
  auto copy = std::make_unique<std::byte[]>(size);
  std::memcpy(copy.get(), bytes, size);
  return copy;
}

/// Of the pieces after the first: what others do passes, and what does not is for the operator.
constexpr RetryPolicy kFollowing{.patience_us = 10'000'000};

std::string string_of(const void* bytes, std::size_t size) { return {static_cast<const char*>(bytes), size}; }

}  // namespace

Status Procedures::check_chains() {
  std::vector<txn::Chain> chains;
  bool chopped = false;
  for (const auto& [name, entry] : entries_) {
    chains.push_back({.name = name, .pieces = {}});
    for (std::size_t piece = 0; piece < entry->piece_count; ++piece)
      chains.back().pieces.push_back(entry->accesses(piece));
    chopped = chopped || entry->piece_count > 1;
  }
  if (!chopped) return {};
  for (const auto& [name, entry] : entries_) {
    if (entry->declared) continue;
    return {StatusCode::kInvalidArgument,
            "procedure '" + name + "' has not declared its accesses, so that no other may run in pieces beside it"};
  }
  const Status good = txn::check_chopping(chains);
  in_pieces_ = good.ok();
  return good;
}

RunResult Procedures::run(const EntryBase& entry, Worker& worker, const void* args, void* reply,
                          const RetryPolicy& policy) const {
  if (!in_pieces_ || entry.piece_count == 1) return run_whole(entry, worker, args, reply, policy);
  ChainLog::Call call{.procedure = entry.name, .next_piece = 0, .args = {}, .reply = {}};
  if (log_) {
    call.number = log_->new_number();
    call.args = string_of(args, entry.args_bytes);
  }
  return run_pieces(entry, worker, call, args, reply, policy);
}

RunResult Procedures::run_whole(const EntryBase& entry, Worker& worker, const void* args, void* reply,
                                const RetryPolicy& policy) const {
  return worker.run(
      [&](Transaction& t) {
        for (std::size_t piece = 0; piece < entry.piece_count && t.open(); ++piece) {
          entry.run_piece(piece, t, args, reply);
        }
      },
      policy);
}

/// From call.next_piece on. A piece whose attempt fails begins again with the reply that it found.
RunResult Procedures::run_pieces(const EntryBase& entry, Worker& worker, ChainLog::Call& call, const void* args,
                                 void* reply, const RetryPolicy& policy) const {
  RunResult result;
  std::uint32_t attempts = 0;
  for (; call.next_piece < entry.piece_count; ++call.next_piece) {
    const auto found = copy_of(reply, entry.reply_bytes);
    const auto body = [&](Transaction& t) {
      std::memcpy(reply, found.get(), entry.reply_bytes);
      entry.run_piece(call.next_piece, t, args, reply);
      if (!log_) return;
      if (call.next_piece + 1 == entry.piece_count) return log_->forget(t, call.number);
      ChainLog::Call then = call;
      ++then.next_piece;
      then.reply = string_of(reply, entry.reply_bytes);
      log_->note(t, then);
    };
    result = worker.run(body, call.next_piece == 0 ? policy : kFollowing);
    attempts += result.attempts;
    if (result.committed()) continue;
    if (call.next_piece != 0) result.pieces_left = static_cast<std::uint32_t>(entry.piece_count) - call.next_piece;
    break;
  }
  result.attempts = attempts;
  return result;
}

Result<RunResult> Procedures::call(Worker& worker, std::string_view name, std::string_view args, std::string& reply,
                                   const RetryPolicy& policy) const {
  const auto found = entries_.find(name);
  if (found == entries_.end())
    return Status(StatusCode::kNotFound, "no procedure is named '" + std::string(name) + "'");
  const EntryBase& entry = *found->second;
  if (args.size() != entry.args_bytes) {
    return Status(StatusCode::kInvalidArgument, "procedure '" + std::string(name) + "' takes " +
                                                    std::to_string(entry.args_bytes) + " bytes of arguments, got " +
                                                    std::to_string(args.size()));
  }
  const auto aligned_args = copy_of(args.data(), args.size());
  const auto answer = std::make_unique<std::byte[]>(entry.reply_bytes);
  entry.clear(answer.get());
  const RunResult result = run(entry, worker, aligned_args.get(), answer.get(), policy);
  reply = string_of(answer.get(), entry.reply_bytes);
  return result;
}

Result<std::size_t> Procedures::keep_chains(Database& database, Worker& worker) {
  if (!in_pieces_) {
    return Status(StatusCode::kFailedPrecondition,
                  "no procedure runs in pieces: register chains, and call check_chains() before keep_chains()");
  }
  std::vector<ChainLog::Call> unfinished;
  auto log = ChainLog::open(database, worker, unfinished);
  if (!log.ok()) return log.status();
  log_ = std::move(*log);
  for (ChainLog::Call& call : unfinished) {
    if (const Status done = finish(worker, call); !done.ok()) return done;
  }
  return unfinished.size();
}

Status Procedures::finish(Worker& worker, ChainLog::Call& call) const {
  const auto found = entries_.find(call.procedure);
  const bool known = found != entries_.end() && found->second->args_bytes == call.args.size() &&
                     found->second->reply_bytes == call.reply.size() && call.next_piece < found->second->piece_count;
  if (!known) {
    return {StatusCode::kFailedPrecondition, "a call of '" + call.procedure +
                                                 "' is half done since a crash, and no such procedure of the same "
                                                 "arguments, reply and pieces is registered"};
  }
  const EntryBase& entry = *found->second;
  const auto args = copy_of(call.args.data(), call.args.size());
  const auto reply = copy_of(call.reply.data(), call.reply.size());
  const RunResult done = run_pieces(entry, worker, call, args.get(), reply.get(), {});
  if (done.committed()) return {};
  return {StatusCode::kFailedPrecondition,
          "a call of '" + call.procedure +
              "' is half done since a crash and cannot be finished: " + std::string(name(done.reason))};
}

}  // namespace granary
