#include "src/record/checksum.h"

#include <cstring>
#include <string>

#include <gtest/gtest.h>

#include "src/base/random.h"
#include "src/record/shared_record.h"

namespace granary::record {
namespace {

std::string random_value(base::Random& random, std::size_t bytes) {
  std::string value(bytes, '\0');
  for (char& byte : value) byte = static_cast<char>(random.next());
  return value;
}

void change_word(std::string& value, std::size_t number, std::uint64_t change) {
  std::uint64_t word;
  std::memcpy(&word, value.data() + number * base::kWord, sizeof word);
  word ^= change;
  std::memcpy(value.data() + number * base::kWord, &word, sizeof word);
}

TEST(Checksum, CoversAllThatIsRead) {
  const std::string value(100, 'v');
  const TidWord tid = make_tid(7, 3) | kLatest;
  const std::uint64_t size_word = make_size_word(5, value.size());
  const std::uint32_t sum = checksum_with_header(checksum_of_content("key", value), tid, size_word);
  EXPECT_EQ(checksum_with_header(checksum_of_content("key", value), tid | kLocked, size_word), sum)
      << "a lock bit changes nothing";
  EXPECT_NE(checksum_with_header(checksum_of_content("kez", value), tid, size_word), sum);
  std::string other = value;
  other[64] = 'w';
  EXPECT_NE(checksum_with_header(checksum_of_content("key", other), tid, size_word), sum);
  EXPECT_NE(checksum_with_header(checksum_of_content("key", value), make_tid(7, 4) | kLatest, size_word), sum);
  EXPECT_NE(checksum_with_header(checksum_of_content("key", value), tid | kAbsent, size_word), sum);
  EXPECT_NE(checksum_with_header(checksum_of_content("key", value), tid, make_size_word(6, value.size())), sum);
}

TEST(Checksum, SeesAChangeOfAnyByteAtAnyLength) {
  base::Random random(1);
  for (std::size_t length = 0; length < 140; ++length) {
    const std::string value = random_value(random, length);
    for (std::size_t at = 0; at < length; ++at) {
      std::string other = value;
      other[at] = static_cast<char>(other[at] ^ 1);
      ASSERT_NE(checksum_of_content("key", other), checksum_of_content("key", value)) << length << " at " << at;
    }
  }
}

TEST(Checksum, EqualChangesOfTwoWordsDoNotCancelOut) {
  constexpr std::size_t kWords = 40;
  base::Random random(2);
  const std::string value = random_value(random, kWords * base::kWord);
  for (const std::uint64_t change : {std::uint64_t{1}, std::uint64_t{3}, std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
    for (std::size_t first = 0; first < kWords; ++first) {
      for (std::size_t second = first + 1; second < kWords; ++second) {
        std::string other = value;
        change_word(other, first, change);
        change_word(other, second, change);
        ASSERT_NE(checksum_of_content("key", other), checksum_of_content("key", value)) << first << " and " << second;
      }
    }
  }
}

TEST(Checksum, SeesACopyOfHalfAnOldAndHalfANewVersion) {
  constexpr std::size_t kWords = 80;
  base::Random random(3);
  const std::string before = random_value(random, kWords * base::kWord);
  std::string after = before;
  for (std::size_t word = 0; word < kWords; ++word) change_word(after, word, 1);  // as if each were a counter
  for (std::size_t torn = 1; torn < kWords; ++torn) {
    const std::string copy = after.substr(0, torn * base::kWord) + before.substr(torn * base::kWord);
    ASSERT_NE(checksum_of_content("key", copy), checksum_of_content("key", before)) << torn;
    ASSERT_NE(checksum_of_content("key", copy), checksum_of_content("key", after)) << torn;
  }
}

}  // namespace
}  // namespace granary::record
