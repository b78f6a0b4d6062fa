#include "rdma/shm/watched_memory.h"

#include <fmt/format.h>

#include <atomic>

#include "rdma/shm/peer.h"
#include "src/base/shared_words.h"
#include "src/base/test_hooks.h"

namespace granary::rdma::shm {
namespace {

namespace lines = base::lines;
using base::kWord;

std::atomic_ref<std::uint64_t> shared(std::uint64_t* word) { return std::atomic_ref(*word); }

/// Has words of the owner's, as this process has them mapped, with the entries of their lines.
class OwnersWords {
 public:
  OwnersWords(const Peer& owner, const RemoteAddress& at)
      : owner_(owner),
        words_(reinterpret_cast<std::uint64_t*>(owner.at(at))),
        address_(owner.address_there(at)) {}

  std::uint64_t load(std::size_t i) const {
    const lines::Entry& entry = entry_of(i);
    for (std::uint32_t turn = 0; lines::is_locked(entry) && !owner_.dead(); ++turn) lines::pause(turn);
    return shared(words_ + i).load(std::memory_order_acquire);
  }
  /// Changes a word while its line is locked, and returns the result of `change`.
  template <typename Change>
  std::uint64_t change(std::size_t i, Change&& change) const {
    lines::Entry& entry = entry_of(i);
    const std::uint64_t locked = lock(entry);
    owner_.line_table().count_store();
    base::sync_point("shm.line_locked");
    const std::uint64_t result = change(shared(words_ + i));
    if (locked != 0) lines::unlock(entry, locked);
    return result;
  }

 private:
  lines::Entry& entry_of(std::size_t i) const { return owner_.line_table().entry_of(address_ + i * kWord); }
  /// Locks the entry. Returns its locked word, or 0 if the owner has died.
  std::uint64_t lock(lines::Entry& entry) const {
    for (std::uint32_t turn = 0; !owner_.dead(); lines::pause(turn++)) {
      if (const std::uint64_t locked = lines::try_lock(entry, owner_.holder_there()); locked != 0) return locked;
    }
    return 0;
  }

  const Peer& owner_;
  std::uint64_t* const words_;
  const std::uint64_t address_;
};

/// Calls `move` with each word's number, in ascending order (I4, I5).
template <typename Move>
void for_each_word(const Operation& operation, Move&& move) {
  const std::size_t words = operation.bytes / kWord;
  for (std::size_t i = 0; i < words; ++i) {
    if (i == words / 2) base::sync_point("shm.half");
    move(i);
  }
}

/// Writes a byte while the line of its word is locked.
void write_byte(const Operation& operation, const Peer& owner) {
  base::sync_point("shm.operation");
  RemoteAddress word = operation.remote;
  const std::uint64_t within = word.offset % kWord;
  word.offset -= within;
  auto* const byte = reinterpret_cast<std::uint8_t*>(owner.at(word)) + within;
  const std::uint8_t value = *static_cast<const std::uint8_t*>(operation.local);
  (void)OwnersWords(owner, word).change(0, [byte, value](auto) {
    std::atomic_ref(*byte).store(value, std::memory_order_release);
    return std::uint64_t{value};
  });
}

void execute(const Operation& operation, const OwnersWords& theirs, StoreOrder& order) {
  base::sync_point("shm.operation");
  auto* mine = static_cast<std::uint64_t*>(operation.local);
  switch (operation.kind) {
    case OperationKind::kRead:
      order.drain();
      for_each_word(operation, [&](std::size_t i) { base::store_word(mine + i, theirs.load(i)); });
      break;
    case OperationKind::kWrite:
      for_each_word(operation, [&](std::size_t i) {
        const std::uint64_t value = base::load_word(mine + i);
        (void)theirs.change(i, [value](auto word) {
          word.store(value, std::memory_order_release);
          return value;
        });
      });
      order.stored();
      break;
    case OperationKind::kCompareSwap:
      base::store_word(mine, theirs.change(0, [&](auto word) {
        std::uint64_t seen = operation.operand;
        word.compare_exchange_strong(seen, operation.desired, std::memory_order_acq_rel);
        return seen;
      }));
      order.drained();
      break;
    case OperationKind::kFetchAdd:
      base::store_word(mine, theirs.change(0, [&](auto word) {
        return word.fetch_add(operation.operand, std::memory_order_acq_rel);
      }));
      order.drained();
      break;
  }
}

}  // namespace

Status pass_line_table(Hello& greeting, std::vector<int>& files) {
  const int file = lines::file_of_own();
  if (file < 0 || greeting.region_count == kMostRegions) {
    return Status(
        StatusCode::kResourceExhausted,
        fmt::format("a node that simulates HTM needs a memory file for its line table and may have {} regions "
                    "that peers can reach",
                    kMostRegions - 2));
  }
  greeting.regions[greeting.region_count++] = {.bytes = sizeof(lines::Table), .id = kLineTable};
  files.push_back(file);
  return {};
}

void execute_watched(std::span<const Operation> chain, const Peer& owner, StoreOrder& order) {
  for (const Operation& operation : chain) {
    if (operation.of_a_byte()) {
      write_byte(operation, owner);
      order.stored();
    } else {
      execute(operation, OwnersWords(owner, operation.remote), order);
    }
  }
}

}  // namespace granary::rdma::shm
