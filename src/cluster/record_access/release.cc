#include "src/cluster/record_access/release.h"

#include "src/base/check.h"
#include "src/base/test_hooks.h"

namespace granary::cluster {

using base::injected;
using rdma::Operation;
using rdma::fiber::Next;

Release::Release(const RemoteRecord& record, record::StateWord mine, record::StateWord left, void* buffer)
    : AccessStep(record.at),
      mine_(mine),
      words_(static_cast<std::uint64_t*>(buffer)),
      version_(record, words_ + kVersion) {
  base::invariant("I5", record::is_x_locked(mine));
  base::invariant("I2", !record::is_x_locked(left));
  words_[0] = injected("tictoc-abort-leaves-zero") ? record::kFree : left;
}

void Release::append(std::vector<Operation>& chain) {
  const rdma::RemoteAddress& at = version_.record().at;
  if (round_ == Round::kFindOut) {
    chain.emplace_back() = Operation::read(words_ + 1, at, base::kWord);
    return;
  }
  const Operation free = Operation::write(at, words_, base::kWord);
  const bool free_first = injected("unlock-before-write-back");
  if (free_first) chain.emplace_back() = free;
  // Not fenced: the READs that took the lock have completed, and no other operation minds.
  if (version_.is_set()) chain.emplace_back() = version_.operation();
  if (!free_first) chain.emplace_back() = free;
  // What frees the record is the last that is posted.
  base::debug_invariant("I5", [&] { return chain.back().remote == at && chain.back().bytes == base::kWord; });
}

Next Release::interpret() {
  if (round_ == Round::kFindOut && (words_[1] == mine_ || injected("resume-unseen"))) {
    round_ = Round::kWrite;
    return Next::kAtOnce;
  }
  return end(AccessOutcome::kDone);
}

void Release::resume() {
  base::always_check(outcome() == AccessOutcome::kBroken || outcome() == AccessOutcome::kOpen,
                     "what has ended is not resumed");
  begin();
  round_ = Round::kFindOut;
}

}  // namespace granary::cluster
