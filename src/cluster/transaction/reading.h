#pragma once
// Finds out which records keys of other nodes have, and their values. Hash tables are searched one-sided. For ordered
// tables and indexes the leaves whose places are remembered are READ (leaf_reads.h), and the owner is asked about all
// other keys.

#include <span>

#include "src/cluster/record_access/key_read.h"
#include "src/cluster/transaction/footprint.h"

namespace granary::cluster {

class Reading {
 public:
  explicit Reading(Footprint& footprint) : footprint_(footprint) {}

  // The functions that return an AbortReason return kNone, or why the transaction must end.

  /// Makes sure that the transaction knows the key's value, and notes that it relies on it. If it has written the key,
  /// that is its own value, and nothing is noted.
  AbortReason read(Access& access);
  /// Finds the records and values of keys of which nothing is known yet. The keys may be of tables of any kind.
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
  /// Notes what an owner has told of a key's record.
  void adopt_answer(Access& access, const messages::SeenRecord& told);

 private:
  /// Looks for the keys in leaves whose places are remembered. Keys that these leaves do not cover are added to
  /// `unknown`.
  AbortReason find_in_leaves(std::span<Access* const> accesses, Batch<Access*>& unknown);
  /// Asks the owners for the records and values.
  AbortReason ask_owners(std::span<Access* const> accesses);
  /// Makes the step READ a piece of its table's main header, too, to fill the location cache. False if the whole header
  /// was READ already, or there is no memory for the piece.
  bool add_header_piece(const KnownTable& table, KeyRead& read);
  AbortReason adopt_look_up(Access& access, const KeyRead& read);

  Footprint& footprint_;
};

}  // namespace granary::cluster
