#pragma once
// Keeps the writes of a transaction to records of this node (Silo's write set, 4.4), until its commit installs them or
// it ends without one.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "src/cc/index.h"
#include "src/record/checksum.h"
#include "src/record/shared_record.h"

namespace granary::cc {

using record::Record;

/// Notes one key that the transaction will write, with the new value, or with `remove` instead of one.
struct WriteEntry {
  Record* record = nullptr;
  Index* index = nullptr;
  std::uint32_t table = 0;  ///< the table's number in the log
  /// For a shared record: the checksum of key and new value, made before there are locks.
  std::uint32_t content = 0;
  std::string_view key;    ///< lies in the transaction's arena
  std::string_view value;  ///< lies in the transaction's arena; unused for a removal
  bool remove = false;
  bool placeholder = false;  ///< this transaction put the record into the index
  /// If `whole_bytes` is not 0, this writes a part of a local record, whose whole value has `whole_bytes` bytes:
  /// `value` overwrites the bytes from `part_from` on. The transaction has read the record, so validation makes sure
  /// that the value has the same size when it commits.
  std::uint32_t whole_bytes = 0;
  std::uint32_t part_from = 0;

  bool is_part() const { return whole_bytes != 0; }

  /// Computes `content`. Must be called whenever key or value have been set.
  void sum_content() {
    if (record::is_shared(record)) [[unlikely]]
      content = record::checksum_of_content(key, remove ? std::string_view() : value);
  }

  // Set by prepare(), under the record's lock, or by prepare_in_place(), before an HTM region and without the lock.
  Record* version = nullptr;      ///< memory for a copy of the version that is overwritten; nullptr: none is kept
  Record* replacement = nullptr;  ///< the new record, if the write does not fit into `record` or may not change it
};

/// The writes of a transaction, at most one per record, found by record.
class WriteSet {
 public:
  /// Returns the pending write to `record`, or nullptr. The pointer is valid until the next add().
  WriteEntry* find(const Record* record) {
    if (filter_ == 0 || (filter_ & filter_bit(record)) == 0) return nullptr;
    return entries_.size() <= kLinear ? find_linear(record) : find_hashed(record);
  }

  /// Makes room for one more write, so that the next add() needs no memory.
  void reserve_one() {
    constexpr std::size_t kFirst = 8;
    if (entries_.size() == entries_.capacity()) entries_.reserve(std::max(kFirst, 2 * entries_.capacity()));
    if (entries_.size() >= kLinear) [[unlikely]]
      reserve_slot();
  }
  WriteEntry& add(const WriteEntry& entry) {
    filter_ |= filter_bit(entry.record);
    // If the system has no memory, what was there before stays as it is.
    const bool hashed = entries_.size() >= kLinear;
    if (hashed) [[unlikely]]
      reserve_slot();
    entries_.emplace_back() = entry;  // not push_back(), for the reason that CommitOutcome names (participant.h)
    if (hashed) [[unlikely]]
      place(static_cast<std::uint32_t>(entries_.size() - 1));
    return entries_.back();
  }

  void clear() {
    entries_.clear();
    filter_ = 0;
    if (!slots_.empty()) [[unlikely]]
      slots_.clear();
  }

  std::vector<WriteEntry>& entries() { return entries_; }
  const std::vector<WriteEntry>& entries() const { return entries_; }
  bool empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }

 private:
  static constexpr std::size_t kLinear = 24;  // up to so many entries are searched one by one

  static std::uint64_t hash(const Record* record) {
    return (reinterpret_cast<std::uintptr_t>(record) >> 5) * 0x9E3779B97F4A7C15ull;
  }
  static std::uint64_t filter_bit(const Record* record) { return std::uint64_t{1} << (hash(record) >> 58); }

  WriteEntry* find_linear(const Record* record) {
    for (WriteEntry& entry : entries_) {
      if (entry.record == record) return &entry;
    }
    return nullptr;
  }
  WriteEntry* find_hashed(const Record* record);
  void reserve_slot();
  void place(std::uint32_t index);

  std::vector<WriteEntry> entries_;
  std::uint64_t filter_ = 0;  // a record whose filter_bit() is not set has no entry
  /// A hash table with open addressing, of index + 1 into entries_. It is empty as long as all entries are searched.
  std::vector<std::uint32_t> slots_;
};

}  // namespace granary::cc
