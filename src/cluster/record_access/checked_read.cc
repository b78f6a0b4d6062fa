#include "src/cluster/record_access/checked_read.h"

#include "src/base/check.h"
#include "src/base/test_hooks.h"

namespace granary::cluster {

using base::injected;
using rdma::Operation;
using rdma::fiber::Next;

/// READs the record at once. The header lies within a cache line, so its state was loaded no later than its TID word.
void CheckedRead::append(std::vector<Operation>& chain) {
  if (!injected("tid-before-state")) {
    chain.emplace_back() = Operation::read(buffer_, record_.at, record_.bytes());
    return;
  }
  chain.emplace_back() = Operation::read(static_cast<char*>(buffer_) + base::kWord, record_.at.plus(base::kWord),
                                         record_.bytes() - base::kWord);
  chain.emplace_back() = Operation::read(buffer_, record_.at, base::kWord);
}

Next CheckedRead::interpret() {
  if (!record_.is(copy())) return end(AccessOutcome::kMoved);
  const record::TidWord word =
      injected("lease-ignores-lock-bit") && record::is_lease(state()) ? record::unlocked(tid()) : tid();
  if (!locked_against(mine_, state(), word)) {
    if (record::is_absent(tid())) return end(AccessOutcome::kMissing);  // the header told all there is
    if (whole()) return end(AccessOutcome::kDone);
    ++torn_;
  }
  return look_again() ? Next::kAfterPause : end(AccessOutcome::kBusy);
}

std::string_view CheckedRead::value() const {
  base::invariant("I4", outcome() == AccessOutcome::kDone);
  return content();
}

std::string_view CheckedRead::content() const {
  return {reinterpret_cast<const char*>(record::value_words(copy(), record_.key.size())),
          record::size_of(copy().head.size_word)};
}

bool CheckedRead::whole() const { return whole_value(record_, copy()).has_value(); }

}  // namespace granary::cluster
