#pragma once
// Order-preserving key encodings: comparing encoded bytes with memcmp orders keys as their values.
//
//   unsigned integers   big endian, their own width
//   signed integers     big endian with the sign bit flipped
//   bool                one byte
//   enum                as its underlying type
//   FixedString<N>      N bytes, padded with zeros
//   std::string,        bytes with 0x00 escaped as 0x00 0xFF, ended by 0x00 0x00, so that tuples
//   std::string_view    of strings order componentwise and any byte may occur
//   std::pair, tuple    the encodings one after the other
//
// Eight encoded bytes or fewer fit one slice of the index and are the fastest keys there are.

#include <array>
#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace granary {

/// A string of at most N bytes stored in place, padded with zeros; orders like the string it holds.
template <std::size_t N>
struct FixedString {
  std::array<char, N> bytes{};

  FixedString() = default;
  /// Takes the first N bytes of `text`.
  FixedString(std::string_view text) {  // NOLINT(google-explicit-constructor): reads as a string
    std::memcpy(bytes.data(), text.data(), text.size() < N ? text.size() : N);
  }
  FixedString(const char* text)
      : FixedString(std::string_view(text)) {}  // NOLINT(google-explicit-constructor): literals
  std::string_view view() const {
    std::size_t length = N;
    while (length != 0 && bytes[length - 1] == '\0') --length;
    return {bytes.data(), length};
  }
  /// As the encodings of the two and std::strings are ordered, whose bytes count as unsigned.
  friend constexpr std::strong_ordering operator<=>(const FixedString& a, const FixedString& b) {
    return std::string_view(a.bytes.data(), N) <=> std::string_view(b.bytes.data(), N);
  }
  friend constexpr bool operator==(const FixedString&, const FixedString&) = default;
};

namespace key_detail {

template <typename T>
struct Codec;  // encode(const T&, Out&), decode(std::string_view&, T&) → bool; kMaxBytes if bounded

template <typename T>
concept Bounded = requires { Codec<T>::kMaxBytes; };

template <typename T>
  requires(std::is_integral_v<T>)
struct Codec<T> {
  static_assert(sizeof(T) <= sizeof(std::uint64_t), "a key's integers have 8 to 64 bits");
  static constexpr std::size_t kMaxBytes = sizeof(T);
  using Bits = std::make_unsigned_t<std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>>;
  static constexpr Bits kFlip = std::is_signed_v<T> ? static_cast<Bits>(Bits{1} << (sizeof(T) * 8 - 1)) : Bits{0};

  static constexpr Bits swap(Bits value) {
    if constexpr (sizeof(T) == 1) return value;
    if constexpr (sizeof(T) == 2) return __builtin_bswap16(value);
    if constexpr (sizeof(T) == 4) return __builtin_bswap32(value);
    if constexpr (sizeof(T) == 8) return __builtin_bswap64(value);
  }
  template <typename Out>
  static void encode(const T& value, Out& out) {
    const Bits bits = swap(static_cast<Bits>(static_cast<Bits>(value) ^ kFlip));
    out.append(reinterpret_cast<const char*>(&bits), sizeof bits);
  }
  static bool decode(std::string_view& from, T& value) {
    if (from.size() < sizeof(T)) return false;
    Bits bits;
    std::memcpy(&bits, from.data(), sizeof bits);
    from.remove_prefix(sizeof bits);
    value = static_cast<T>(static_cast<Bits>(swap(bits) ^ kFlip));
    return true;
  }
};

template <typename T>
  requires(std::is_enum_v<T>)
struct Codec<T> {
  using Under = std::underlying_type_t<T>;
  static constexpr std::size_t kMaxBytes = sizeof(Under);
  template <typename Out>
  static void encode(const T& value, Out& out) {
    Codec<Under>::encode(static_cast<Under>(value), out);
  }
  static bool decode(std::string_view& from, T& value) {
    Under under;
    if (!Codec<Under>::decode(from, under)) return false;
    value = static_cast<T>(under);
    return true;
  }
};

template <std::size_t N>
struct Codec<FixedString<N>> {
  static constexpr std::size_t kMaxBytes = N;
  template <typename Out>
  static void encode(const FixedString<N>& value, Out& out) {
    out.append(value.bytes.data(), N);
  }
  static bool decode(std::string_view& from, FixedString<N>& value) {
    if (from.size() < N) return false;
    std::memcpy(value.bytes.data(), from.data(), N);
    from.remove_prefix(N);
    return true;
  }
};

template <>
struct Codec<std::string_view> {
  template <typename Out>
  static void encode(std::string_view value, Out& out) {
    for (std::size_t zero; (zero = value.find('\0')) != std::string_view::npos; value.remove_prefix(zero + 1)) {
      out.append(value.data(), zero);
      out.append("\0\xff", 2);
    }
    out.append(value.data(), value.size());
    out.append("\0\0", 2);
  }
};

template <>
struct Codec<std::string> {
  template <typename Out>
  static void encode(const std::string& value, Out& out) {
    Codec<std::string_view>::encode(value, out);
  }
  static bool decode(std::string_view& from, std::string& value) {
    value.clear();
    for (;;) {
      const std::size_t zero = from.find('\0');
      if (zero == std::string_view::npos || zero + 1 >= from.size()) return false;
      value.append(from.data(), zero);
      const char mark = from[zero + 1];
      from.remove_prefix(zero + 2);
      if (mark == '\0') return true;
      if (mark != '\xff') return false;
      value.push_back('\0');
    }
  }
};

template <typename... Parts>
struct TupleCodec {
  template <typename Tuple, typename Out>
  static void encode(const Tuple& value, Out& out) {
    std::apply([&](const auto&... part) { (Codec<std::remove_cvref_t<decltype(part)>>::encode(part, out), ...); },
               value);
  }
  template <typename Tuple>
  static bool decode(std::string_view& from, Tuple& value) {
    return std::apply(
        [&](auto&... part) { return (Codec<std::remove_cvref_t<decltype(part)>>::decode(from, part) && ...); }, value);
  }
};
template <typename... Parts>
  requires(Bounded<Parts> && ...)
struct Codec<std::tuple<Parts...>> : TupleCodec<Parts...> {
  static constexpr std::size_t kMaxBytes = (std::size_t{0} + ... + Codec<Parts>::kMaxBytes);
};
template <typename... Parts>
  requires(!(Bounded<Parts> && ...))
struct Codec<std::tuple<Parts...>> : TupleCodec<Parts...> {};
template <typename A, typename B>
  requires(Bounded<A> && Bounded<B>)
struct Codec<std::pair<A, B>> : TupleCodec<A, B> {
  static constexpr std::size_t kMaxBytes = Codec<A>::kMaxBytes + Codec<B>::kMaxBytes;
};
template <typename A, typename B>
  requires(!(Bounded<A> && Bounded<B>))
struct Codec<std::pair<A, B>> : TupleCodec<A, B> {};

template <std::size_t N>
struct InlineBuffer {
  std::array<char, N> bytes;
  std::size_t size = 0;
  void append(const char* data, std::size_t count) {
    std::memcpy(bytes.data() + size, data, count);
    size += count;
  }
};

}  // namespace key_detail

/// The encoded form of one key. Lives on the stack when the key's type bounds its length.
template <typename Key>
class EncodedKey {
 public:
  explicit EncodedKey(const Key& key) { key_detail::Codec<Key>::encode(key, buffer_); }
  std::string_view view() const {
    if constexpr (key_detail::Bounded<Key>) {
      return {buffer_.bytes.data(), buffer_.size};
    } else {
      return buffer_;
    }
  }
  operator std::string_view() const { return view(); }  // NOLINT(google-explicit-constructor)

 private:
  template <typename K>
  struct Buffer {
    using type = std::string;
  };
  template <key_detail::Bounded K>
  struct Buffer<K> {
    using type = key_detail::InlineBuffer<key_detail::Codec<K>::kMaxBytes>;
  };
  typename Buffer<Key>::type buffer_;
};

template <typename Key>
EncodedKey<Key> encode_key(const Key& key) {
  return EncodedKey<Key>(key);
}

/// Reads a key back; false if the bytes are no encoding of a Key (too short, trailing bytes, bad escape).
template <typename Key>
[[nodiscard]] bool decode_key(std::string_view bytes, Key& key) {
  return key_detail::Codec<Key>::decode(bytes, key) && bytes.empty();
}

}  // namespace granary
