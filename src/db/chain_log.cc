#include <granary/chain_log.h>

#include <fmt/format.h>

#include <cstring>
#include <optional>
#include <utility>

#include <granary/key.h>

#include "src/base/notice.h"
#include "src/base/test_hooks.h"

namespace granary {
namespace {

/// The beginning of a value of the table. Behind it are name, arguments and reply.
struct Head {
  std::uint32_t next_piece;
  std::uint32_t name_bytes;
  std::uint32_t args_bytes;
};

std::string encode(const ChainLog::Call& call) {
  const Head head{.next_piece = call.next_piece,
                  .name_bytes = static_cast<std::uint32_t>(call.procedure.size()),
                  .args_bytes = static_cast<std::uint32_t>(call.args.size())};
  std::string value(reinterpret_cast<const char*>(&head), sizeof head);
  return value.append(call.procedure).append(call.args).append(call.reply);
}

std::optional<ChainLog::Call> decode(std::string_view key, std::string_view value) {
  Head head;
  std::uint64_t number = 0;
  if (!decode_key(key, number) || value.size() < sizeof head) return std::nullopt;
  std::memcpy(&head, value.data(), sizeof head);
  value.remove_prefix(sizeof head);
  if (std::uint64_t{head.name_bytes} + head.args_bytes > value.size()) return std::nullopt;
  return ChainLog::Call{.number = number,
                        .procedure = std::string(value.substr(0, head.name_bytes)),
                        .next_piece = head.next_piece,
                        .args = std::string(value.substr(head.name_bytes, head.args_bytes)),
                        .reply = std::string(value.substr(head.name_bytes + head.args_bytes))};
}

}  // namespace

Result<std::unique_ptr<ChainLog>> ChainLog::open(Database& database) {
  const auto table = database.create_table("granary.chains");
  if (table.status().code() == StatusCode::kAlreadyExists) {
    return Status(StatusCode::kAlreadyExists,
                  "keep_chains() was called already: it is called once in the life of a database, and makes the table "
                  "'granary.chains', which nobody else may make");
  }
  if (!table.ok()) return table.status();
  return std::unique_ptr<ChainLog>(new ChainLog(*table, database.options().notices));
}

/// A scan may end early and leave the transaction able to commit. The calls that it has not come to would be forgotten,
/// and new calls would get their numbers, so its outcome counts beside the commit's.
Status ChainLog::read(Worker& worker, std::vector<Call>& unfinished) {
  bool damaged = false;
  ScanResult scanned;
  const RunResult done = worker.run([&](Transaction& t) {
    unfinished.clear();
    damaged = false;
    scanned = t.scan(table_, {}, [&](std::string_view key, std::string_view value) {
      auto call = decode(key, value);
      damaged = damaged || !call;
      if (call) unfinished.push_back(std::move(*call));
      return true;
    });
  });
  if (!scanned || !done.committed()) {
    const bool by_commit = scanned || scanned.outcome == Outcome::kAborted;
    return {StatusCode::kFailedPrecondition, fmt::format("table 'granary.chains' cannot be read: {}",
                                                         by_commit ? name(done.reason) : name(scanned.outcome))};
  }
  if (damaged) return {StatusCode::kDamaged, "table 'granary.chains' holds what is no call of a chain"};
  if (!unfinished.empty()) next_number_.store(unfinished.back().number + 1, std::memory_order_relaxed);
  return {};
}

/// Aborts the transaction if it cannot write the note. A piece must not commit without its note, since nobody would
/// finish the call if the process died after it. Most failures doom the transaction anyway. One does not: arguments and
/// reply that are larger than a value may be.
void ChainLog::note(Transaction& transaction, const Call& call) const {
  if (transaction.put(table_, encode_key<std::uint64_t>(call.number), encode(call)) != Outcome::kOk)
    transaction.abort();
}

/// Aborts the transaction if it cannot remove the note, since a call whose note stays would be finished a second time.
/// The note may be missing: a call with one piece left has none if its former pieces ran before chains were kept.
void ChainLog::forget(Transaction& transaction, std::uint64_t number) const {
  const Outcome outcome = transaction.remove(table_, encode_key<std::uint64_t>(number));
  if (outcome != Outcome::kOk && outcome != Outcome::kNotFound) transaction.abort();
}

void ChainLog::leave(Call call, std::string_view cause) {
  const std::lock_guard lock(mutex_);
  const bool first = left_count_.fetch_add(1, std::memory_order_relaxed) == 0;
  if (first) {
    base::tell(notices_, {.severity = NoticeSeverity::kWarning,
                          .topic = NoticeTopic::kChains,
                          .text = fmt::format("a call of '{}' is half done: its piece {} did not commit ({}). It is to "
                                              "be tried again until it is finished, and so are others like it",
                                              call.procedure, call.next_piece + 1, cause)});
  }
  left_.push_back(std::move(call));
}

std::vector<ChainLog::Call> ChainLog::take_left() {
  const std::lock_guard lock(mutex_);
  if (base::injected("two-finish-a-call")) return left_;
  return std::exchange(left_, {});
}

void ChainLog::put_back(Call call) {
  const std::lock_guard lock(mutex_);
  left_.push_back(std::move(call));
}

void ChainLog::finished() {
  const std::lock_guard lock(mutex_);
  if (left_count_.fetch_sub(1, std::memory_order_relaxed) != 1) return;
  base::tell(notices_, {.topic = NoticeTopic::kChains, .text = "all calls that were left half done are finished"});
}

}  // namespace granary
