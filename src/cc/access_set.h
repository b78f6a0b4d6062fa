#pragma once
// What a transaction has read and will write: read set, node set, write set (Silo 4.4, 4.6).

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <granary/isolation.h>
#include <granary/outcome.h>

#include "src/cc/index.h"
#include "src/cc/node_set.h"
#include "src/cc/node_times.h"
#include "src/cc/place.h"
#include "src/record/shared_record.h"

namespace granary::cc {

using record::Record;
using record::TidWord;

/// A record and the unlocked TID word that was seen there. If the protocol has one, `rts` is the time until which the version was seen to be
/// valid (src/record/rts.h). Absent records are in the set, too.
struct ReadEntry {
  Record* record;
  TidWord tid;
  TidWord rts = 0;
};

struct WriteEntry {
  Record* record = nullptr;
  Index* index = nullptr;
  std::uint32_t table = 0;  ///< its number in the log
  std::uint32_t content =
      0;                 ///< of a shared record: checksum of key and new value, so that it need not be made under locks
  std::string_view key;  ///< in the transaction's arena
  std::string_view value;  ///< in the transaction's arena; unused for a removal
  bool remove = false;
  bool placeholder = false;  ///< this transaction put the record into the index
  /// If `whole_bytes` is not 0, the write is to a part of a local record: `value` takes the place of as many of its `whole_bytes` bytes, from
  /// `part_from` on. The transaction has read the record, so that its size is still the same when it commits.
  std::uint32_t whole_bytes = 0;
  std::uint32_t part_from = 0;

  bool is_part() const { return whole_bytes != 0; }

  /// To be called whenever key or value have been set.
  void sum_content() {
    if (record::is_shared(record)) [[unlikely]]
      content = record::checksum_of_content(key, remove ? std::string_view() : value);
  }

  // Set while committing, under the record's lock.
  Record* version = nullptr;      ///< where the old version will be kept
  Record* replacement = nullptr;  ///< the record that will take its place
};

/// The writes of a transaction, at most one per record, found by record.
class WriteSet {
 public:
  /// The pending write to `record`, or nullptr. Valid until the next add().
  WriteEntry* find(const Record* record) {
    if (filter_ == 0 || (filter_ & filter_bit(record)) == 0) return nullptr;
    return entries_.size() <= kLinear ? find_linear(record) : find_hashed(record);
  }

  WriteEntry& add(const WriteEntry& entry) {
    filter_ |= filter_bit(entry.record);
    entries_.push_back(entry);
    if (entries_.size() > kLinear) [[unlikely]]
      index_last();
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
  static constexpr std::size_t kLinear = 24;

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
  void index_last();
  void rehash();
  void place(std::uint32_t index);

  std::vector<WriteEntry> entries_;
  std::uint64_t filter_ = 0;  // no bit, no entry
  std::vector<std::uint32_t>
      slots_;  // open addressing, a power of two: index + 1 into entries_; empty while there are few
};

/// A write to lock, in the order of records.
struct LockEntry {
  Record* record;
  WriteEntry* write;
};

/// The locks of a transaction whose protocol locks records before the commit (two_pl/).
struct HeldLocks {
  std::uint64_t owner = 0;       ///< two_pl::OwnerSet, of one; 0 until the first lock
  std::vector<Record*> records;  ///< each once
  bool any = false;              ///< there are some, or what Running names
};

class RemotePart;

/// This says how a transaction runs whose protocol runs transactions in HTM regions (drtm/).
struct Running {
  enum class Way : std::uint8_t {
    kUnknown,  ///< it has touched nothing yet
    kRegion,   ///< in the worker's open region
    kLocks,    ///< without one
    kAgain,    ///< its region has aborted, and the caller has to run it again
  };
  Way way = Way::kUnknown;
  AbortReason why = AbortReason::kReadChanged;  ///< kAgain: what the caller learns
  std::vector<Record*> declared;                ///< of this node
  std::vector<Record*> held;                    ///< those of them whose lock bit it has, by address
  RemotePart* elsewhere = nullptr;              ///< what the context has at other nodes, if it has any; it stays
};

struct AccessSet {
  Isolation isolation = Isolation::kSerializable;  ///< the open transaction's, set when it begins
  epoch::Epoch epoch = 0;                          ///< its e_w, likewise
  /// Behind the epochs of all that it has seen in sealed tables, which is in no set (I31); 0 if there is nothing.
  epoch::Epoch sealed_from = 0;
  std::vector<ReadEntry> reads;
  NodeSet<Place> nodes;
  NodeTimes::Tables tables_of_nodes = 0;  ///< of the node set
  WriteSet writes;
  std::vector<LockEntry> locks;  ///< the commit's own: the writes sorted by record
  HeldLocks held;                ///< given back behind the end, before clear()
  Running running;               ///< its records are given back with the held ones

  void clear() {
    sealed_from = 0;
    reads.clear();
    nodes.clear();
    tables_of_nodes = 0;
    writes.clear();
    locks.clear();
  }
};

}  // namespace granary::cc
