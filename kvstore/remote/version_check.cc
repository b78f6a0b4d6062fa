#include "kvstore/remote/version_check.h"

#include <cstddef>

#include "kvstore/hash/bucket.h"
#include "kvstore/ordered/tree.h"
#include "src/base/shared_words.h"

namespace granary::kvstore::remote {

using rdma::fiber::Next;

/// Appends the READ of the version word. A leaf begins with it (ordered::Node). Of a bucket it is `opened` of the first
/// line, which a change stores to first (hash::Table::version_word).
void VersionCheck::append(std::vector<rdma::Operation>& chain) {
  const std::uint64_t within = kind_ == NodeKind::kBucket ? offsetof(hash::Line, opened) : 0;
  chain.emplace_back() = rdma::Operation::read(buffer_, node_.plus(within), base::kWord);
}

bool VersionCheck::unchanged() const {
  return kind_ == NodeKind::kBucket ? *buffer_ == version_ : ordered::Tree::unchanged(*buffer_, version_);
}

Next VersionCheck::interpret() {
  outcome_ = unchanged() ? Outcome::kUnchanged : Outcome::kChanged;
  return Next::kEnded;
}

}  // namespace granary::kvstore::remote
