#pragma once
// Keeps what a transaction remembers of keys of other nodes: one Access for each key, with what was read there, what is
// held, and what will be written. All parts of a transaction (reading.h, locks.h, declared_keys.h, one_sided_commit.h)
// work on these entries.

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>
#include <vector>

#include "src/cluster/record_access/version_copy.h"
#include "src/cluster/transaction/directory.h"
#include "src/txn/remote_access.h"

namespace granary::cluster {

/// Tells what the transaction has seen of a key at its home, by READs or by the owner's answers.
struct SeenKey {
  enum class What : std::uint8_t {
    kNothing,   ///< the transaction has not looked for the key yet
    kRecord,    ///< the key has a record, which may be absent; the other members say what is known of it
    kNoRecord,  ///< the key has no record; the node set has the place where that was seen
  };

  What what = What::kNothing;
  bool has_value = false;                   ///< `value` is known, or the record is absent
  record::TidWord tid = 0;                  ///< the TID word
  record::StateWord state = record::kFree;  ///< the state word that was READ with it; kFree if that is not known
  std::string_view value = {};              ///< the value, if it is known and the record is not absent

  void note_no_record() { *this = {.what = What::kNoRecord}; }
  /// Notes that the key has a record, of which nothing more is known yet.
  void note_record() { *this = {.what = What::kRecord}; }
  /// Notes the version of the record. Without a value, that has to be READ yet, unless the record is absent.
  void note_version(record::TidWord tid_word, record::StateWord state_word, std::optional<std::string_view> found) {
    const bool absent = record::is_absent(tid_word);
    *this = {.what = What::kRecord,
             .has_value = absent || found,
             .tid = tid_word,
             .state = state_word,
             .value = absent ? std::string_view() : found.value_or(std::string_view())};
  }
};

/// How declare() asked the record to be held. It is held from then on, if the key has a record.
struct DeclaredHold {
  enum class Kind : std::uint8_t { kNone, kLease, kLock };

  Kind kind = Kind::kNone;
  bool only_read = false;          ///< a declare() said that the key will only be read
  std::uint64_t lease_end_us = 0;  ///< when the lease on the record ends; 0: there is none
};

/// The write that is buffered until the commit.
struct BufferedWrite {
  bool is_set = false;
  bool removes = false;
  std::string_view value = {};  ///< empty if it removes the key
};

/// The x-lock that the transaction has on the record, since its commit or before, and the version under the lock.
struct HeldXLock {
  record::StateWord word = record::kFree;  ///< the word of the x-lock; kFree: the transaction does not hold it
  /// The state word that whoever gives the record back unchanged leaves there: the one whose place the x-lock has
  /// taken, or under TicToc a later rts.
  record::StateWord state_to_leave = record::kFree;
  record::TidWord tid = 0;  ///< the TID of the version, also after the lock was given back; 0: no lock was taken
  record::TidWord rts = 0;  ///< under TicToc: until when anybody may rely on the version
  std::optional<HeldVersion> version = std::nullopt;  ///< the version, if all of it is known
  epoch::Epoch kept_in = 0;      ///< the snapshot period for which the version has been kept (I12); 0: none
  void* release_room = nullptr;  ///< registered memory for giving the lock back; set before the lock is taken
};

/// One key of another node. A transaction opens the entry, may declare the key, sees what is at the key's home, buffers
/// a write, and x-locks the record, mostly in this order.
struct Access {
  // Footprint::open() sets these members when it makes the entry.
  txn::RemoteKey key;  ///< its bytes live as long as the transaction
  const KnownTable* table = nullptr;
  std::uint64_t hash = 0;  ///< AccessTable::hash(key)
  bool sealed = false;     ///< the table was sealed before anything of the key was seen, so it never changes (I31)

  bool read = false;  ///< the transaction relies on what was seen, or will be seen
  SeenKey seen = {};
  /// Where the record is. It is known if a record was seen. Before that it may be the place that the location cache
  /// remembers for the key, or where the key's leaf leads, and an x-lock is tried there at once (LockedReads).
  RemoteRecord record = {};
  /// Whether the remembered place has turned out to be another record's. Then the look-up that follows does not count
  /// as a miss besides.
  bool place_was_stale = false;
  DeclaredHold declared = {};
  BufferedWrite write = {};
  HeldXLock lock = {};

  bool unseen() const { return seen.what == SeenKey::What::kNothing; }
  bool has_record() const { return seen.what == SeenKey::What::kRecord; }
  /// Whether the key has a record whose value has to be READ yet.
  bool lacks_value() const { return has_record() && !seen.has_value; }
  bool has_no_record() const { return seen.what == SeenKey::What::kNoRecord; }
  /// Notes that the transaction relies on what is at the key's home, unless it sees its own write there. Returns
  /// whether nothing of the key has been seen yet, so that it has to be looked for.
  bool note_read() {
    if (written() || read) return false;
    read = true;
    return unseen();
  }
  /// Whether the key had a value when it was READ.
  bool had_value() const { return has_record() && !record::is_absent(seen.tid); }
  bool written() const { return write.is_set; }
  /// Whether the transaction sees a value, and which one: its own write, if there is one, and otherwise what it has
  /// READ.
  bool is_visible() const { return written() ? !write.removes : had_value(); }
  std::string_view visible_value() const { return written() ? write.value : seen.value; }
  /// Returns the time until which the version that was seen is known to be valid under TicToc: its wts, or the rts in
  /// the state word that was READ with it.
  record::TidWord rts() const {
    return std::max(record::tid_of(seen.tid), record::is_x_locked(seen.state) ? 0 : seen.state);
  }
  bool x_locked() const { return lock.word != record::kFree; }
  bool leased() const { return declared.lease_end_us != 0; }
  /// Whether the commit has to check that the record is still as it was seen.
  bool needs_validation() const { return read && has_record() && !sealed && !x_locked() && !leased(); }
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
