// A worker and a logger at one ring, on two threads: every entry arrives once, whole and in order.

#include <cstring>
#include <thread>

#include <gtest/gtest.h>

#include "src/base/random.h"
#include "src/log/ring.h"
#include "tests/support/scale.h"
#include "tests/support/temporary_directory.h"

namespace granary::log {
namespace {

/// Entry `number`: its length, its number, and bytes that both determine.
std::string entry(std::uint64_t number, std::uint64_t bytes) {
  std::string made(bytes, static_cast<char>(number * 7 + bytes));
  std::memcpy(made.data(), &bytes, sizeof bytes);
  std::memcpy(made.data() + sizeof bytes, &number, sizeof number);
  return made;
}

void produce(Ring& ring, std::uint64_t entries) {
  base::Random random(1);
  for (std::uint64_t number = 0; number < entries; ++number) {
    const std::string bytes = entry(number, padded(16 + random.below(random.chance(0.02) ? 4000 : 200)));
    while (!ring.has_room(bytes.size())) std::this_thread::yield();
    std::memcpy(ring.at_tail(), bytes.data(), bytes.size());
    ring.publish(bytes.size());
  }
}

TEST(RingStress, EveryEntryOnceWholeAndInOrder) {
  const std::uint64_t entries = tests::scaled(2'000'000);
  const tests::TemporaryDirectory directory;
  auto ring = Ring::create(directory / "ring", {}, 4096);
  ASSERT_TRUE(ring.ok()) << ring.status().message();
  std::thread worker([&] { produce(**ring, entries); });
  base::Random random(2);
  std::uint64_t wrong = 0;
  for (std::uint64_t number = 0; number < entries;) {
    const std::string_view pending = (*ring)->undrained();
    std::size_t at = 0;
    // Sometimes only some of them, so that head stands anywhere.
    while (at < pending.size() && number < entries && (at == 0 || random.chance(0.9))) {
      std::uint64_t bytes = 0;
      std::memcpy(&bytes, pending.data() + at, sizeof bytes);
      if (bytes < 16 || bytes > pending.size() - at || pending.substr(at, bytes) != entry(number, bytes)) {
        ++wrong;
        bytes = pending.size() - at;
      }
      at += bytes;
      ++number;
    }
    (*ring)->drained(at);
    if (random.chance(0.8) || (*ring)->held() > 2048) (*ring)->give_room({1, number});
    if (at == 0) std::this_thread::yield();
    if (wrong != 0) break;
  }
  (*ring)->give_room({1, entries});
  EXPECT_EQ(wrong, 0u);
  if (wrong != 0) std::_Exit(1);  // the worker may wait for ever
  worker.join();
  EXPECT_TRUE((*ring)->pending().empty());
}

}  // namespace
}  // namespace granary::log
