#include "rdma/shm/execute.h"

#include <algorithm>

#include "src/base/cache_line.h"
#include "src/base/line_table.h"
#include "src/base/shared_words.h"
#include "src/base/test_hooks.h"

namespace granary::rdma::shm {
namespace {

using base::kWord;

/// Whether a pair of words moves whole. Processors with AVX load and store an aligned pair at one moment (both makers
/// say so). For other processors it is not known.
const bool pairs_are_whole = [] {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx") != 0;
}();

/// Copies words in ascending order. Both ends may be shared, because the local buffer of one node can be another's
/// remote region. Two words move at a time if both lie in one aligned pair of `theirs`, which is the end whose order
/// counts.
void copy_words(std::uint64_t* to, const std::uint64_t* from, std::size_t words, const std::uint64_t* theirs) {
  std::size_t i = 0;
  if (pairs_are_whole && base::in_twos() && words >= 2) {
    if (reinterpret_cast<std::uintptr_t>(theirs) % (2 * kWord) != 0) {
      base::store_word(to, base::load_word(from));
      i = 1;
    }
    for (; i + 2 <= words; i += 2) {
      base::store_two_words(to + i, base::load_two_words(from + i));
      base::keep_order();
    }
  }
  for (; i < words; ++i) base::store_word(to + i, base::load_word(from + i));
}

void copy_ascending(std::uint64_t* to, const std::uint64_t* from, std::size_t bytes, const std::uint64_t* theirs) {
  const std::size_t words = bytes / kWord;
  const std::size_t before = base::kTestHooks ? words / 2 : 0;
  copy_words(to, from, before, theirs);
  base::sync_point("shm.half");
  copy_words(to + before, from + before, words - before, theirs + before);
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

void fetch_ahead(const Operation& operation, const char* remote) {
  constexpr std::uint32_t kMostBytes = 512;  // the processor follows longer ones by itself
  const std::uint32_t bytes = std::min(operation.bytes, kMostBytes);
  if (operation.kind == OperationKind::kRead) {
    base::prefetch_range(remote, bytes);
  } else {
    base::prefetch_for_write(remote, bytes);
  }
}

void execute(const Operation& operation, char* remote, StoreOrder& order) {
  base::sync_point("shm.operation");
  auto* theirs = reinterpret_cast<std::uint64_t*>(remote);
  auto* mine = static_cast<std::uint64_t*>(operation.local);
  switch (operation.kind) {
    case OperationKind::kRead:
      order.drain();
      copy_ascending(mine, theirs, operation.bytes, theirs);
      break;
    case OperationKind::kWrite:
      if (operation.of_a_byte()) [[unlikely]] {
        base::store_byte(reinterpret_cast<std::uint8_t*>(remote), *static_cast<const std::uint8_t*>(operation.local));
      } else {
        copy_ascending(theirs, mine, operation.bytes, theirs);
      }
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
