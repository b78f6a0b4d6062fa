#pragma once
// Values as bytes of a message, and back. Values come from another process (I26): nothing is believed, a count or a
// length no more than the bytes that follow it, so memory stays within a small multiple of the message. Numbers are
// little endian.
//
// A struct takes part by naming its members in order, once for both directions:
//
//   static constexpr auto kMembers = std::tuple{&FindRecord::table, &FindRecord::key};
//
// Enumerations take part with a last enumerator kLast.

#include <concepts>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

namespace granary::cluster::messages {

template <typename T>
concept Number = std::unsigned_integral<T> && !std::same_as<T, bool>;
template <typename T>
concept Enumeration = std::is_enum_v<T>;
template <typename T>
concept Struct = requires { T::kMembers; };

class Writer {
 public:
  /// Appends to `out`, which outlives the writer.
  explicit Writer(std::string& out) : out_(out) {}

  template <Number T>
  void put(T value) {
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    out_.append(bytes, sizeof value);
  }
  void put(std::same_as<bool> auto value) { put(static_cast<std::uint8_t>(value)); }
  void put(Enumeration auto value) { put(static_cast<std::underlying_type_t<decltype(value)>>(value)); }
  void put(std::string_view bytes) {
    put(static_cast<std::uint32_t>(bytes.size()));
    out_.append(bytes);
  }
  template <typename T>
  void put(const std::vector<T>& items) {
    put(static_cast<std::uint32_t>(items.size()));
    for (const T& item : items) put(item);
  }
  template <Struct T>
  void put(const T& value) {
    std::apply([&](auto... member) { (put(value.*member), ...); }, T::kMembers);
  }

 private:
  std::string& out_;
};

/// Each get() is false once something did not fit; what was asked for is then of no use.
class Reader {
 public:
  /// String views that it gives are into `bytes`.
  explicit Reader(std::string_view bytes) : left_(bytes) {}

  template <Number T>
  bool get(T& value) {
    if (left_.size() < sizeof value) return false;
    std::memcpy(&value, left_.data(), sizeof value);
    left_.remove_prefix(sizeof value);
    return true;
  }
  bool get(bool& value) {
    std::uint8_t byte = 0;
    if (!get(byte) || byte > 1) return false;
    value = byte != 0;
    return true;
  }
  template <Enumeration T>
  bool get(T& value) {
    std::underlying_type_t<T> number{};
    if (!get(number) || number > static_cast<std::underlying_type_t<T>>(T::kLast)) return false;
    value = static_cast<T>(number);
    return true;
  }
  bool get(std::string_view& bytes) {
    std::uint32_t size = 0;
    if (!get(size) || size > left_.size()) return false;
    bytes = left_.substr(0, size);
    left_.remove_prefix(size);
    return true;
  }
  bool get(std::string& bytes) {
    std::string_view view;
    if (!get(view)) return false;
    bytes = view;
    return true;
  }
  template <typename T>
  bool get(std::vector<T>& items) {
    std::uint32_t count = 0;
    if (!get(count) || count > left_.size()) return false;
    items.clear();
    for (; count != 0; --count) {
      if (!get(items.emplace_back())) return false;
    }
    return true;
  }
  template <Struct T>
  bool get(T& value) {
    return std::apply([&](auto... member) { return (get(value.*member) && ...); }, T::kMembers);
  }

  /// Nothing is left over.
  bool ended() const { return left_.empty(); }

 private:
  std::string_view left_;
};

}  // namespace granary::cluster::messages
