#pragma once
// Checks by one READ whether a leaf or bucket of another node still has a version. For the node set, at commit.

#include <cstdint>

#include "rdma/fiber/step.h"

namespace granary::kvstore::remote {

/// The parts of an index that have a version.
enum class NodeKind : std::uint8_t { kLeaf, kBucket, kLast = kBucket };

class VersionCheck : public rdma::fiber::Step {
 public:
  enum class Outcome : std::uint8_t { kOpen, kUnchanged, kChanged, kBroken, kStale, kRefused };

  /// `node` is the address of the leaf, or of the bucket of the main header. `version` is as the index told it
  /// (ordered::Version, hash::Version). `buffer` is a word in a registered region.
  VersionCheck(NodeKind kind, const rdma::RemoteAddress& node, std::uint64_t version, std::uint64_t* buffer)
      : Step(node),
        kind_(kind),
        node_(node),
        version_(version),
        buffer_(buffer) {}

  void append(std::vector<rdma::Operation>& chain) override;
  rdma::fiber::Next interpret() override;
  void fail(rdma::fiber::Failure failure) override { outcome_ = rdma::fiber::outcome_of<Outcome>(failure); }
  Outcome outcome() const { return outcome_; }

 private:
  bool unchanged() const;

  NodeKind kind_;
  rdma::RemoteAddress node_;
  std::uint64_t version_;
  std::uint64_t* buffer_;
  Outcome outcome_ = Outcome::kOpen;
};

}  // namespace granary::kvstore::remote
