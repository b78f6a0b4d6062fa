#pragma once
// I4, at commit: READs the header of a record to see that it is as it was read, and locked by nobody.

#include "src/cluster/record_access/access_step.h"
#include "src/cluster/record_access/remote_record.h"

namespace granary::cluster {

/// Looks once and does not wait: kDone, kChanged or kBusy.
class HeaderRead final : public AccessStep {
 public:
  /// `tid` and the (whole) `incarnation` are those that were read before. `buffer`: a SharedRecord in a registered
  /// region.
  HeaderRead(const RemoteRecord& record, record::TidWord tid, std::uint64_t incarnation, void* buffer,
             record::StateWord mine = record::kFree)
      : AccessStep(record.at),
        at_(record.at),
        tid_(tid),
        incarnation_(incarnation),
        buffer_(buffer),
        mine_(mine) {}

  void append(std::vector<rdma::Operation>& chain) override;
  rdma::fiber::Next interpret() override;

 private:
  rdma::RemoteAddress at_;
  record::TidWord tid_;
  std::uint64_t incarnation_;
  void* buffer_;
  record::StateWord mine_;
};

}  // namespace granary::cluster
