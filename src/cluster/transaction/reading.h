#pragma once
// Finds out which records keys of other nodes have, and their values. Hash tables are searched one-sided. For ordered
// tables and indexes the leaves whose places are remembered are READ (leaf_reads.h), and the owner is asked about all
// other keys.

#include <span>

#include "src/cluster/record_access/key_read.h"
#include "src/cluster/transaction/footprint.h"
#include "src/cluster/transaction/leaf_reads.h"
#include "src/cluster/transaction/record_reads.h"

namespace granary::cluster {

class Reading {
 public:
  explicit Reading(Footprint& footprint) : footprint_(footprint) {}

  // The functions that return an AbortReason return kNone, or why the transaction must end.

  /// Makes sure that the transaction knows the key's value, and notes that it relies on it. If it has written the key,
  /// that is its own value, and nothing is noted.
  AbortReason read(Access& access);
  /// Finds the records and values of keys of which nothing is known yet, and the values of records that were found
  /// without them. The keys may be of tables of any kind.
  AbortReason find(std::span<Access* const> accesses);
  enum class Behind : std::uint8_t { kNothing, kEpochs };
  /// Finds the records and values of keys of hash tables, one-sided. With kEpochs it READs E of all participants behind
  /// the records.
  AbortReason look_up(std::span<Access* const> accesses, Behind behind = Behind::kNothing);
  /// The first half of look_up(): makes a step for each key, which the caller runs together with other steps.
  AbortReason add_look_ups(std::span<Access* const> accesses, Batch<KeyRead>& reads, Batch<AccessStep*>& steps);
  /// The second half of look_up(): notes what the steps have found, in the order in which they were made.
  AbortReason adopt_look_ups(std::span<Access* const> accesses, const Batch<KeyRead>& reads);
  /// READs the records that were found without their values.
  AbortReason fetch_values(std::span<Access* const> accesses);
  /// The first half of fetch_values(), for records that all lack their values: makes a step for each of them.
  AbortReason add_fetches(std::span<Access* const> accesses, Batch<CheckedRead>& reads, Batch<AccessStep*>& steps) {
    return add_record_reads(footprint_, accesses, reads, steps);
  }
  /// The second half of fetch_values(): notes what the steps have READ, in the order in which they were made.
  AbortReason adopt_fetches(std::span<Access* const> accesses, const Batch<CheckedRead>& reads);
  /// Adds the leaves that may have the keys, as far as their places are remembered. Keys of hash tables are left out.
  /// `unknown`: kIsNoMiss if find() looks for the other keys' leaves again.
  void add_leaves(std::span<Access* const> accesses, LeafReads& leaves, LeafReads::Unknown unknown);
  /// Looks for the keys in the leaves, which have been READ. A key that has an entry there gets the place of its
  /// record, of which nothing is known yet, and is added to `placed`. Of a key without an entry it is noted that there
  /// is no record. A key that no leaf covers stays unseen.
  AbortReason find_in_leaves(std::span<Access* const> accesses, LeafReads& leaves, Batch<Access*>& placed);
  /// Notes what an owner has told of a key's record.
  void adopt_answer(Access& access, const messages::SeenRecord& told);

 private:
  /// Looks for the keys in all leaves whose places are remembered. Keys that these leaves do not cover stay unseen.
  AbortReason look_in_leaves(std::span<Access* const> accesses);
  /// Asks the owners for the records and values.
  AbortReason ask_owners(std::span<Access* const> accesses);
  /// Makes the step READ a piece of its table's main header, too, to fill the location cache. False if the whole header
  /// was READ already, or there is no memory for the piece.
  bool add_header_piece(const KnownTable& table, KeyRead& read);
  AbortReason adopt_look_up(Access& access, const KeyRead& read);

  Footprint& footprint_;
};

}  // namespace granary::cluster
