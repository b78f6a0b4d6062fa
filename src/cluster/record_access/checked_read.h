#pragma once
// READs a whole record in one READ, and returns a value only if the copy is not torn, not locked and of the right
// record (I4).

#include <string_view>

#include "src/cluster/record_access/access_step.h"
#include "src/cluster/record_access/remote_record.h"

namespace granary::cluster {

class CheckedRead final : public AccessStep {
 public:
  /// `buffer`: record.bytes() in a registered region. `mine`: the reader's own x-lock, which does not count as one.
  CheckedRead(const RemoteRecord& record, void* buffer, record::StateWord mine = record::kFree)
      : AccessStep(record.at),
        record_(record),
        buffer_(buffer),
        mine_(mine) {}
  /// READs the record of RemoteRecord::at_entry().
  CheckedRead(const rdma::RemoteAddress& entry, std::string_view key, std::uint64_t incarnation,
              std::uint32_t max_value_bytes, void* buffer)
      : AccessStep(entry),
        record_(RemoteRecord::at_entry(entry, key, incarnation, max_value_bytes)),
        buffer_(buffer),
        mine_(record::kFree) {}

  void append(std::vector<rdma::Operation>& chain) override;
  rdma::fiber::Next interpret() override;

  const RemoteRecord& record() const { return record_; }
  /// After kDone: the value, in the buffer.
  std::string_view value() const;
  /// After kDone and kMissing: the TID word, for validation, and the record's whole incarnation.
  record::TidWord tid() const { return copy().head.tid_word; }
  std::uint64_t incarnation() const { return record::incarnation_of(copy().head.size_word); }
  /// The state word that was there at the same moment.
  record::StateWord state() const { return copy().state_word; }
  /// The address that its owner has for the version before, if the reader holds the record's x-lock; otherwise it may
  /// be of another version.
  std::uint64_t previous() const { return copy().head.previous_word; }
  /// How often the checksum showed that others had been writing meanwhile.
  unsigned torn() const { return torn_; }

 private:
  const record::SharedRecord& copy() const { return *static_cast<const record::SharedRecord*>(buffer_); }
  std::string_view content() const;
  bool whole() const;

  RemoteRecord record_;
  void* buffer_;
  record::StateWord mine_;
  unsigned torn_ = 0;
};

}  // namespace granary::cluster
