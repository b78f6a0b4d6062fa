#include "rdma/shm/execute.h"

#include "src/base/line_table.h"
#include "src/base/shared_words.h"
#include "src/base/test_hooks.h"

namespace granary::rdma::shm {
namespace {

using base::kWord;

/// Both ends may be shared: the local buffer of one node can be another's remote region.
void copy_words(std::uint64_t* to, const std::uint64_t* from, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) base::store_word(to + i, base::load_word(from + i));
}

void copy_ascending(std::uint64_t* to, const std::uint64_t* from, std::size_t bytes) {
  const std::size_t words = bytes / kWord;
  copy_words(to, from, 0, words / 2);
  base::sync_point("shm.half");
  copy_words(to, from, words / 2, words);
}

std::uint64_t compare_swap(std::uint64_t* word, std::uint64_t expected, std::uint64_t desired) {
  const base::lines::Store store(word);
  std::atomic_ref<std::uint64_t>(*word).compare_exchange_strong(expected, desired, std::memory_order_seq_cst);
  return expected;
}

std::uint64_t fetch_add(std::uint64_t* word, std::uint64_t addend) {
  const base::lines::Store store(word);
  return std::atomic_ref<std::uint64_t>(*word).fetch_add(addend, std::memory_order_seq_cst);
}

}  // namespace

void execute(const Operation& operation, char* remote, StoreOrder& order) {
  base::sync_point("shm.operation");
  auto* theirs = reinterpret_cast<std::uint64_t*>(remote);
  auto* mine = static_cast<std::uint64_t*>(operation.local);
  switch (operation.kind) {
    case OperationKind::kRead:
      order.drain();
      copy_ascending(mine, theirs, operation.bytes);
      break;
    case OperationKind::kWrite:
      copy_ascending(theirs, mine, operation.bytes);
      order.stored();
      break;
    case OperationKind::kCompareSwap:
      base::store_word(mine, compare_swap(theirs, operation.operand, operation.desired));
      order.drained();
      break;
    case OperationKind::kFetchAdd:
      base::store_word(mine, fetch_add(theirs, operation.operand));
      order.drained();
      break;
  }
}

}  // namespace granary::rdma::shm
