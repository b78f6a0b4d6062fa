// Runs procedures, in one transaction or in a chain of them.

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <vector>

#include <granary/procedure.h>

#include "src/db/engine.h"
#include "src/db/may_pass.h"
#include "src/db/shown_name.h"
#include "src/txn/worker_core.h"
#include "src/txn/chopping/chopping.h"

namespace granary {
namespace {

/// Returns a copy of the bytes that is aligned for any plain struct.
std::unique_ptr<std::byte[]> copy_of(const void* bytes, std::size_t size) {
  auto copy = std::make_unique<std::byte[]>(size);
  std::memcpy(copy.get(), bytes, size);
  return copy;
}

/// The policy for the pieces after the first. They wait up to kPatience_us for reasons that may pass (may_pass.h). What
/// does not pass by then is for the operator.
constexpr std::uint64_t kPatience_us = 10'000'000;
constexpr RetryPolicy kFollowing{.patience_us = kPatience_us};
/// The policy for a piece of a call that was left and is tried once more. It is left again soon, since the call gets
/// another turn and others wait for the worker.
constexpr RetryPolicy kOnceMore{.max_attempts = 20};

/// Returns why a piece did not commit, for a notice.
std::string_view cause_of(AbortReason reason) {
  return reason == AbortReason::kMisuse ? "misuse: a piece must not call commit(), nor use a key without a home"
                                        : name(reason);
}

std::string string_of(const void* bytes, std::size_t size) { return {static_cast<const char*>(bytes), size}; }

}  // namespace

Status Procedures::no_body(const std::string& name, std::size_t piece) {
  return {StatusCode::kInvalidArgument,
          "procedure '" + name + "': the body of piece " + std::to_string(piece) + " is an empty function"};
}

/// Returns whether procedures may run in pieces; false if none has several.
Result<bool> Procedures::may_run_in_pieces() const {
  std::vector<txn::Chain> chains;
  bool chopped = false;
  for (const auto& [name, entry] : entries_) {
    chains.push_back({.name = name, .pieces = {}});
    for (std::size_t piece = 0; piece < entry->piece_count; ++piece)
      chains.back().pieces.push_back(entry->accesses(piece));
    chopped = chopped || entry->piece_count > 1;
  }
  if (!chopped) return false;
  for (const auto& [name, entry] : entries_) {
    if (entry->declared) continue;
    return Status(StatusCode::kInvalidArgument, "procedure '" + name +
                                                    "' has not declared its accesses, so that no other may run in "
                                                    "pieces beside it");
  }
  if (const Status good = txn::check_chopping(chains); !good.ok()) return good;
  return true;
}

Status Procedures::check_chains() {
  const Result<bool> may = may_run_in_pieces();
  in_pieces_.store(may.ok() && *may, std::memory_order_release);
  return may.status();
}

RunResult Procedures::misused() {
  RunResult refused;
  refused.reason = AbortReason::kMisuse;
  return refused;
}

RunResult Procedures::run(const EntryBase& entry, Worker& worker, const void* args, void* reply,
                          const RetryPolicy& policy) const {
  const bool in_pieces = entry.piece_count > 1 && in_pieces_.load(std::memory_order_acquire);
  if (!in_pieces) return run_whole(entry, worker, args, reply, policy);
  ChainLog* const log = kept_.load(std::memory_order_acquire);
  ChainLog::Call call{.procedure = entry.name, .next_piece = 0, .args = {}, .reply = {}};
  if (log != nullptr) {
    call.number = log->new_number();
    call.args = string_of(args, entry.args_bytes);
  }
  const Chained chained{.entry = entry, .log = log, .call = call, .args = args, .reply = reply};
  RunResult result;
  try {
    result = run_pieces(worker, chained, policy, kFollowing);
  } catch (...) {
    if (log != nullptr && call.next_piece != 0) log->leave(std::move(call), "its body threw");
    throw;
  }
  if (log != nullptr && result.pieces_left != 0) log->leave(std::move(call), cause_of(result.reason));
  return result;
}

RunResult Procedures::run_whole(const EntryBase& entry, Worker& worker, const void* args, void* reply,
                                const RetryPolicy& policy) const {
  const std::string before = string_of(reply, entry.reply_bytes);
  return worker.run(
      [&](Transaction& t) {
        std::memcpy(reply, before.data(), entry.reply_bytes);
        for (std::size_t piece = 0; piece < entry.piece_count && t.open(); ++piece) {
          run_body(entry, piece, t, args, reply);
        }
      },
      policy);
}

/// Runs the body of a piece in a transaction that it cannot commit, since the note of the piece, or the pieces after
/// it, are still to come in that transaction.
void Procedures::run_body(const EntryBase& entry, std::size_t piece, Transaction& t, const void* args, void* reply) {
  t.is_piece_ = entry.piece_count > 1;
  entry.run_piece(piece, t, args, reply);
  t.is_piece_ = false;
}

/// Runs the pieces from call.next_piece on, which afterwards is the piece that did not commit. A piece whose attempt
/// fails begins again with the reply that it found, which call.reply keeps.
RunResult Procedures::run_pieces(Worker& worker, const Chained& chained, const RetryPolicy& first,
                                 const RetryPolicy& following) {
  const EntryBase& entry = chained.entry;
  ChainLog::Call& call = chained.call;
  RunResult result;
  std::uint32_t attempts = 0;
  for (; call.next_piece < entry.piece_count; ++call.next_piece) {
    call.reply = string_of(chained.reply, entry.reply_bytes);
    const auto body = [&](Transaction& t) {
      std::memcpy(chained.reply, call.reply.data(), entry.reply_bytes);
      run_body(entry, call.next_piece, t, chained.args, chained.reply);
      if (chained.log != nullptr) note_piece(t, chained);
    };
    result = worker.run(body, call.next_piece == 0 ? first : following);
    attempts += result.attempts;
    if (result.committed()) continue;
    if (call.next_piece != 0) result.pieces_left = static_cast<std::uint32_t>(entry.piece_count) - call.next_piece;
    break;
  }
  result.attempts = attempts;
  return result;
}

/// Notes in the transaction of piece call.next_piece that the next piece is to follow, or after the last piece that the
/// call is done.
void Procedures::note_piece(Transaction& t, const Chained& chained) {
  const ChainLog::Call& call = chained.call;
  if (call.next_piece + 1 == chained.entry.piece_count) return chained.log->forget(t, call.number);
  ChainLog::Call then = call;
  ++then.next_piece;
  then.reply = string_of(chained.reply, chained.entry.reply_bytes);
  chained.log->note(t, then);
}

Result<RunResult> Procedures::call(Worker& worker, std::string_view name, std::string_view args, std::string& reply,
                                   const RetryPolicy& policy) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) return Status(StatusCode::kNotFound, "no procedure is named " + db::shown_name(name));
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

std::size_t Procedures::reply_bytes(std::string_view name) const {
  const auto found = entries_.find(name);
  return found == entries_.end() ? 0 : found->second->reply_bytes;
}

Result<std::size_t> Procedures::keep_chains(Database& database, Worker& worker) {
  if (!worker)
    return Status(StatusCode::kInvalidArgument, "keep_chains() got an empty worker, expected one of the database's");
  if (!database.engine().epochs().serves())
    return Status(StatusCode::kFailedPrecondition,
                  "keep_chains() in a cluster comes after Cluster::start(), and this node does not serve");
  const Result<bool> may = may_run_in_pieces();
  if (!may.ok()) return may.status();
  if (!*may)
    return Status(StatusCode::kFailedPrecondition, "no procedure is a chain: register chains before keep_chains()");
  std::vector<ChainLog::Call> unfinished;
  if (const Status opened = open_log(database, worker, unfinished); !opened.ok()) return opened;
  const Result<std::size_t> finished = finish_former(worker, unfinished);
  in_pieces_.store(true, std::memory_order_release);
  return finished;
}

/// Opens log_, and reads the calls of an earlier life from it.
Status Procedures::open_log(Database& database, Worker& worker, std::vector<ChainLog::Call>& unfinished) {
  auto log = ChainLog::open(database);
  if (log.status().code() == StatusCode::kAlreadyExists && unread_ != nullptr) log = std::move(unread_);
  if (!log.ok()) return log.status();
  if (const Status read = (*log)->read(worker, unfinished); !read.ok()) {
    unread_ = std::move(*log);
    return read;
  }
  log_ = std::move(*log);
  kept_.store(log_.get(), std::memory_order_release);
  return {};
}

/// Tries each call of an earlier life. A call that is not finished is left, whatever the reason, so that it keeps no
/// other from being tried.
Result<std::size_t> Procedures::finish_former(Worker& worker, std::vector<ChainLog::Call>& calls) {
  using std::chrono::microseconds;
  const auto end = std::chrono::steady_clock::now() + microseconds(kPatience_us);
  std::size_t finished = 0;
  std::string obstacle;  // names the first call that waiting does not help, and the reason
  for (ChainLog::Call& call : calls) {
    const auto patience = std::chrono::duration_cast<microseconds>(end - std::chrono::steady_clock::now());
    const RetryPolicy policy{.patience_us = static_cast<std::uint64_t>(std::max(patience, microseconds(0)).count())};
    const Status done = finish_one(worker, call, policy);
    if (done.ok()) {
      ++finished;
      continue;
    }
    if (obstacle.empty() && done.code() != StatusCode::kUnavailable) {
      obstacle = "a call of '" + call.procedure + "' is half done since an earlier life of the database: its piece " +
                 std::to_string(call.next_piece + 1) + " did not commit (" + done.message() + ")";
    }
    log_->leave(std::move(call), done.message());
  }
  if (obstacle.empty()) return finished;
  const std::size_t left = log_->left();
  return Status(StatusCode::kFailedPrecondition,
                obstacle + ". " + std::to_string(left) + (left == 1 ? " call is" : " calls are") +
                    " left half done, to be tried again by finish_left() and by the next life");
}

/// Runs the pieces that are left of a call of an earlier life. Returns why they did not all commit: kUnavailable if the
/// reason may pass. An exception of a body is such a reason, too, as the call has no caller any more who could catch
/// it.
Status Procedures::finish_one(Worker& worker, ChainLog::Call& call, const RetryPolicy& policy) const {
  try {
    const Result<RunResult> done = finish(worker, *log_, call, policy);
    if (!done.ok()) return done.status();
    if (done->committed()) return {};
    const bool passes = db::may_pass(done->reason, worker.core()->shared());
    return {passes ? StatusCode::kUnavailable : StatusCode::kFailedPrecondition, std::string(cause_of(done->reason))};
  } catch (const std::exception& thrown) {
    return {StatusCode::kFailedPrecondition, std::string("its body threw: ") + thrown.what()};
  } catch (...) {
    return {StatusCode::kFailedPrecondition, "its body threw"};
  }
}

std::size_t Procedures::finish_left(Worker& worker) const {
  ChainLog* const log = kept_.load(std::memory_order_acquire);
  if (log == nullptr || log->left() == 0) return 0;
  std::vector<ChainLog::Call> calls = log->take_left();
  for (ChainLog::Call& call : calls) {
    if (finish_quietly(worker, *log, call)) {
      log->finished();
    } else {
      log->put_back(std::move(call));
    }
  }
  return log->left();
}

/// Returns whether the call is finished now. An exception of a body counts as a failure, as it has no caller to go to.
bool Procedures::finish_quietly(Worker& worker, ChainLog& log, ChainLog::Call& call) const {
  try {
    const Result<RunResult> done = finish(worker, log, call, kOnceMore);
    return done.ok() && done->committed();
  } catch (...) {
    return false;
  }
}

/// Runs the pieces that are left of a half-done call. Returns an error if no such procedure is registered.
Result<RunResult> Procedures::finish(Worker& worker, ChainLog& log, ChainLog::Call& call,
                                     const RetryPolicy& policy) const {
  const auto found = entries_.find(call.procedure);
  const bool known = found != entries_.end() && found->second->args_bytes == call.args.size() &&
                     found->second->reply_bytes == call.reply.size() && call.next_piece < found->second->piece_count;
  if (!known) {
    return Status(StatusCode::kFailedPrecondition,
                  "no procedure of this name with the same arguments, reply and pieces is registered");
  }
  const auto args = copy_of(call.args.data(), call.args.size());
  const auto reply = copy_of(call.reply.data(), call.reply.size());
  return run_pieces(worker,
                    {.entry = *found->second, .log = &log, .call = call, .args = args.get(), .reply = reply.get()},
                    policy, policy);
}

}  // namespace granary
