// CRC-32C against published vectors (RFC 3720, B.4; the check value of the "123456789" catalogue entry) and against a
// bitwise reference.

#include "src/base/crc32c.h"

#include <string>

#include <gtest/gtest.h>

#include "src/base/random.h"

namespace granary::base {
namespace {

std::uint32_t of(const std::string& bytes) { return crc32c(0, bytes.data(), bytes.size()); }

std::uint32_t bit_by_bit(const std::string& bytes) {
  constexpr std::uint32_t kReversedPolynomial = 0x82f63b78;
  std::uint32_t crc = ~std::uint32_t{0};
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kReversedPolynomial : 0);
  }
  return ~crc;
}

TEST(Crc32c, KnownVectors) {
  EXPECT_EQ(of(""), 0u);
  EXPECT_EQ(of("123456789"), 0xe3069283u);
  EXPECT_EQ(of(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(of(std::string(32, '\xff')), 0x62a8ab43u);
  std::string rising;
  for (char byte = 0; byte < 32; ++byte) rising.push_back(byte);
  EXPECT_EQ(of(rising), 0x46dd794eu);
  EXPECT_EQ(of({rising.rbegin(), rising.rend()}), 0x113fdb5cu);
}

TEST(Crc32c, AsBitByBitAtEveryLengthAndSplit) {
  Random random(1);
  std::string bytes;
  for (std::size_t length = 0; length < 70; ++length) {
    ASSERT_EQ(of(bytes), bit_by_bit(bytes)) << length;
    for (std::size_t split = 0; split <= length; ++split) {
      const std::uint32_t first = crc32c(0, bytes.data(), split);
      ASSERT_EQ(crc32c(first, bytes.data() + split, length - split), of(bytes)) << length << " at " << split;
    }
    bytes.push_back(static_cast<char>(random.next()));
  }
}

}  // namespace
}  // namespace granary::base
