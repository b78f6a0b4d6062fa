#pragma once
// READs a leaf of another node's ordered table, which a LeafCache has found, and sees whether it is still that leaf.
// The chain READs the version, the leaf, and the version again, as kvstore/ordered/leaf_copy.h needs it.

#include "kvstore/ordered/leaf_copy.h"
#include "kvstore/remote/leaf_cache.h"
#include "rdma/fiber/step.h"
#include "src/base/cache_line.h"

namespace granary::kvstore::remote {

class LeafRead final : public rdma::fiber::Step {
 public:
  enum class Outcome : std::uint8_t {
    kOpen,  ///< the step has not ended
    kRead,
    kGone,  ///< the leaf is not there any more
    kBusy,  ///< the leaf was being changed each time
    kBroken,
    kStale,
    kRefused,  ///< the address is outside of the node's region
  };
  /// How often the step READs a leaf that is being changed.
  static constexpr unsigned kTries = 8;
  static constexpr std::size_t kBufferBytes = 2 * base::kCacheLine + ordered::LeafCopy::kBytes;

  /// `at` is the address of the leaf. `buffer` has kBufferBytes in a registered region, on a cache line's boundary.
  LeafRead(const rdma::RemoteAddress& at, const KnownLeaf& leaf, void* buffer)
      : Step(at),
        at_(at),
        leaf_(leaf),
        buffer_(static_cast<char*>(buffer)) {}

  void append(std::vector<rdma::Operation>& chain) override;
  rdma::fiber::Next interpret() override;
  void fail(rdma::fiber::Failure failure) override { outcome_ = rdma::fiber::outcome_of<Outcome>(failure); }

  Outcome outcome() const { return outcome_; }
  /// Returns the leaf as it was remembered.
  const KnownLeaf& leaf() const { return leaf_; }
  /// Returns the copy, after kRead.
  ordered::LeafCopy copy() const { return {*before(), bytes(), *after()}; }
  /// Returns how often the leaf was READ.
  unsigned reads() const { return reads_; }

 private:
  std::uint64_t* before() const { return reinterpret_cast<std::uint64_t*>(buffer_); }
  char* bytes() const { return buffer_ + base::kCacheLine; }
  std::uint64_t* after() const { return reinterpret_cast<std::uint64_t*>(bytes() + ordered::LeafCopy::kBytes); }

  rdma::RemoteAddress at_;
  KnownLeaf leaf_;
  char* buffer_;
  unsigned reads_ = 0;
  Outcome outcome_ = Outcome::kOpen;
};

}  // namespace granary::kvstore::remote
