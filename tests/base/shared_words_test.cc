// Copies from and to shared words: every length moves just its bytes. That copies are of one version while writers are
// at work is tested in tests/record.

#include "src/base/shared_words.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>

#include <gtest/gtest.h>

#include "src/base/random.h"

namespace granary::base {
namespace {

constexpr std::size_t kMost = 200;
constexpr char kUntouched = '\x5a';

std::string random_bytes(std::size_t size) {
  Random random(size);
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random.next());
  return bytes;
}

TEST(SharedWords, MoveEveryByteThereAndBack) {
  for (std::size_t size = 0; size <= kMost; ++size) {
    std::array<std::uint64_t, kMost / kWord + 1> words{};
    const std::string text = random_bytes(size);
    copy_to_shared(words.data(), text.data(), size);
    std::string back(size + 2 * kWord, kUntouched);
    copy_from_shared(back.data(), words.data(), size);
    EXPECT_EQ(back, text + std::string(2 * kWord, kUntouched)) << "nothing behind the end is written";
  }
}

TEST(SharedWords, FillTheLastWordWithZerosAndStopThere) {
  constexpr std::uint64_t kBefore = 0x5555555555555555;
  for (std::size_t size = 0; size <= kMost; ++size) {
    std::array<std::uint64_t, kMost / kWord + 2> words;
    words.fill(kBefore);
    const std::string text = random_bytes(size);
    copy_to_shared(words.data(), text.data(), size);
    std::string all(round_up_to_word(size), kUntouched);
    copy_from_shared(all.data(), words.data(), all.size());
    EXPECT_EQ(all, text + std::string(all.size() - size, '\0'));
    const auto rest = std::span(words).subspan(all.size() / kWord);
    EXPECT_TRUE(std::ranges::all_of(rest, [](std::uint64_t word) { return word == kBefore; }));
  }
}

}  // namespace
}  // namespace granary::base
