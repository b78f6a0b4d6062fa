#pragma once
// Learns what is there of keys of other nodes: at hash tables one-sided, at others, and where it is not known, by asking the owner.

#include <span>

#include "src/cluster/transaction/footprint.h"

namespace granary::cluster {

class Reading {
 public:
  explicit Reading(Footprint& footprint) : footprint_(footprint) {}

  /// As txn::RemoteAccess.
  AbortReason get(std::span<txn::RemoteGet> gets);
  /// The key's entry, after which the transaction relies on what is there: its own write, or what was READ.
  AbortReason read(Access& access);
  /// Of keys of which nothing is known.
  AbortReason look(std::span<Access* const> accesses);
  enum class Behind : std::uint8_t { kNothing, kEpochs };
  /// One-sided; with E of all participants behind it, if that is asked for.
  AbortReason look_up(std::span<Access* const> accesses, Behind behind = Behind::kNothing);
  /// READs the values that came with no answer.
  AbortReason fetch(std::span<Access* const> accesses);
  /// Takes what an owner says of a key's record.
  void take(Access& access, const messages::SeenRecord& seen);

 private:
  AbortReason ask(std::span<Access* const> accesses);
  AbortReason take(Access& access, const class KeyRead& read);

  Footprint& footprint_;
};

}  // namespace granary::cluster
