// Readers against writers at full speed (I4, local form): no value that mixes two writes, no size of another value, no
// TID that goes back. Every word of a value carries its writer and the write's number.

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "src/record/stable_read.h"
#include "tests/record/record_box.h"
#include "tests/support/enough.h"

namespace granary::record {
namespace {

constexpr std::size_t kMaxWords = 40;  // five cache lines
constexpr auto kDuration = std::chrono::milliseconds(1500);

/// Each write has its own number of words, so that a size taken from another write shows.
std::size_t words_of(std::uint64_t mark) { return 1 + mark % kMaxWords; }

void write_until(Record& record, std::uint64_t writer, base::Waiter& waiter, const std::atomic<bool>& stop) {
  for (std::uint64_t number = 1; !stop.load(std::memory_order_relaxed); ++number) {
    const std::uint64_t mark = number * 2 + writer;
    const std::vector<std::uint64_t> value(words_of(mark), mark);
    TidWord seen = record.tid();
    for (std::uint32_t turn = 0; is_locked(seen) || !record.try_lock(seen); ++turn) {
      waiter.pause(turn);
      seen = record.tid();
    }
    record.set_size(value.size() * base::kWord);
    base::copy_to_shared(record.value_words(), value.data(), value.size() * base::kWord);
    record.store_tid((tid_of(seen) + make_tid(0, 1)) | kLatest);
  }
}

bool is_whole(const std::vector<std::uint64_t>& buffer, std::size_t size) {
  if (size % base::kWord != 0 || size / base::kWord != words_of(buffer[0])) return false;
  for (std::size_t i = 1; i < size / base::kWord; ++i) {
    if (buffer[i] != buffer[0]) return false;
  }
  return true;
}

TEST(StableReadStress, NoTornValueAndNoTidBackwards) {
  RecordBox box(kMaxWords * base::kWord);
  const std::vector<std::uint64_t> first(words_of(0), 0);
  box.set(make_tid(1, 0) | kLatest, {reinterpret_cast<const char*>(first.data()), first.size() * base::kWord});
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> reads{0}, torn{0}, backwards{0};
  std::vector<std::thread> threads;
  for (std::uint64_t writer = 0; writer < 2; ++writer) {
    threads.emplace_back([&, writer] {
      base::ThreadWaiter waiter;
      write_until(*box, writer, waiter, stop);
    });
  }
  for (int reader = 0; reader < 2; ++reader) {
    threads.emplace_back([&] {
      base::ThreadWaiter waiter;
      std::vector<std::uint64_t> buffer(kMaxWords);
      TidWord last = 0;
      while (!stop.load(std::memory_order_relaxed)) {
        buffer.assign(kMaxWords, ~std::uint64_t{0});
        const StableRead read =
            read_stable(*box, reinterpret_cast<char*>(buffer.data()), kMaxWords * base::kWord, waiter);
        if (read.state != ReadState::kValue) continue;
        reads.fetch_add(1, std::memory_order_relaxed);
        if (!is_whole(buffer, read.size)) torn.fetch_add(1);
        if (read.tid < last) backwards.fetch_add(1);
        last = read.tid;
      }
    });
  }
  tests::sleep_until_enough(kDuration, [&] { return tests::are_above({{reads, 100}}); });
  stop.store(true);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(torn.load(), 0u);
  EXPECT_EQ(backwards.load(), 0u);
  EXPECT_GT(reads.load(), 100u);
}

}  // namespace
}  // namespace granary::record
