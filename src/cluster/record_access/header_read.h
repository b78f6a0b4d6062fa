#pragma once
// I4, at commit: whether a record that was read is still as it was, and nobody's.

#include "src/cluster/record_access/access_step.h"
#include "src/cluster/record_access/remote_record.h"

namespace granary::cluster {

/// A look, not a wait: kDone, kChanged or kBusy.
class HeaderRead final : public AccessStep {
 public:
  /// The TID word and the (whole) incarnation are what was read before. `buffer`: a SharedRecord in a registered region.
  HeaderRead(const RemoteRecord& record, record::TidWord tid, std::uint64_t incarnation, void* buffer,
             record::StateWord mine = record::kFree)
      : AccessStep(record.at),
        at_(record.at),
        tid_(tid),
        incarnation_(incarnation),
        buffer_(buffer),
        mine_(mine) {}

  void append(std::vector<rdma::Operation>& chain) override;
  rdma::fiber::Next settle() override;

 private:
  rdma::RemoteAddress at_;
  record::TidWord tid_;
  std::uint64_t incarnation_;
  void* buffer_;
  record::StateWord mine_;
};

}  // namespace granary::cluster
