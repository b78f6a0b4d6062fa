#pragma once
// Looks at the commit whether what a transaction has read at other nodes still holds: the headers of records, and the versions of leaves and
// buckets where keys were missed.
//
// Under TicToc it has to hold until the transaction's stamp. Nothing is asked of a record that is known to be valid for so long. It is enough to find
// one unchanged and unlocked if nobody can overwrite it at an earlier time, since E there was in the stamp's epoch, or in a later one, before it was
// looked at. The rts of others is raised (record_access/extend.h). Where keys were missed, the worker says so in its line there
// (src/cc/misses.h) before it looks at the versions.

#include "kvstore/remote/version_check.h"
#include "src/cluster/transaction/footprint.h"

namespace granary::cluster {

class ReadChecks {
 public:
  explicit ReadChecks(Footprint& footprint) : footprint_(footprint) {}

  enum class Epochs : std::uint8_t { kKnown, kInFront };
  /// Makes all checks in one round, and with kInFront READs E of all participants in front of them. The round has the steps `beside`, too; the
  /// caller looks at what became of them.
  AbortReason run(Epochs epochs, record::TidWord stamp, std::span<AccessStep* const> beside = {});
  /// Returns whether the checks can be made now. They cannot if something would be raised beyond the epoch that its node is known to have
  /// reached.
  bool possible(record::TidWord stamp) const;
  /// Returns whether there is nothing to check.
  bool none() const;

 private:
  enum class Check : std::uint8_t { kNone, kHeader, kExtend };
  Check check_of(const Access& access, record::TidWord stamp) const;
  epoch::Epoch reached_at(rdma::NodeId node) const;
  epoch::Epoch reached_at(const Access& access) const;
  bool has_to_tell_misses(rdma::NodeId node, record::TidWord stamp) const;
  AbortReason add_lines(Batch<class LineWrite>& lines, Batch<Step*>& steps, record::TidWord stamp);
  AbortReason add_records(Batch<class HeaderRead>& headers, Batch<class Extend>& extensions, Batch<Step*>& steps,
                          record::TidWord stamp);
  bool add_versions(Batch<kvstore::remote::VersionCheck>& versions, Batch<Step*>& steps);
  AbortReason why_not(const AccessStep& step) const;

  Footprint& footprint_;
};

}  // namespace granary::cluster
