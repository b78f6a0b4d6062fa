#pragma once
// Finds a key in another node's hash table by one-sided READs only: one of its bucket, mostly; one more for each
// indirect header that it takes; and one of its name if it is not 8 bytes long.
//
// What counts is decided as in the table itself (kvstore/hash/bucket.h): a hit if its line's two version words are
// equal and even, a miss if those of all lines of the chain are. Names are freed without regard to other nodes, so what
// is READ of one counts only if the chain's version is still the same after it. Otherwise it begins anew, a bounded
// number of times.

#include <cstdint>
#include <optional>
#include <string_view>

#include "kvstore/hash/key.h"
#include "kvstore/remote/remote_table.h"
#include "rdma/fiber/step.h"

namespace granary::kvstore::remote {

enum class LookupOutcome : std::uint8_t {
  kOpen,  ///< has not ended
  kHit,
  kMiss,
  kBusy,  ///< the chain was being changed each time, or leads back to itself
  kBroken,
  kStale,
  kRefused,
};

class Lookup final : public rdma::fiber::Step {
 public:
  /// Times that a chain is begun with.
  static constexpr unsigned kTries = 32;
  /// Of memory that it needs in a registered region, on a cache line's boundary.
  static constexpr std::size_t buffer_bytes(std::size_t key_bytes) {
    return sizeof(hash::Bucket) + base::kCacheLine + sizeof(hash::Name) + base::round_up_to_word(key_bytes);
  }

  /// `table`, `key` and `buffer` outlive it.
  Lookup(const RemoteTable& table, std::string_view key, void* buffer);

  void append(std::vector<rdma::Operation>& chain) override;
  rdma::fiber::Next interpret() override;
  void fail(rdma::fiber::Failure failure) override { outcome_ = rdma::fiber::outcome_of<LookupOutcome>(failure); }

  LookupOutcome outcome() const { return outcome_; }
  /// Of a hit: the offset that the table has for the key, and the lossy incarnation beside it.
  std::uint64_t offset() const { return offset_; }
  std::uint64_t incarnation() const { return incarnation_; }
  /// Of a miss: as long as this bucket of the main header has this version, the key is not there.
  rdma::RemoteAddress bucket() const { return table_->bucket(home_.bucket); }
  std::uint64_t version() const { return *version_; }
  /// The word that the location cache knows the key by.
  std::uint64_t key_word() const { return key_.word; }
  /// READs so far.
  unsigned reads() const { return reads_; }

 private:
  /// Where in a bucket the search is: lines in the order of hash::line_at, and a slot of that line.
  struct Position {
    unsigned step = 0;
    unsigned slot = 0;
  };

  rdma::fiber::Next search();
  rdma::fiber::Next look_at_name();
  rdma::fiber::Next follow(hash::Entry link);
  rdma::fiber::Next hit(std::uint64_t offset);
  rdma::fiber::Next begin_anew();
  rdma::fiber::Next end(LookupOutcome outcome);

  const hash::Bucket& copy() const { return *static_cast<const hash::Bucket*>(buffer_); }
  std::uint64_t* version_word() const;
  hash::Name* name() const;
  std::uint32_t name_bytes() const;

  const RemoteTable* table_;
  hash::HashedKey key_;
  hash::Home home_;
  void* buffer_;
  rdma::RemoteAddress at_;                 ///< the bucket that is READ, or was
  std::uint64_t remembered_;               ///< offset of a bucket that was READ before
  unsigned links_ = 0;                     ///< followed since the chain was begun with
  Position position_;                      ///< in its copy
  bool torn_ = false;                      ///< a line of the copy, so that the key may be there although it is not seen
  std::optional<std::uint64_t> version_;   ///< of the chain, by the lines that have been looked at
  std::optional<hash::Entry> name_entry_;  ///< the name that is READ
  std::uint64_t line_version_ = 0;         ///< of the line where that was found
  unsigned tries_ = 0;
  unsigned reads_ = 0;
  LookupOutcome outcome_ = LookupOutcome::kOpen;
  std::uint64_t offset_ = 0;
  std::uint64_t incarnation_ = 0;
};

}  // namespace granary::kvstore::remote
