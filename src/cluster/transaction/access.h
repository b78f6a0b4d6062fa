#pragma once
// What a transaction has to do with keys of other nodes: one entry a key, for what it read there and what it will write.

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
    kNothing,   ///< nobody has looked yet
    kRecord,    ///< the key has a record, which may be absent
    kNoRecord,  ///< it has none; the node set says where that was seen
  };

  txn::RemoteKey key;  ///< its bytes live as long as the transaction
  const KnownTable* table = nullptr;
  std::uint64_t hash = 0;  ///< AccessTable::hash(key)
  bool sealed = false;     ///< the table was, before anything of the key was seen: it never changes (I31)

  Seen seen = Seen::kNothing;
  bool read = false;         ///< the transaction relies on what was seen
  RemoteRecord record = {};  ///< kRecord: exactly
  record::TidWord tid = 0;   ///< kRecord
  /// kRecord: the state word that was READ with it; free if that is not known.
  record::StateWord state = record::kFree;
  bool has_value = false;       ///< kRecord: `value` is known, or there is none
  std::string_view value = {};  ///< kRecord, not absent

  /// What declare() asked for; kept from then on, if there is a record.
  enum class Hold : std::uint8_t { kNone, kLease, kLock };
  Hold hold = Hold::kNone;
  bool declared_read = false;      ///< by some declare() as not to be written
  std::uint64_t lease_end_us = 0;  ///< leased until then

  bool written = false;
  bool remove = false;
  std::string_view new_value = {};

  // While committing.
  record::StateWord lock = record::kFree;                    ///< our x-lock's word, if we have it
  record::StateWord replaced = record::kFree;                ///< what it has taken the place of
  record::TidWord locked_tid = 0;                            ///< of the version to overwrite
  record::TidWord locked_rts = 0;                            ///< under TicToc: until when that may be known to be valid
  std::optional<HeldVersion> locked_version = std::nullopt;  ///< the same version, if all of it is known
  epoch::Epoch kept_in = 0;      ///< the snapshot period for which that version is kept for snapshots
  void* release_room = nullptr;  ///< registered, for giving the lock back

  bool found() const { return seen == Seen::kRecord && !record::is_absent(tid); }
  /// Whether the transaction sees a value there, and which: its own write goes before what it has READ.
  bool there() const { return written ? !remove : found(); }
  std::string_view visible() const { return written ? new_value : value; }
  /// Returns the time until which the version that was seen is known to be valid under TicToc, by its wts and the rts that was READ with it.
  record::TidWord rts() const { return std::max(record::tid_of(tid), record::is_x_locked(state) ? 0 : state); }
  bool held() const { return lock != record::kFree; }
  bool leased() const { return lease_end_us != 0; }
  /// Whether commit has to look if it is still as it was seen.
  bool optimistic() const { return read && seen == Seen::kRecord && !sealed && !held() && !leased(); }
};

/// The accesses of a transaction, in the order of their first use. Addresses stay until clear(), which keeps the memory for the next
/// transaction.
class AccessTable {
 public:
  AccessTable() { clear(); }

  static std::uint64_t hash(const txn::RemoteKey& key);
  /// The key's entry, or nullptr.
  Access* find(const txn::RemoteKey& key);
  /// A new one; its key's bytes stay where they are.
  Access& add(const txn::RemoteKey& key, const KnownTable* table);
  void clear();

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  auto begin() { return entries_.begin(); }
  auto end() { return entries_.begin() + static_cast<std::ptrdiff_t>(size_); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.begin() + static_cast<std::ptrdiff_t>(size_); }

 private:
  static constexpr std::size_t kFewSlots = 32;
  static constexpr std::size_t kMostKept = 1024;

  void place(std::size_t index);

  std::deque<Access> entries_;  ///< the first size_ of them
  std::size_t size_ = 0;
  std::vector<std::uint32_t> slots_;  ///< open addressing by hash, a power of two: index + 1 into entries_
};

}  // namespace granary::cluster
