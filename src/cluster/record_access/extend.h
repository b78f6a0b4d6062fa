#pragma once
// TicToc at another node: makes the version of a record that was READ valid until a later time
// (src/cc/tictoc/shared_record.h).
//
// One chain raises the state word by CAS from the rts that was seen to the one that is wanted, and READs the header. A
// writer that x-locks the record behind the CAS finds the new rts in what it replaces, and an owner that locks it
// behind the CAS loads it. Whoever had the lock before shows in the word that the CAS found, or by its lock bit or its
// new TID in the header.

#include "src/cluster/record_access/access_step.h"
#include "src/cluster/record_access/remote_record.h"

namespace granary::cluster {

/// The step does not wait for holders. It ends with kDone, kChanged or kBusy.
class Extend final : public AccessStep {
 public:
  static constexpr std::size_t kBufferBytes = base::kWord + sizeof(record::SharedRecord);

  /// `tid` and the (whole) `incarnation` are those that were READ before, `until` is the time until which the version
  /// has to be valid, and `seen` the state word, as far as it is known. If it has changed, the extension costs one more
  /// round. `buffer`: kBufferBytes in a registered region.
  Extend(const RemoteRecord& record, record::TidWord tid, record::TidWord until, record::StateWord seen, void* buffer)
      : AccessStep(record.at),
        at_(record.at),
        tid_(tid),
        incarnation_(record.incarnation),
        until_(until),
        words_(static_cast<std::uint64_t*>(buffer)),
        expected_(seen) {}

  void append(std::vector<rdma::Operation>& chain) override;
  rdma::fiber::Next interpret() override;

 private:
  const record::SharedRecord& copy() const { return *reinterpret_cast<const record::SharedRecord*>(words_ + 1); }

  rdma::RemoteAddress at_;
  record::TidWord tid_;
  std::uint64_t incarnation_;
  record::TidWord until_;
  std::uint64_t* words_;  ///< the CAS's old value, header
  record::StateWord expected_;
};

}  // namespace granary::cluster
