#include "src/cluster/record_access/extend.h"

#include <algorithm>

#include "src/base/check.h"
#include "src/base/test_hooks.h"

namespace granary::cluster {

using rdma::Operation;
using rdma::fiber::Next;

void Extend::append(std::vector<Operation>& chain) {
  base::invariant("I28", !record::is_x_locked(expected_));
  const Operation header = Operation::read(words_ + 1, at_, sizeof(record::SharedRecord));
  if (base::injected("tictoc-header-before-raising")) chain.emplace_back() = header;
  chain.emplace_back() = Operation::compare_swap(at_, expected_, std::max(expected_, until_), words_);
  if (!base::injected("tictoc-header-before-raising")) chain.emplace_back() = header;
}

Next Extend::interpret() {
  const record::StateWord found = words_[0];
  if (record::is_x_locked(found)) return end(AccessOutcome::kBusy);
  const record::TidWord tid = copy().head.tid_word;
  if (record::unlocked(tid) != tid_ || record::incarnation_of(copy().head.size_word) != incarnation_)
    return end(AccessOutcome::kChanged);
  if (record::is_locked(tid) && !base::injected("tictoc-extends-locked")) return end(AccessOutcome::kBusy);
  if (found == expected_ || found >= until_) return end(AccessOutcome::kDone);
  if (!look_again()) return end(AccessOutcome::kBusy);
  expected_ = found;
  return Next::kAtOnce;
}

}  // namespace granary::cluster
