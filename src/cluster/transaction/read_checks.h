#pragma once
// Validates what a transaction has read at other nodes (I14): it READs the headers of records again, and the versions
// of leaves and buckets where keys were missed. The commit calls it (one_sided_commit.cc).
//
// Under TicToc the reads have to hold until the transaction's stamp, and there are three cases for a record:
//
// - Its rts, as READ before, reaches the stamp. Then nothing is asked.
// - The stamp is not later than (E, 0), for an E that the record's node is known to have reached. Every later writer
//   READs E there after its lock, and takes a time of at least (E, 1). So it is enough to find the record unchanged and
//   unlocked.
// - Otherwise its rts is raised to the stamp (src/cluster/record_access/extend.h). That is allowed only if the node has
//   reached the stamp's epoch, which can_check() tells.
//
// Where keys were missed, the worker tells the stamp in its line there (src/cc/shared_miss_times.h), before it looks at
// the versions in the same chain.

#include "src/cluster/transaction/footprint.h"

namespace granary::cluster {

class ReadChecks {
 public:
  explicit ReadChecks(Footprint& footprint) : footprint_(footprint) {}

  enum class Epochs : std::uint8_t { kKnown, kInFront };
  /// Makes all checks in one round. With kInFront it also READs E of all participants, in front of the checks. The
  /// steps `beside` run in the same round; the caller looks at their outcomes.
  AbortReason run(Epochs epochs, record::TidWord stamp, std::span<AccessStep* const> beside = {});
  /// Whether the checks can be made for this stamp now. They cannot if an rts, or a time of missed keys, would be
  /// raised beyond the epoch that its node is known to have reached.
  bool can_check(record::TidWord stamp) const;
  /// Whether there is nothing to check.
  bool nothing_to_check() const;

 private:
  /// How a record is checked: not at all, by a READ of its header, or by raising its rts as well.
  enum class Check : std::uint8_t { kNone, kHeader, kExtend };
  struct Round;

  Check check_of(const Access& access, record::TidWord stamp) const;
  epoch::Epoch reached_at(rdma::NodeId node) const;
  epoch::Epoch reached_at(const Access& access) const;
  bool has_to_tell_misses(rdma::NodeId node, record::TidWord stamp) const;
  void add_lines(Round& round, record::TidWord stamp);
  AbortReason add_records(Round& round, record::TidWord stamp);
  AbortReason add_versions(Round& round);
  AbortReason reason_of(const Round& round);
  AbortReason reason_of_check(const AccessStep& step) const;

  Footprint& footprint_;
};

}  // namespace granary::cluster
