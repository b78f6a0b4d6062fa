#include "src/cluster/record_access/header_read.h"

#include "src/base/test_hooks.h"

namespace granary::cluster {

using rdma::Operation;
using rdma::fiber::Next;

/// READs the state before the TID word, by one READ within a cache line. The other way round, an x-lock that was there
/// with the TID word could be gone with the state, and the write of its holder go unnoticed.
void HeaderRead::append(std::vector<Operation>& chain) {
  if (!base::injected("tid-before-state")) {
    chain.emplace_back() = Operation::read(buffer_, at_, sizeof(record::SharedRecord));
    return;
  }
  chain.emplace_back() = Operation::read(static_cast<char*>(buffer_) + base::kWord, at_.plus(base::kWord),
                                         sizeof(record::SharedRecord) - base::kWord);
  chain.emplace_back() = Operation::read(buffer_, at_, base::kWord);
}

Next HeaderRead::interpret() {
  const auto& copy = *static_cast<const record::SharedRecord*>(buffer_);
  const record::TidWord tid = copy.head.tid_word;
  const bool same_life =
      record::incarnation_of(copy.head.size_word) == incarnation_ || base::injected("ignore-incarnation");
  if (record::unlocked(tid) != tid_ || !same_life) return end(AccessOutcome::kChanged);
  return end(locked_against(mine_, copy.state_word, tid) ? AccessOutcome::kBusy : AccessOutcome::kDone);
}

}  // namespace granary::cluster
