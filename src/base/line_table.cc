#include "src/base/line_table.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <mutex>

#include "src/base/give_way.h"

namespace granary::base::lines {
namespace {

constinit Table table;
// Written when the first Watch begins, and in the child of a fork; read by fabrics that pass the file on.
constinit std::atomic<int> table_file{-1};

/// Makes a memory file for the table. Returns -1 if the system gives none.
int make_file() {
  const int file = ::memfd_create("granary-lines", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (file < 0) return -1;
  if (::ftruncate(file, sizeof table) == 0 && ::fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK) == 0) return file;
  ::close(file);
  return -1;
}

/// Lays an empty table over this process's. No thread may hold a lock in it.
void lay_out_table() {
  constexpr int kAccess = PROT_READ | PROT_WRITE;
  int file = make_file();
  if (file >= 0 && ::mmap(&table, sizeof table, kAccess, MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED) {
    ::close(file);
    file = -1;
  }
  // Without a file this process is alone with its table.
  if (file < 0) (void)::mmap(&table, sizeof table, kAccess, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  const int before = table_file.exchange(file, std::memory_order_acq_rel);
  if (before >= 0) ::close(before);
}

/// Makes the table shareable. The child of a fork has other memory at the same addresses, so it must not share its
/// parent's table. Only the thread that has forked lives on there, and it is not in the midst of a store.
void share_table_once() {
  static std::once_flag once;
  std::call_once(once, [] {
    lay_out_table();
    ::pthread_atfork(nullptr, nullptr, lay_out_table);
  });
}

}  // namespace

constinit std::atomic<std::uint32_t> watchers{0};

Table& own() { return table; }
int file_of_own() { return table_file.load(std::memory_order_acquire); }

Watch::Watch() {
  if constexpr (kTestHooks) share_table_once();
  watchers.fetch_add(1, std::memory_order_relaxed);
}

void Table::break_locks(Holder ended) {
  const std::uint64_t held = kLocked | (std::uint64_t{ended} << kHolderShift);
  for (Entry& entry : entries_) {
    std::uint64_t seen = entry.load(std::memory_order_relaxed);
    if ((seen & (kLocked | kHolders)) == held)
      entry.compare_exchange_strong(seen, seen - held + kOneChange, std::memory_order_acq_rel);
  }
}

void pause(std::uint32_t turn) {
  constexpr std::uint32_t kSpins = 64;
  if (turn < kSpins) {
    spin_pause();
  } else {
    give_way();  // the holder may be waiting for the processor
  }
}

std::uint64_t try_lock(Entry& entry, Holder holder) {
  std::uint64_t seen = entry.load(std::memory_order_relaxed);
  const std::uint64_t locked = seen | kLocked | (std::uint64_t{holder} << kHolderShift);
  const bool free = (seen & kLocked) == 0;
  return free && entry.compare_exchange_strong(seen, locked, std::memory_order_acq_rel) ? locked : 0;
}

std::uint64_t lock(Entry& entry) {
  for (std::uint32_t turn = 0;; pause(turn++)) {
    if (const std::uint64_t locked = try_lock(entry, kOwner); locked != 0) return locked;
  }
}

void wait_unlocked(const Entry& entry) {
  for (std::uint32_t turn = 0; is_locked(entry); ++turn) pause(turn);
}

}  // namespace granary::base::lines
