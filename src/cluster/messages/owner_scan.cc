// Answers with a piece of a scan for another node: the entries that a local scan would put into read and node set, and
// the values.

#include "src/cluster/messages/owner.h"
#include "src/cluster/messages/range.h"
#include "src/epoch/entered.h"
#include "src/record/tid.h"
#include "src/txn/scan_range.h"

namespace granary::cluster::messages {

using cc::Record;

class PieceOfScan final : public kvstore::ordered::ScanVisitor {
 public:
  PieceOfScan(Owner& owner, txn::TableCore& table, const Scan& request, ScanAnswer& answer)
      : owner_(owner),
        table_(table),
        limit_(request.range.limit),
        held_(request.held),
        answer_(answer) {}

  void on_leaf(const cc::Leaf* leaf, cc::Version version) override {
    note(owner_.node(leaf, version));
    owner_.tell(leaf, answer_.leaves);
  }

  bool on_entry(std::string_view key, kvstore::ordered::Value value) override {
    ScanEntry entry{.key = owner_.memory_.copy(key)};
    if (!see(record::record_of(value), entry)) return status_ == ReplyStatus::kDone;
    if (table_.base() != nullptr && entry.record.has_value && !see_base(entry)) return false;
    const bool there = !record::is_absent(entry.record.tid);
    bytes_ += sizeof entry + key.size() + entry.record.value.size() + entry.base.value.size();
    answer_.entries.push_back(entry);
    // The asker may pass over some of these, as its visitor has removed them meanwhile, and then wants others.
    if (there && --limit_ == 0) answer_.more = true;
    if (bytes_ >= Owner::kPieceBytes) answer_.more = true;
    return !answer_.more;
  }

  ReplyStatus status() const { return status_; }

 private:
  void note(const SeenNode& node) {
    answer_.nodes.push_back(node);
    bytes_ += sizeof node + sizeof(SeenLeaf);
  }

  /// False if there is nothing (any more), or the scan must end.
  bool see(Record* record, ScanEntry& entry) {
    const Owner::RecordLook look = owner_.look(*record, entry.key, /*with_value=*/true, entry.record, held_);
    if (look == Owner::RecordLook::kSeen) return true;
    SeenNode missed;
    status_ = look == Owner::RecordLook::kReplaced ? owner_.look_up(table_, entry.key, entry.record, missed, held_)
                                                   : Owner::status_after(look);
    if (status_ == ReplyStatus::kDone && entry.record.offset == 0) note(missed);
    return status_ == ReplyStatus::kDone && entry.record.offset != 0;
  }

  bool see_base(ScanEntry& entry) {
    SeenNode missed;
    status_ = owner_.look_up(*table_.base(), entry.record.value, entry.base, missed, held_);
    if (status_ == ReplyStatus::kDone && entry.base.offset == 0) note(missed);
    return status_ == ReplyStatus::kDone;
  }

  Owner& owner_;
  txn::TableCore& table_;
  std::uint64_t limit_;
  const std::span<const std::uint64_t> held_;
  ScanAnswer& answer_;
  std::size_t bytes_ = 0;
  ReplyStatus status_ = ReplyStatus::kDone;
};

ReplyStatus Owner::answer(const Scan& request, ScanAnswer& answer) {
  memory_.clear();
  const ScanRange range = scan_range_of(request.range);
  txn::TableCore* table = nullptr;
  if (const ReplyStatus found = find_table(request.table, txn::longest_bound(range), table);
      found != ReplyStatus::kDone)
    return found;
  if (!table->index().ordered()) return ReplyStatus::kNotOrdered;
  if (range.limit == 0) return ReplyStatus::kDone;
  const epoch::Entered entered(worker_.shared().epochs, slot_);
  PieceOfScan piece(*this, *table, request, answer);
  table->tree().scan(txn::tree_range(range), txn::direction(range), piece);
  return piece.status();
}

}  // namespace granary::cluster::messages
