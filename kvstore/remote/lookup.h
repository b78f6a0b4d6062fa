#pragma once
// Finds a key in another node's hash table by one-sided READs only: mostly one of its bucket, one more for each
// indirect header on the way, and one of its name if it is not 8 bytes long.
//
// A result counts by the rules of the table itself (kvstore/hash/bucket.h): a hit if its line's two version words are
// equal and even, a miss if those of all lines of the chain are. Names are freed without regard to other nodes, so a
// name that was READ counts only if the chain's version is still the same after that. If it is not, the lookup begins
// anew, a bounded number of times.

#include <cstdint>
#include <optional>
#include <string_view>

#include "kvstore/hash/key.h"
#include "kvstore/remote/remote_table.h"
#include "rdma/fiber/step.h"

namespace granary::kvstore::remote {

enum class LookupOutcome : std::uint8_t {
  kOpen,  ///< the lookup has not ended
  kHit,
  kMiss,
  kBusy,  ///< the chain was being changed each time, or leads back to itself
  kBroken,
  kStale,
  kRefused,
};

class Lookup final : public rdma::fiber::Step {
 public:
  /// How often the lookup begins with the chain.
  static constexpr unsigned kTries = 32;
  /// Returns how much memory it needs in a registered region, on a cache line's boundary.
  static constexpr std::size_t buffer_bytes(std::size_t key_bytes) {
    return sizeof(hash::Bucket) + base::kCacheLine + sizeof(hash::Name) + base::round_up_to_word(key_bytes);
  }

  /// `table`, `key` and `buffer` must outlive the lookup.
  Lookup(const RemoteTable& table, std::string_view key, void* buffer);

  void append(std::vector<rdma::Operation>& chain) override;
  rdma::fiber::Next interpret() override;
  void fail(rdma::fiber::Failure failure) override { outcome_ = rdma::fiber::outcome_of<LookupOutcome>(failure); }

  LookupOutcome outcome() const { return outcome_; }
  /// Returns, after a hit, the offset that the table has for the key. The next function returns the lossy incarnation
  /// beside it.
  std::uint64_t offset() const { return offset_; }
  std::uint64_t incarnation() const { return incarnation_; }
  /// Returns, after a miss, the bucket of the main header: as long as it has version(), the key is not there.
  rdma::RemoteAddress bucket() const { return table_->bucket(home_.bucket); }
  std::uint64_t version() const { return *version_; }
  /// Returns the word by which the location cache knows the key.
  std::uint64_t key_word() const { return key_.word; }
  /// Returns how many READs the lookup has made so far.
  unsigned reads() const { return reads_; }

 private:
  /// The place of the search in a bucket: a line, in the order of hash::line_at, and a slot of that line.
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
  rdma::RemoteAddress at_;                 ///< the bucket that is READ now, or was READ last
  std::uint64_t remembered_;               ///< the offset of a bucket that was READ before
  unsigned links_ = 0;                     ///< links followed since the lookup last began with the chain
  Position position_;                      ///< the place in its copy
  bool torn_ = false;                      ///< whether a line of the copy is torn, so that the key may be there unseen
  std::optional<std::uint64_t> version_;   ///< the chain's version, by the lines looked at so far
  std::optional<hash::Entry> name_entry_;  ///< the name that is READ
  std::uint64_t line_version_ = 0;         ///< the version of the line with that entry
  unsigned tries_ = 0;
  unsigned reads_ = 0;
  LookupOutcome outcome_ = LookupOutcome::kOpen;
  std::uint64_t offset_ = 0;
  std::uint64_t incarnation_ = 0;
};

}  // namespace granary::kvstore::remote
