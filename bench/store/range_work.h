#pragma once
// Splits the work on all keys that a process has of a table into pieces of one partition each, for several threads.

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <vector>

#include "bench/harness/client_number.h"
#include "bench/harness/jobs.h"
#include "bench/harness/key_ranges.h"
#include "bench/store/store.h"
#include "src/base/random.h"

namespace granary::bench::store {

/// A range of neighbouring keys of one partition.
struct Piece {
  std::uint32_t partition;
  KeyRange keys;
};

/// Returns the partition that a client's requests begin in: its node's, or one by its worker, in turn.
inline std::uint32_t home_partition(const KeyRanges& ranges, const NodeShare& share, std::uint32_t client) {
  return share.alone() ? worker_of_client(client) % ranges.parts() : share.node;
}

/// Returns a random partition other than `home`. Precondition: there is one.
inline std::uint32_t other_partition(const KeyRanges& ranges, std::uint32_t home, base::Random& random) {
  const auto other = static_cast<std::uint32_t>(random.below(ranges.parts() - 1));
  return other < home ? other : other + 1;
}

/// Returns `home` or, with probability `distributed`, another partition, if there are others.
inline std::uint32_t home_or_other(const KeyRanges& ranges, std::uint32_t home, double distributed,
                                   base::Random& random) {
  return ranges.parts() > 1 && random.chance(distributed) ? other_partition(ranges, home, random) : home;
}

/// Draws the place of an element, each as often as it says in per cent. Precondition: they add up to 100.
template <std::size_t N>
std::size_t draw_of(const std::array<std::uint32_t, N>& percent, base::Random& random) {
  std::uint64_t draw = random.below(100);
  std::size_t place = 0;
  while (draw >= percent[place]) draw -= percent[place++];
  return place;
}

class RangeWork {
 public:
  /// Takes the partitions of this process: all if it is alone, and otherwise the one of the node's number.
  RangeWork(const KeyRanges& ranges, const NodeShare& share) {
    for (std::uint32_t part = 0; part < ranges.parts(); ++part) {
      if (!share.alone() && part != share.node) continue;
      keys_ += ranges[part].size();
      parts_.push_back({part, ranges[part]});
    }
  }

  std::uint64_t keys() const { return keys_; }

  /// Calls `work(session, piece) → Status` for each piece; stops at the first error.
  template <Store S, typename Work>
  Status run(S& store, unsigned threads, Work&& work) const {
    const std::vector<Piece> pieces = cut();
    const auto make_worker = [&]() -> Result<std::function<Status(std::size_t)>> {
      auto made = store.session(0);
      if (!made.ok()) return made.status();
      std::shared_ptr<typename S::Session> session = std::move(*made);
      return std::function<Status(std::size_t)>(
          [&pieces, session, &work](std::size_t job) { return work(*session, pieces[job]); });
    };
    return run_jobs(threads, pieces.size(), make_worker);
  }

 private:
  /// Returns the pieces of a run. The constructor does not cut them: it is called before anybody has checked that
  /// memory has room for so many keys, and the pieces of too many would take seconds and gigabytes themselves.
  std::vector<Piece> cut() const {
    constexpr std::uint64_t kPiece = 10'000;
    std::vector<Piece> pieces;
    for (const Piece& part : parts_) {
      for (KeyRange rest = part.keys; rest.from < rest.to; rest.from += kPiece)
        pieces.push_back({part.partition, {rest.from, std::min(rest.to, rest.from + kPiece)}});
    }
    return pieces;
  }

  std::vector<Piece> parts_;  ///< the partitions, not cut
  std::uint64_t keys_ = 0;
};

}  // namespace granary::bench::store
