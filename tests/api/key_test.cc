// Key encodings (granary/key.h): what is encoded decodes to itself, and the encoded bytes order as the values do.
// Random values come from few letters and near powers of two, so that equal prefixes and neighbours are common.

#include <granary/key.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <tuple>

#include <gtest/gtest.h>

#include "src/base/random.h"
#include "tests/support/scale.h"

namespace granary {
namespace {

enum class Colour : std::int16_t { kRed = -7, kGreen = 0, kBlue = 300 };

template <typename T>
struct Draw;

template <typename T>
  requires(std::is_integral_v<T>)
struct Draw<T> {
  static T from(base::Random& random) {
    if constexpr (std::is_same_v<T, bool>) {
      return random.below(2) != 0;
    } else {
      const std::uint64_t power = std::uint64_t{1} << random.below(sizeof(T) * 8);
      switch (random.below(4)) {
        case 0: return static_cast<T>(random.next());
        case 1: return static_cast<T>(power - 1);
        case 2: return static_cast<T>(power);
        default: return static_cast<T>(random.below(3));
      }
    }
  }
};

template <>
struct Draw<Colour> {
  static Colour from(base::Random& random) {
    constexpr Colour kAll[] = {Colour::kRed, Colour::kGreen, Colour::kBlue};
    return kAll[random.below(3)];
  }
};

template <>
struct Draw<std::string> {
  static std::string from(base::Random& random) {
    constexpr char kLetters[] = {'\0', '\x01', 'a', '\xff'};
    std::string text(random.below(11), '\0');
    for (char& c : text) c = kLetters[random.below(4)];
    return text;
  }
};

template <std::size_t N>
struct Draw<FixedString<N>> {
  static FixedString<N> from(base::Random& random) {
    constexpr char kLetters[] = {'a', 'b', '\xc3'};
    std::string text(random.below(N + 1), 'a');
    for (char& c : text) c = kLetters[random.below(3)];
    return FixedString<N>(text);
  }
};

template <typename... Parts>
struct Draw<std::tuple<Parts...>> {
  static std::tuple<Parts...> from(base::Random& random) { return {Draw<Parts>::from(random)...}; }
};
template <typename A, typename B>
struct Draw<std::pair<A, B>> {
  static std::pair<A, B> from(base::Random& random) { return {Draw<A>::from(random), Draw<B>::from(random)}; }
};

int sign(int value) { return (value > 0) - (value < 0); }

/// Memcmp order, a prefix before what it begins: the order of the index.
int compare_bytes(std::string_view a, std::string_view b) {
  const int head = std::memcmp(a.data(), b.data(), std::min(a.size(), b.size()));
  if (head != 0) return sign(head);
  return (a.size() > b.size()) - (a.size() < b.size());
}

// std::string and FixedString compare as unsigned bytes.
template <typename Key>
int compare_values(const Key& a, const Key& b) {
  return (b < a) - (a < b);
}

template <typename Key>
class KeyEncoding : public testing::Test {};

using KeyTypes =
    testing::Types<bool, std::uint8_t, std::int8_t, std::uint16_t, std::int16_t, std::uint32_t, std::int32_t,
                   std::uint64_t, std::int64_t, Colour, std::string, FixedString<1>, FixedString<16>,
                   std::pair<std::int32_t, std::string>, std::tuple<std::string, std::string>,
                   std::tuple<std::string, std::uint8_t, std::string>,
                   std::tuple<std::uint32_t, std::uint8_t, FixedString<16>, std::int64_t>,
                   std::tuple<std::pair<std::string, bool>, Colour>>;

struct TypeIndex {
  template <typename T>
  static std::string GetName(int index) {
    return "type" + std::to_string(index);
  }
};
TYPED_TEST_SUITE(KeyEncoding, KeyTypes, TypeIndex);

TYPED_TEST(KeyEncoding, RoundTrips) {
  base::Random random(1);
  for (std::uint64_t round = 0; round < tests::scaled(5000); ++round) {
    const TypeParam key = Draw<TypeParam>::from(random);
    const auto encoded = encode_key(key);
    TypeParam back{};
    ASSERT_TRUE(decode_key<TypeParam>(encoded, back));
    ASSERT_TRUE(back == key) << "round " << round;
  }
}

TYPED_TEST(KeyEncoding, OrdersAsTheValuesDo) {
  base::Random random(2);
  for (std::uint64_t round = 0; round < tests::scaled(20000); ++round) {
    const TypeParam a = Draw<TypeParam>::from(random);
    const TypeParam b = Draw<TypeParam>::from(random);
    ASSERT_EQ(compare_bytes(encode_key(a).view(), encode_key(b).view()), compare_values(a, b)) << "round " << round;
  }
}

TYPED_TEST(KeyEncoding, RefusesEveryPrefixAndTrailingBytes) {
  base::Random random(3);
  for (int round = 0; round < 200; ++round) {
    const TypeParam key = Draw<TypeParam>::from(random);
    const std::string bytes(encode_key(key).view());
    TypeParam back{};
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      EXPECT_FALSE(decode_key<TypeParam>(std::string_view(bytes).substr(0, length), back))
          << length << " of " << bytes.size();
    }
    EXPECT_FALSE(decode_key<TypeParam>(bytes + '\x01', back));
  }
}

TEST(KeyEncodingBytes, AreThoseThatTheHeaderPromises) {
  EXPECT_EQ(encode_key<std::uint32_t>(0x01020304).view(), std::string_view("\1\2\3\4", 4));
  EXPECT_EQ(encode_key<std::int16_t>(-1).view(), std::string_view("\x7f\xff", 2));
  EXPECT_EQ(encode_key<bool>(true).view(), std::string_view("\1", 1));
  EXPECT_EQ(encode_key(FixedString<4>("ab")).view(), std::string_view("ab\0\0", 4));
  EXPECT_EQ(encode_key(std::string("a\0b", 3)).view(), std::string_view("a\0\xff"
                                                                        "b\0\0",
                                                                        6));
  EXPECT_EQ(encode_key(std::string_view("a")).view(), encode_key(std::string("a")).view());
}

TEST(KeyEncodingBytes, BadEscapesAreRefused) {
  std::string back;
  EXPECT_FALSE(decode_key<std::string>(std::string_view("a\0\1", 3), back));
  EXPECT_FALSE(decode_key<std::string>(std::string_view("a\0", 2), back));
  EXPECT_TRUE(decode_key<std::string>(std::string_view("\0\0", 2), back));
  EXPECT_TRUE(back.empty());
}

TEST(KeyEncodingBytes, BoundedKeysStayOnTheStack) {
  static_assert(sizeof(EncodedKey<std::uint64_t>) <= 16);
  static_assert(key_detail::Bounded<std::tuple<std::uint32_t, FixedString<16>>>);
  static_assert(!key_detail::Bounded<std::tuple<std::uint32_t, std::string>>);
}

TEST(FixedString, HoldsAtMostNBytesWithoutTrailingZeros) {
  EXPECT_EQ(FixedString<4>("abcdef").view(), "abcd");
  EXPECT_EQ(FixedString<4>("a").view(), "a");
  EXPECT_EQ(FixedString<4>("").view(), "");
  const FixedString<4> from_literal = "ab";
  EXPECT_EQ(from_literal, FixedString<4>(std::string("ab")));
  EXPECT_LT(FixedString<4>("ab"), FixedString<4>("b"));
  EXPECT_LT(FixedString<4>("a"), FixedString<4>("ab"));
}

}  // namespace
}  // namespace granary
