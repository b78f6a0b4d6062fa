// Scans ranges for a transaction at this node (Silo 4.6). Every leaf that overlaps the range goes into the node set,
// and every record in the range into the read set. A scan sees the transaction's own writes, as each of them has a
// record in the tree.

#include "src/txn/local_access.h"
#include "src/txn/scan_range.h"

namespace granary::txn {

using cc::Record;

/// Gets the entries of a tree, reads their records through the transaction's LocalAccess, and passes them to the
/// application.
class ScanCursor final : public kvstore::ordered::ScanVisitor {
 public:
  /// `index` is the secondary index to scan, whose base table is `table`; nullptr: `table` itself is scanned.
  ScanCursor(LocalAccess& access, TableCore& table, TableCore* index, std::size_t limit, ScanFn visit)
      : access_(access),
        table_(table),
        index_(index),
        limit_(limit),
        visit_(visit),
        serial_(access.transaction_.serial()),
        buffer_(access.scratch()) {
    ++access_.scan_depth_;  // last, as no destructor lowers it if the buffer finds no memory
  }
  ~ScanCursor() { --access_.scan_depth_; }
  ScanCursor(const ScanCursor&) = delete;
  ScanCursor& operator=(const ScanCursor&) = delete;

  void on_leaf(const kvstore::ordered::Leaf* leaf, kvstore::ordered::Version version) override {
    const Outcome noted = access_.note_node(index_ == nullptr ? table_ : *index_, leaf, version);
    if (noted != Outcome::kOk) result_.outcome = noted;
  }

  bool on_entry(std::string_view key, kvstore::ordered::Value value) override {
    if (result_.outcome != Outcome::kOk) return false;
    auto* const record = record::record_of(value);
    return index_ == nullptr ? visit_record(table_, key, record) : visit_indexed(key, record);
  }

  ScanResult result() const { return result_; }

 private:
  /// Reads a record into the buffer, which grows if it must. Returns the value's size, or −1 if there is nothing to
  /// visit.
  std::ptrdiff_t read(TableCore& table, std::string_view key, Record* record) {
    for (;;) {
      const GetResult got = access_.read(table, key, record, buffer_);
      if (got.outcome == Outcome::kOk) return static_cast<std::ptrdiff_t>(got.size);
      if (got.outcome == Outcome::kNotFound) return -1;
      if (got.outcome != Outcome::kBufferTooSmall) {
        result_.outcome = got.outcome;
        return -1;
      }
      buffer_.resize(got.size);
    }
  }

  bool visit_record(TableCore& table, std::string_view key, Record* record) {
    if (index_ == nullptr) access_.lookups_.remembered(table.index(), key) = record;
    const std::ptrdiff_t size = read(table, key, record);
    if (size < 0) return result_.outcome == Outcome::kOk;
    ++result_.count;
    const bool more = visit_(key, std::string_view(buffer_.data(), static_cast<std::size_t>(size)));
    result_.outcome =
        access_.transaction_.standing(serial_);  // the callback may have ended the transaction, or doomed it
    return result_.outcome == Outcome::kOk && more && result_.count < limit_;
  }

  bool visit_indexed(std::string_view index_key, Record* entry) {
    const std::ptrdiff_t size = read(*index_, index_key, entry);
    if (size < 0) return result_.outcome == Outcome::kOk;
    primary_key_.assign(buffer_.data(), static_cast<std::size_t>(size));
    Record* const record = access_.look_up(table_, primary_key_);
    return visit_record(table_, primary_key_, record);
  }

  LocalAccess& access_;
  TableCore& table_;
  TableCore* const index_;
  const std::size_t limit_;
  const ScanFn visit_;
  const std::uint64_t serial_;
  std::string& buffer_;
  std::string primary_key_;
  ScanResult result_;
};

ScanResult LocalAccess::scan(TableCore& table, TableCore* index, const ScanRange& range, ScanFn visit) {
  ScanCursor cursor(*this, table, index, range.limit, visit);
  (index == nullptr ? table : *index).tree().scan(tree_range(range), direction(range), cursor);
  return cursor.result();
}

std::string& LocalAccess::scratch() {
  constexpr std::size_t kFirstSize = 1024;
  if (scan_depth_ == scratch_.size()) scratch_.emplace_back(kFirstSize, '\0');
  return scratch_[scan_depth_];
}

}  // namespace granary::txn
