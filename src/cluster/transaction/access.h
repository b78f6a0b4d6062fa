#pragma once
// What a transaction remembers of keys of other nodes: one Access for each key, with what was read there, what is held,
// and what will be written. All parts of a transaction (reading.h, locks.h, declared_keys.h, commit_elsewhere.h) work
// on these entries.

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>
#include <vector>

#include "src/cluster/record_access/version_copy.h"
#include "src/cluster/transaction/directory.h"
#include "src/txn/remote.h"

namespace granary::cluster {

struct Access {
  enum class Seen : std::uint8_t {
    kNothing,   ///< the transaction has not looked for the key yet
    kRecord,    ///< the key has a record, which may be absent
    kNoRecord,  ///< the key has no record; the node set has the place where that was seen
  };

  txn::RemoteKey key;  ///< its bytes live as long as the transaction
  const KnownTable* table = nullptr;
  std::uint64_t hash = 0;  ///< AccessTable::hash(key)
  bool sealed = false;     ///< the table was sealed before anything of the key was seen, so it never changes (I31)

  Seen seen = Seen::kNothing;
  bool read = false;         ///< the transaction relies on what was seen
  RemoteRecord record = {};  ///< kRecord: where the record is
  record::TidWord tid = 0;   ///< kRecord: the TID word that was seen
  /// kRecord: the state word that was READ with it; kFree if that is not known.
  record::StateWord state = record::kFree;
  bool has_value = false;       ///< kRecord: `value` is known, or the record is absent
  std::string_view value = {};  ///< kRecord, not absent: the value that was seen

  /// How declare() asked the record to be held. It is held from then on, if the key has a record.
  enum class Hold : std::uint8_t { kNone, kLease, kLock };
  Hold hold = Hold::kNone;
  bool declared_read = false;      ///< a declare() said that the key will only be read
  std::uint64_t lease_end_us = 0;  ///< when the lease ends; 0: there is none

  bool written = false;
  bool remove = false;
  std::string_view new_value = {};

  // Of a record that the transaction has x-locked, for its commit or before.
  record::StateWord lock = record::kFree;      ///< the word of the x-lock; kFree: the transaction does not hold it
  record::StateWord replaced = record::kFree;  ///< the state word whose place the x-lock has taken
  record::TidWord locked_tid = 0;              ///< the TID of the version under the lock
  record::TidWord locked_rts = 0;              ///< under TicToc: until when anybody may rely on that version
  std::optional<HeldVersion> locked_version = std::nullopt;  ///< that version, if all of it is known
  epoch::Epoch kept_in = 0;      ///< the snapshot period for which that version has been kept (I12); 0: none
  void* release_room = nullptr;  ///< registered memory, for giving the lock back

  /// Whether the key had a value when it was READ.
  bool found() const { return seen == Seen::kRecord && !record::is_absent(tid); }
  /// Whether the transaction sees a value, and which one: its own write, if there is one, and otherwise what it has
  /// READ.
  bool there() const { return written ? !remove : found(); }
  std::string_view visible() const { return written ? new_value : value; }
  /// Returns the time until which the version that was seen is known to be valid under TicToc: its wts, or the rts in
  /// the state word that was READ with it.
  record::TidWord rts() const { return std::max(record::tid_of(tid), record::is_x_locked(state) ? 0 : state); }
  bool held() const { return lock != record::kFree; }
  bool leased() const { return lease_end_us != 0; }
  /// Whether the commit has to check that the record is still as it was seen.
  bool optimistic() const { return read && seen == Seen::kRecord && !sealed && !held() && !leased(); }
};

/// The accesses of a transaction, in the order of their first use, found by key. Their addresses stay until clear(),
/// which keeps the memory for the next transaction.
class AccessTable {
 public:
  AccessTable() { clear(); }

  static std::uint64_t hash(const txn::RemoteKey& key);
  /// Returns the key's entry, or nullptr.
  Access* find(const txn::RemoteKey& key);
  /// Adds an entry for a key that has none. The bytes of `key` must stay until clear().
  Access& add(const txn::RemoteKey& key, const KnownTable* table);
  void clear();

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  auto begin() { return entries_.begin(); }
  auto end() { return entries_.begin() + static_cast<std::ptrdiff_t>(size_); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.begin() + static_cast<std::ptrdiff_t>(size_); }

 private:
  static constexpr std::size_t kFewSlots = 32;    // slots after clear()
  static constexpr std::size_t kMostKept = 1024;  // entries that clear() keeps the memory of

  void place(std::size_t index);

  std::deque<Access> entries_;  ///< the first size_ of them are the transaction's
  std::size_t size_ = 0;
  std::vector<std::uint32_t> slots_;  ///< hash table with open addressing: index + 1 into entries_; a power of two
};

}  // namespace granary::cluster
