// Answers what a snapshot of another node sees here (Silo 4.9). Its epoch is pinned at its node, and versions that it
// needs are kept on all nodes.

#include "src/cluster/messages/owner.h"
#include "src/cluster/messages/range.h"
#include "src/txn/context.h"
#include "src/txn/scan_range.h"

namespace granary::cluster::messages {
namespace {

ReplyStatus status_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::kOk:
    case Outcome::kNotFound: return ReplyStatus::kDone;
    case Outcome::kUnordered: return ReplyStatus::kNotOrdered;
    case Outcome::kUnreachable: return ReplyStatus::kHeldByDead;
    default: return ReplyStatus::kBusy;
  }
}

/// A snapshot here at the same epoch.
class At {
 public:
  At(txn::WorkerCore& worker, epoch::Epoch epoch)
      : context_(worker.bind() ? worker.idle_context() : nullptr),
        serial_(context_ != nullptr && worker.shared().settings.snapshots ? context_->snapshot().begin_at(epoch) : 0) {}
  ~At() {
    if (serial_ != 0) static_cast<void>(context_->snapshot().finish(serial_));
  }
  At(const At&) = delete;
  At& operator=(const At&) = delete;

  /// Versions that the snapshot needs are gone only if the asking node does not pin its epoch, or does not any more, or
  /// if this node came back after the snapshot had begun.
  ReplyStatus begun() const {
    if (context_ == nullptr) return ReplyStatus::kBusy;
    return serial_ == 0 ? ReplyStatus::kNoSnapshots : ReplyStatus::kDone;
  }
  Outcome get(txn::TableCore& table, std::string_view key, std::string& value) {
    return context_->snapshot().get(serial_, &table, key, value);
  }
  ScanResult scan(txn::TableCore& table, const ScanRange& range, ScanFn visit) {
    return context_->snapshot().scan_here(serial_, table, range, visit);
  }

 private:
  txn::Context* const context_;
  const std::uint64_t serial_;
};

}  // namespace

ReplyStatus Owner::answer(const SnapshotGet& request, SnapshotGetAnswer& answer) {
  memory_.clear();
  txn::TableCore* table = nullptr;
  if (const ReplyStatus found = find_table(request.table, request.key, table); found != ReplyStatus::kDone)
    return found;
  At snapshot(worker_, request.epoch);
  if (const ReplyStatus begun = snapshot.begun(); begun != ReplyStatus::kDone) return begun;
  const Outcome outcome = snapshot.get(*table, request.key, value_);
  answer.found = outcome == Outcome::kOk;
  if (answer.found) answer.value = value_;
  return status_of(outcome);
}

ReplyStatus Owner::answer(const SnapshotScan& request, SnapshotScanAnswer& answer) {
  memory_.clear();
  const ScanRange range = scan_range_of(request.range);
  txn::TableCore* table = nullptr;
  if (const ReplyStatus found = find_table(request.table, txn::longest_bound(range), table);
      found != ReplyStatus::kDone)
    return found;
  if (!table->index().ordered()) return ReplyStatus::kNotOrdered;
  At snapshot(worker_, request.epoch);
  if (const ReplyStatus begun = snapshot.begun(); begun != ReplyStatus::kDone) return begun;
  std::size_t bytes = 0;
  Outcome base = Outcome::kOk;
  const ScanResult scanned = snapshot.scan(*table, range, [&](std::string_view key, std::string_view value) {
    SnapshotEntry entry{.key = memory_.copy(key), .value = memory_.copy(value)};
    if (table->base() != nullptr) {
      entry.primary_key = entry.value;
      base = snapshot.get(*table->base(), entry.primary_key, value_);
      // A snapshot has no such entry unless a salvage has lost its row.
      if (base == Outcome::kNotFound) {
        base = Outcome::kOk;
        return true;
      }
      if (base != Outcome::kOk) return false;
      entry.value = memory_.copy(value_);
    }
    bytes += sizeof entry + entry.key.size() + entry.primary_key.size() + entry.value.size();
    // An entry that is too long for any message goes alone, so that the asker is told so.
    answer.more = bytes > most_body_bytes_ && !answer.entries.empty();
    if (answer.more) return false;
    answer.entries.push_back(entry);
    answer.more = bytes >= kPieceBytes;
    return !answer.more;
  });
  return status_of(scanned ? base : scanned.outcome);
}

}  // namespace granary::cluster::messages
