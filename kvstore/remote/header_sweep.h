#pragma once
// Fills the location cache of another node's hash table before its keys are asked for. A sweep READs the main header,
// sixteen buckets at a time, and these READs travel along with lookups that have to be made anyway (DrTM fetches whole
// buckets for the same reason, slide 47). Each lookup pays for a piece of the sweep, and no lookup is needed any more
// once the cache knows where all keys are.
//
// A sweep stores its findings only into entries that are free. It stops if the table is too large for what the budget
// of all caches has left; then the cache remembers the keys that are asked for, as it does without a sweep. Lookups
// have to find two kinds of keys: those in a bucket's indirect headers, and those that are not 8 bytes long.
//
// The table goes on changing when the sweep is over. Lookups that find a key which the cache did not know are a sign of
// that, so after several of them for each piece the sweep is made once more.

#include <atomic>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "kvstore/hash/key.h"
#include "kvstore/remote/location_cache.h"
#include "kvstore/remote/remote_table.h"

namespace granary::kvstore::remote {

/// A sweep of one table. All workers of the node share it, and any of them may call everything.
class HeaderSweep {
 public:
  /// The number of buckets in a piece: 3 KiB, which a READ brings in little more time than one bucket.
  static constexpr std::uint64_t kPieceBuckets = 16;
  static constexpr std::size_t kPieceBytes = kPieceBuckets * sizeof(hash::Bucket);
  /// A sweep is made once more when each of its pieces could have been brought by so many lookups since.
  static constexpr std::uint64_t kLookupsOfPiece = 4;

  /// `table`, and `cache`, which is of this table, must outlive the sweep.
  HeaderSweep(const RemoteTable& table, LocationCache& cache) : table_(table), cache_(cache) {}

  /// Whether a sweep can find keys of this length.
  static bool finds(std::string_view key) { return hash::HashedKey(key).type() == hash::EntryType::kRecord; }
  /// Returns the first bucket of the piece to be READ next, which is the caller's alone; nullopt if there is none.
  std::optional<std::uint64_t> next();
  /// Appends the READ of a piece into kPieceBytes at `buffer`.
  void append(std::uint64_t piece, void* buffer, std::vector<rdma::Operation>& chain) const;
  /// Remembers the records in a piece that has been READ.
  void take(std::uint64_t piece, const hash::Bucket* copy);
  /// Notes that a lookup has found a key that the cache did not know.
  void found_unknown();

 private:
  /// Marks the end of sweeps. It is far from the greatest number, since each worker may still add to it once in next().
  static constexpr std::uint64_t kNever = std::uint64_t{1} << 63;

  static constexpr std::uint64_t kOneKey = std::uint64_t{1} << 28;  ///< 2^32 buckets have fewer pieces than this

  std::uint64_t buckets_of(std::uint64_t piece) const;
  bool fits(std::uint64_t seen);

  const RemoteTable& table_;
  LocationCache& cache_;
  // Any worker loads and stores these. The order is relaxed, because they share out work and estimate, and publish
  // nothing else.
  /// The bucket that is READ next. The sweep is over if it is at least the number of buckets. If it is at least kNever,
  /// the table does not fit.
  std::atomic<std::uint64_t> next_{0};
  /// How many pieces of this sweep have been looked at, plus kOneKey for each key in them. It is one word, so that
  /// another worker that begins the next sweep cannot come between the two numbers.
  std::atomic<std::uint64_t> seen_{0};
  std::atomic<std::uint64_t> unknown_{0};  // keys that lookups have found since the sweep's end
};

/// Holds the READ of one piece for the step that brings it along. It holds nothing if there is no piece, or the piece
/// has been taken.
class PieceRead {
 public:
  PieceRead() = default;
  /// `buffer` has HeaderSweep::kPieceBytes in a registered region. Both outlive it.
  PieceRead(HeaderSweep& sweep, std::uint64_t piece, void* buffer) : sweep_(&sweep), piece_(piece), buffer_(buffer) {}

  void append(std::vector<rdma::Operation>& chain) const {
    if (sweep_ != nullptr) [[unlikely]]
      sweep_->append(piece_, buffer_, chain);
  }
  /// Gives the sweep the piece when its READ has completed. Later calls do nothing.
  void take() {
    if (sweep_ == nullptr) [[likely]]
      return;
    sweep_->take(piece_, static_cast<const hash::Bucket*>(buffer_));
    sweep_ = nullptr;
  }

 private:
  HeaderSweep* sweep_ = nullptr;
  std::uint64_t piece_ = 0;
  void* buffer_ = nullptr;
};

}  // namespace granary::kvstore::remote
