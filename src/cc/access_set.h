#pragma once
// Keeps what a transaction remembers of records of this node: read set, node set and write set (Silo 4.4, 4.6). The
// transaction layer (src/txn) fills these sets, and the commit (commit.h) validates and installs by them. What is
// remembered of other nodes is in src/cluster/transaction.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <granary/isolation.h>
#include <granary/outcome.h>

#include "src/cc/drtm/region_run.h"
#include "src/cc/index.h"
#include "src/cc/index_node.h"
#include "src/cc/miss_times.h"
#include "src/cc/node_set.h"
#include "src/cc/two_pl/held_locks.h"
#include "src/record/shared_record.h"

namespace granary::cc {

using record::Record;
using record::TidWord;

/// Notes one read: a record and the TID word that was seen there. The word is unlocked, except for a read under the
/// transaction's own lock bit (drtm/drtm.h). Under TicToc `rts` is the time until which the version was seen to be
/// valid (src/record/rts.h). A read that found the record absent is an entry, too.
struct ReadEntry {
  Record* record;
  TidWord tid;
  TidWord rts = 0;
};

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

/// A record that the commit locks, and the write to it.
struct LockEntry {
  Record* record;
  WriteEntry* write;
};

class RemoteCommit;

/// All that one transaction of this node remembers. A context uses it for one transaction after the other.
struct AccessSet {
  Isolation isolation = Isolation::kSerializable;  ///< the open transaction's, set when it begins
  epoch::Epoch epoch = 0;                          ///< e_w of the open transaction, set when it begins
  /// The latest epoch from which a table is sealed that the transaction has read. Reads of sealed tables are in no set
  /// (I31), and all that they saw is of earlier epochs. 0: it has read no sealed table.
  epoch::Epoch sealed_from = 0;
  std::vector<ReadEntry> reads;
  NodeSet<IndexNode> nodes;
  MissTimes::Tables missed_tables = 0;  ///< the tables of the indexes in the node set
  WriteSet writes;
  std::vector<LockEntry> locks;  ///< made by the commit: the writes, sorted by the addresses of their records
  /// Made by the commit: TID words of the records to write, noted before a region (region.h, drtm) or before the claims
  /// (SnapshotHere). They are the transaction's and not its worker's, since a claim may wait, and then another
  /// transaction of the worker may commit.
  std::vector<TidWord> planned_words;

  two_pl::HeldLocks held;  ///< given back by cc::let_go() when the transaction has ended, before clear()
  /// The latest lock was refused because of a transaction of the same worker, which cannot end meanwhile.
  bool refused_by_own_worker = false;
  bool must_let_go = false;        ///< whether cc::let_go() has work at the end, for `held` or for `region_run`
  drtm::RegionRun region_run;      ///< its `claimed` records are given back by cc::let_go(), too
  RemoteCommit* remote = nullptr;  ///< the context's part at other nodes, nullptr without a cluster; clear() keeps it

  void clear() {
    sealed_from = 0;
    reads.clear();
    nodes.clear();
    missed_tables = 0;
    writes.clear();
    locks.clear();
    refused_by_own_worker = false;
  }
};

}  // namespace granary::cc
