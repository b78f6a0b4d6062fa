#pragma once
// A record of another node: where it should lie, and how a reader sees that it lies there (I3, I4).

#include <cstdint>
#include <optional>
#include <string_view>

#include "kvstore/hash/bucket.h"
#include "rdma/fabric.h"
#include "src/record/shared_record.h"

namespace granary::cluster {

struct RemoteRecord {
  /// The record of an index entry. Indexes hold the address of the word after the state word.
  static RemoteRecord at_entry(const rdma::RemoteAddress& entry, std::string_view key, std::uint64_t incarnation,
                               std::uint32_t max_value_bytes) {
    RemoteRecord record{.at = entry, .key = key, .incarnation = incarnation, .max_value_bytes = max_value_bytes};
    record.at.offset -= offsetof(record::SharedRecord, head);
    return record;
  }

  rdma::RemoteAddress at;  ///< of the state word
  std::string_view key;    ///< outlives the steps on the record
  std::uint64_t incarnation = 0;
  /// The bits of it that are known: an index entry has the lowest only.
  std::uint64_t incarnation_mask = (std::uint64_t{1} << kvstore::hash::kIncarnationBits) - 1;
  std::uint32_t max_value_bytes = 0;

  /// Sets the incarnation, of which all bits are known.
  void set_whole_incarnation(std::uint64_t whole) {
    incarnation = whole;
    incarnation_mask = record::kIncarnationMax;
  }
  /// Bytes of the header and the key, and of all of it.
  std::uint32_t head_bytes() const { return static_cast<std::uint32_t>(record::shared_value_offset(key.size())); }
  std::uint32_t bytes() const {
    return static_cast<std::uint32_t>(record::shared_record_bytes(key.size(), max_value_bytes));
  }

  /// Whether the bytes that were READ there (head_bytes() at least) are this record's, and the latest version of its
  /// key. The key of an incarnation never changes, so it does not matter when its words were READ.
  bool is(const record::SharedRecord& copy) const;
};

/// The value in a copy of the whole record, if the checksum shows that it is of one version (I4). The lock bit does not
/// count.
std::optional<std::string_view> whole_value(const RemoteRecord& record, const record::SharedRecord& copy);

/// Whether the record is locked, by a worker of its owner or by a holder other than `mine`.
constexpr bool locked_against(record::StateWord mine, record::StateWord state, record::TidWord tid) {
  return record::is_locked(tid) || (record::is_x_locked(state) && state != mine);
}

}  // namespace granary::cluster
