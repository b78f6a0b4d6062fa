#include "kvstore/remote/leaf_read.h"

#include "src/base/shared_words.h"

namespace granary::kvstore::remote {

using ordered::LeafCopy;
using rdma::Operation;
using rdma::fiber::Next;

/// Appends the READs of the version, the leaf and the version. READs of a connection take effect in order
/// (rdma/fabric.h), but the lines of one READ do not. A leaf begins with its version.
void LeafRead::append(std::vector<Operation>& chain) {
  chain.emplace_back() = Operation::read(before(), at_, base::kWord);
  chain.emplace_back() = Operation::read(bytes(), at_, LeafCopy::kBytes);
  chain.emplace_back() = Operation::read(after(), at_, base::kWord);
}

Next LeafRead::interpret() {
  ++reads_;
  switch (copy().state(leaf_.range.birth)) {
    case LeafCopy::State::kWhole: outcome_ = Outcome::kRead; return Next::kEnded;
    case LeafCopy::State::kGone: outcome_ = Outcome::kGone; return Next::kEnded;
    case LeafCopy::State::kChanging: break;
  }
  if (reads_ < kTries) return Next::kAfterPause;
  outcome_ = Outcome::kBusy;
  return Next::kEnded;
}

}  // namespace granary::kvstore::remote
