#pragma once
// READs a leaf of another node's ordered table, of which a LeafCache says where it lies, and sees whether it is still
// that leaf. The chain READs the version, the leaf, and the version again, as kvstore/ordered/leaf_copy.h wants it.

#include "kvstore/ordered/leaf_copy.h"
#include "kvstore/remote/leaf_cache.h"
#include "rdma/fiber/step.h"
#include "src/base/cache_line.h"

namespace granary::kvstore::remote {

class LeafRead final : public rdma::fiber::Step {
 public:
  enum class Outcome : std::uint8_t {
    kOpen,  ///< has not ended
    kRead,
    kGone,  ///< that leaf is not there any more
    kBusy,  ///< the leaf was being changed each time
    kBroken,
    kStale,
    kRefused,  ///< outside of the node's region
  };
  /// How often it READs a leaf that is being changed.
  static constexpr unsigned kTries = 8;
  static constexpr std::size_t kBufferBytes = 2 * base::kCacheLine + ordered::LeafCopy::kBytes;

  /// `at`: of the leaf. `buffer`: kBufferBytes in a registered region, on a cache line's boundary.
  LeafRead(const rdma::RemoteAddress& at, const KnownLeaf& leaf, void* buffer)
      : Step(at),
        at_(at),
        leaf_(leaf),
        buffer_(static_cast<char*>(buffer)) {}

  void append(std::vector<rdma::Operation>& chain) override;
  rdma::fiber::Next interpret() override;
  void fail(rdma::fiber::Failure failure) override { outcome_ = rdma::fiber::outcome_of<Outcome>(failure); }

  Outcome outcome() const { return outcome_; }
  /// The leaf as it was remembered.
  const KnownLeaf& leaf() const { return leaf_; }
  /// After kRead.
  ordered::LeafCopy copy() const { return {*before(), bytes(), *after()}; }
  /// How often it was READ.
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
