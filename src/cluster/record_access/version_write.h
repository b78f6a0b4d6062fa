#pragma once
// I5: the WRITE that gives another node's record its new version, under the x-lock: TID word, size and incarnation,
// check word, the owner's rts, key, value. It never stores to the state, nor to the previous version, which is the
// owner's.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "src/cluster/record_access/remote_record.h"

namespace granary::cluster {

class VersionWrite {
 public:
  /// How much registered memory it needs for a value of so many bytes.
  static constexpr std::size_t buffer_bytes(std::size_t key_bytes, std::size_t value_bytes) {
    return record::shared_record_bytes(key_bytes, value_bytes) - kSkipped;
  }

  /// `buffer` begins with a word's boundary.
  VersionWrite(const RemoteRecord& record, void* buffer)
      : record_(record),
        words_(static_cast<std::uint64_t*>(buffer)) {}

  /// Prepares the version: `tid` has latest set, and absent for a delete, whose value is empty. The incarnation is the
  /// one under the lock.
  void set(record::TidWord tid, std::uint64_t incarnation, std::string_view value);
  bool is_set() const { return bytes_ != 0; }
  /// After set().
  rdma::Operation operation() const { return rdma::Operation::write(record_.at.plus(kSkipped), words_, bytes_); }

  const RemoteRecord& record() const { return record_; }

 private:
  /// The bytes that it leaves alone: state and previous version.
  static constexpr std::size_t kSkipped = offsetof(record::SharedRecord, head) + offsetof(record::Record, tid_word);

  RemoteRecord record_;
  std::uint64_t* words_;
  std::uint32_t bytes_ = 0;
};

}  // namespace granary::cluster
