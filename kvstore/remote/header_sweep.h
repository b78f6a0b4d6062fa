#pragma once
// Fills the location cache of another node's hash table before its keys are asked for: by READs of the main header, sixteen buckets in
// each, which travel along with lookups that had to be made (DrTM fetches whole buckets for the same reason, slide 47). So who looks up
// a key pays for a piece of the sweep, and nobody pays once the cache knows where everything is.
//
// What a sweep finds takes only room that nobody uses, and the whole table has to fit into what the caches' budget has left: of a table that
// does not, the cache remembers what is asked for, as it does without a sweep. Keys behind a bucket's link, and keys that are not 8 bytes
// long, are left to lookups.
//
// A sweep ends, and the table changes. Lookups that find a key which the cache did not know are the sign of it: when there were
// several for each piece, the sweep is made once more.

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "kvstore/remote/location_cache.h"
#include "kvstore/remote/remote_table.h"

namespace granary::kvstore::remote {

/// Shared by all workers of the node, any of which may call everything.
class HeaderSweep {
 public:
  /// Buckets in a piece: 3 KiB, which a READ brings in little more time than one bucket.
  static constexpr std::uint64_t kPieceBuckets = 16;
  static constexpr std::size_t kPieceBytes = kPieceBuckets * sizeof(hash::Bucket);
  /// A sweep is made once more when each of its pieces could have been brought by so many lookups since.
  static constexpr std::uint64_t kLookupsOfPiece = 4;

  /// `table` and `cache`, which is of this table, outlive it.
  HeaderSweep(const RemoteTable& table, LocationCache& cache) : table_(table), cache_(cache) {}

  /// Returns the first bucket of the piece to be READ next, which is the caller's alone; nullopt if there is none.
  std::optional<std::uint64_t> next();
  /// Appends the READ of a piece into kPieceBytes at `buffer`.
  void append(std::uint64_t piece, void* buffer, std::vector<rdma::Operation>& chain) const;
  /// Remembers what a piece holds that has been READ.
  void take(std::uint64_t piece, const hash::Bucket* copy);
  /// Notes that a lookup has found a key that the cache did not know.
  void found_unknown();

 private:
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};

  std::uint64_t buckets_of(std::uint64_t piece) const;
  bool fits(std::uint64_t found, std::uint64_t swept);

  const RemoteTable& table_;
  LocationCache& cache_;
  // All relaxed: they share out work and estimate, and nothing else is published by them.
  std::atomic<std::uint64_t> next_{
      0};  // bucket; at the table's end, or behind it: the sweep is over; kNever: it does not fit
  std::atomic<std::uint64_t> swept_{0};    // buckets of this sweep that have been looked at
  std::atomic<std::uint64_t> found_{0};    // keys in them
  std::atomic<std::uint64_t> unknown_{0};  // keys that lookups have found since the sweep's end
};

/// The READ of one piece, for a step that brings it along: nothing, or a piece until it has been taken.
class PieceRead {
 public:
  PieceRead() = default;
  /// `buffer` has HeaderSweep::kPieceBytes in a registered region. Both outlive it.
  PieceRead(HeaderSweep& sweep, std::uint64_t piece, void* buffer) : sweep_(&sweep), piece_(piece), buffer_(buffer) {}

  void append(std::vector<rdma::Operation>& chain) const {
    if (sweep_ != nullptr) sweep_->append(piece_, buffer_, chain);
  }
  /// The READ has completed. Does nothing from the second call on.
  void take() {
    if (sweep_ != nullptr) sweep_->take(piece_, static_cast<const hash::Bucket*>(buffer_));
    sweep_ = nullptr;
  }

 private:
  HeaderSweep* sweep_ = nullptr;
  std::uint64_t piece_ = 0;
  void* buffer_ = nullptr;
};

}  // namespace granary::kvstore::remote
