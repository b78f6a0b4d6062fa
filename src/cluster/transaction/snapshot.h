#pragma once
// Reads of a snapshot at other nodes.

#include <vector>

#include "src/cluster/transaction/reach.h"
#include "src/txn/remote.h"

namespace granary::cluster {

class SnapshotsElsewhere final : public txn::RemoteSnapshots {
 public:
  explicit SnapshotsElsewhere(Reach& reach) : reach_(reach) {}

  void get(epoch::Epoch epoch, std::span<txn::RemoteSnapshotGet> gets) override;
  ScanResult scan(epoch::Epoch epoch, const txn::TableCore& table, std::uint16_t home, const ScanRange& range,
                  ScanFn visit) override;

 private:
  void ask_patiently(std::vector<messages::Question*> questions);
  /// What became of a question.
  granary::Outcome told(const messages::Question& question) const;

  Reach& reach_;
};

}  // namespace granary::cluster
