#pragma once
// Learns which records keys of other nodes have, and their values: hash tables are searched one-sided. Of ordered tables and indexes the leaves
// that are known of are READ (leaf_reads.h), and the owner is asked about other keys.

#include <span>

#include "src/cluster/record_access/key_read.h"
#include "src/cluster/transaction/footprint.h"

namespace granary::cluster {

class Reading {
 public:
  explicit Reading(Footprint& footprint) : footprint_(footprint) {}

  /// Sees to it that the transaction knows the key's value, its own write or what was READ, and relies on it from then on.
  AbortReason read(Access& access);
  /// Looks for the records of keys of which nothing is known yet.
  AbortReason look(std::span<Access* const> accesses);
  enum class Behind : std::uint8_t { kNothing, kEpochs };
  /// Does the same for keys of hash tables, one-sided, and READs E of all participants behind it if that is asked for.
  AbortReason look_up(std::span<Access* const> accesses, Behind behind = Behind::kNothing);
  /// These two are the parts of look_up(), for who runs the steps with others.
  AbortReason add_look_ups(std::span<Access* const> accesses, Batch<KeyRead>& reads, Batch<AccessStep*>& steps);
  AbortReason take(std::span<Access* const> accesses, const Batch<KeyRead>& reads);
  /// READs the records that did not come with an owner's answer.
  AbortReason fetch(std::span<Access* const> accesses);
  /// Takes what an owner says of a key's record.
  void take(Access& access, const messages::SeenRecord& seen);

 private:
  /// Looks for the keys in leaves that are known of. The rest becomes `unknown`.
  AbortReason look_at_leaves(std::span<Access* const> accesses, Batch<Access*>& unknown);
  /// Asks the owners.
  AbortReason ask(std::span<Access* const> accesses);
  /// Has the step bring a piece of the sweep of its table along. False if there is none to bring.
  bool bring_piece(const KnownTable& table, KeyRead& read);
  AbortReason take(Access& access, const KeyRead& read);

  Footprint& footprint_;
};

}  // namespace granary::cluster
