#pragma once
// Reads for a snapshot at other nodes: it implements txn::RemoteSnapshots. SnapshotContext
// (src/txn/snapshot_context.h) calls it.

#include <vector>

#include "src/cluster/transaction/reach.h"
#include "src/txn/remote_access.h"

namespace granary::cluster {

class RemoteSnapshotReads final : public txn::RemoteSnapshots {
 public:
  explicit RemoteSnapshotReads(Reach& reach) : reach_(reach) {}

  void get(epoch::Epoch epoch, std::span<txn::RemoteSnapshotGet> gets) override;
  ScanResult scan(epoch::Epoch epoch, const txn::TableCore& table, std::uint16_t home, const ScanRange& range,
                  ScanFn visit) override;

 private:
  ScanResult scan(messages::QuestionOf<messages::SnapshotScan>& ask, const messages::SnapshotScan& all, bool indexed,
                  ScanFn visit);
  void ask_patiently(std::span<messages::Question* const> questions);
  /// Returns the outcome of a read from what became of its question.
  Outcome told(const messages::Question& question) const;

  Reach& reach_;
  messages::Questions<messages::SnapshotGet> gets_;
  messages::Questions<messages::SnapshotScan> scans_;  ///< one for each scan that goes on, as a visitor may scan, too
  std::vector<messages::Question*> open_;              ///< questions that are not answered yet
};

}  // namespace granary::cluster
