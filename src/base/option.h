#pragma once
// Describes each option once. Its type and default are those of a member of a struct of options. Its name, range, unit
// and help are one row of that struct's table, a specialization of Table beside the struct. Checks of options, flags of
// programs, keys of the cluster file and their documentation are made from the rows. docs/architecture.md tells how to
// add an option.

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <granary/status.h>

#include "src/base/byte_size.h"

namespace granary::option {

/// A specialization has `static constexpr std::tuple kRows`, with a row for each member of the struct that is an
/// option.
template <typename Struct>
struct Table;

/// Whether options of this type have a range. Those of an enumeration have words instead, and all others have neither.
template <typename T>
inline constexpr bool kIsNumber = std::is_integral_v<T> && !std::is_same_v<T, bool>;

inline constexpr std::string_view kBytes = "bytes";        ///< the unit of sizes, which people write as "8GiB"
inline constexpr std::string_view kRequired = "required";  ///< stands for the default of an option that must be set
inline constexpr std::string_view kWithoutNul = " without NUL bytes";
inline constexpr std::size_t kMostWords = 4;

/// A value of an enumeration, and the word for it in flags and files.
template <typename T>
struct Word {
  T value;
  std::string_view word;
};

template <typename Struct, typename T>
struct Row {
  std::string_view name;
  T Struct::*member;
  std::string_view unit;   ///< such as "milliseconds"; for neither number nor choice, what the option is: "a path"
  std::string_view help;   ///< part of a sentence
  std::string_view unset;  ///< what holds if the option is not set; empty: its default says so
  /// The range of a number. A default outside of it means that the option is not set.
  std::conditional_t<kIsNumber<T>, T, bool> low = {}, high = {};
  /// The values of a choice and their words. Elements after the last one are empty.
  std::conditional_t<std::is_enum_v<T>, std::array<Word<T>, kMostWords>, bool> words = {};
  bool path = false;  ///< whether it is one path or several, which count from the folder of the file that names them

  T initial() const { return Struct().*member; }
  /// Returns the value's word, which is empty if `value` is no enumerator.
  constexpr std::string_view word_of(T value) const {
    for (const auto& each : words) {
      if (each.value == value) return each.word;
    }
    return {};
  }
  std::vector<std::string> word_list() const {
    std::vector<std::string> list;
    for (const auto& each : words) {
      if (!each.word.empty()) list.emplace_back(each.word);
    }
    return list;
  }
};

// These make rows, so that a table needs no types.

template <typename Struct, typename T>
constexpr auto number(std::string_view name, T Struct::*member, std::type_identity_t<T> low,
                      std::type_identity_t<T> high, std::string_view unit, std::string_view help,
                      std::string_view unset = {}) {
  return Row<Struct, T>{name, member, unit, help, unset, low, high};
}
template <typename Struct>
constexpr auto size(std::string_view name, std::uint64_t Struct::*member, std::uint64_t low, std::uint64_t high,
                    std::string_view help, std::string_view unset = {}) {
  return number(name, member, low, high, kBytes, help, unset);
}
template <typename Struct, typename T, std::size_t kWords>
constexpr auto choice(std::string_view name, T Struct::*member, const Word<T> (&words)[kWords], std::string_view help) {
  Row<Struct, T> row{name, member, {}, help, {}};
  std::copy_n(words, kWords, row.words.begin());
  return row;
}
template <typename Struct>
constexpr auto on_off(std::string_view name, bool Struct::*member, std::string_view help) {
  return Row<Struct, bool>{name, member, {}, help, {}};
}
template <typename Struct, typename T>
constexpr auto plain(std::string_view name, T Struct::*member, std::string_view what, std::string_view help,
                     std::string_view unset = "none") {
  return Row<Struct, T>{name, member, what, help, unset};
}
template <typename Struct, typename T>
constexpr auto path(std::string_view name, T Struct::*member, std::string_view what, std::string_view help,
                    std::string_view unset = "none") {
  Row<Struct, T> row = plain(name, member, what, help, unset);
  row.path = true;
  return row;
}

// These find rows of a table.

template <typename Member>
struct MemberOf;
template <typename Class, typename T>
struct MemberOf<T Class::*> {
  using Struct = Class;
};

/// Returns the row of a member: row<&Options::epoch_ms>(). If there is none, this does not compile.
template <auto kMember>
constexpr const auto& row() {
  constexpr const auto& kRows = Table<typename MemberOf<decltype(kMember)>::Struct>::kRows;
  constexpr auto kIs = [](const auto& each) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(each.member)>, decltype(kMember)>)
      return each.member == kMember;
    else
      return false;
  };
  constexpr std::size_t kAt = std::apply(
      [&](const auto&... rows) {
        std::size_t before = 0;
        static_cast<void>(((kIs(rows) || (++before, false)) || ...));
        return before;
      },
      kRows);
  return std::get<kAt>(kRows);
}

/// Makes the row of a member of another struct that means the same:
/// same_as<&Options::epoch_ms>(&ClusterConfig::epoch_ms).
template <auto kOther, typename Struct, typename T>
constexpr auto same_as(T Struct::*member) {
  const auto& other = row<kOther>();
  return Row<Struct, T>{other.name, member,     other.unit,  other.help, other.unset,
                        other.low,  other.high, other.words, other.path};
}

/// Calls `visit` with each row of the struct.
template <typename Struct, typename Visitor>
constexpr void for_each(Visitor&& visit) {
  std::apply([&](const auto&... rows) { (visit(rows), ...); }, Table<Struct>::kRows);
}

/// Returns the word for the member's value: word_of<&ClusterConfig::provider>(config).
template <auto kMember>
constexpr std::string_view word_of(const typename MemberOf<decltype(kMember)>::Struct& values) {
  return row<kMember>().word_of(values.*kMember);
}

// These make texts of rows.

/// Returns a value as people write it: "40", "8MiB", "durable". It is empty for any other type.
template <typename Struct, typename T>
std::string text_of(const Row<Struct, T>& row, const T& value) {
  if constexpr (std::is_enum_v<T>)
    return std::string(row.word_of(value));
  else if constexpr (kIsNumber<T>)
    return row.unit == kBytes ? base::size_text(static_cast<std::uint64_t>(value)) : fmt::format("{}", value);
  else if constexpr (fmt::is_formattable<T>::value)
    return fmt::format("{}", value);
  else
    return {};
}

/// Returns the text of a range without an end: "a whole number of epochs, 0 or more". `unit` may be empty.
inline std::string whole_number_from(std::uint64_t low, std::string_view unit) {
  return fmt::format("a whole number{}{}, {} or more", unit.empty() ? "" : " of ", unit, low);
}

/// Whether the range of a number ends at a limit that users never reach.
template <typename Struct, typename T>
constexpr bool is_endless(const Row<Struct, T>& row) {
  return row.high == std::numeric_limits<T>::max() && sizeof(T) >= sizeof(std::uint32_t);
}

/// Returns which values are allowed: "1 to 10000", "durable, commit".
template <typename Struct, typename T>
std::string allowed(const Row<Struct, T>& row) {
  if constexpr (std::is_enum_v<T>) {
    return fmt::format("{}", fmt::join(row.word_list(), ", "));
  } else if constexpr (kIsNumber<T>) {
    if (is_endless(row)) return whole_number_from(static_cast<std::uint64_t>(row.low), "");
    return fmt::format("{} to {}", text_of(row, row.low), text_of(row, row.high));
  } else {
    return std::is_same_v<T, bool> ? "true, false" : std::string(row.unit);
  }
}

/// Returns allowed() followed by the unit: "1 to 10000 milliseconds", "a whole number of epochs, 0 or more".
template <typename Struct, typename T>
std::string allowed_with_unit(const Row<Struct, T>& row) {
  if constexpr (kIsNumber<T>) {
    if (is_endless(row)) return whole_number_from(static_cast<std::uint64_t>(row.low), row.unit);
    if (!row.unit.empty() && row.unit != kBytes) return fmt::format("{} {}", allowed(row), row.unit);
  }
  return allowed(row);
}

/// Returns what holds if the option is not set.
template <typename Struct, typename T>
std::string initially(const Row<Struct, T>& row) {
  return row.unset.empty() ? text_of(row, row.initial()) : std::string(row.unset);
}

/// Returns the first of the paths that holds a NUL byte, in quotes; nothing if none does. The system would take the
/// bytes before it for all of the path.
inline std::optional<std::string> path_with_nul(std::span<const std::string> paths) {
  for (const std::string& path : paths) {
    if (const std::size_t at = path.find('\0'); at != std::string::npos)
      return fmt::format("'{}\\0{}'", path.substr(0, at), path.substr(at + 1, path.find('\0', at + 1) - at - 1));
  }
  return std::nullopt;
}

/// Checks a member. Returns kInvalidArgument if it may not have its value, or is required and not set:
/// "Options::epoch_ms is 0; expected 1 to 10000". `owner` is such as "Options::".
template <typename Struct, typename T>
Status check(std::string_view owner, const Row<Struct, T>& row, const Struct& values) {
  const auto refuse = [&](auto value, std::string_view more) {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("{}{} is {}; expected {}{}", owner, row.name, value, allowed(row), more));
  };
  if constexpr (std::is_enum_v<T>) {
    if (row.word_of(values.*row.member).empty()) return refuse(static_cast<unsigned>(values.*row.member), "");
  } else if constexpr (kIsNumber<T>) {
    const T value = values.*row.member, initial = row.initial();
    const auto in_range = [&](T number) { return row.low <= number && number <= row.high; };
    const bool may_be_unset = !in_range(initial) && row.unset != kRequired;
    if (!in_range(value) && !(may_be_unset && value == initial))
      return refuse(value, may_be_unset ? fmt::format(", or {} ({})", initial, row.unset) : "");
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (row.unset == kRequired && (values.*row.member).empty()) return refuse("empty", "");
    if (const auto odd = row.path ? path_with_nul(std::span(&(values.*row.member), 1)) : std::nullopt)
      return refuse(*odd, kWithoutNul);
  } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
    if (const auto odd = row.path ? path_with_nul(values.*row.member) : std::nullopt) return refuse(*odd, kWithoutNul);
  }
  return {};
}

/// Returns the first complaint of check(), for all members with a row.
template <typename Struct>
Status check(std::string_view owner, const Struct& values) {
  Status first;
  for_each<Struct>([&](const auto& row) {
    if (first.ok()) first = check(owner, row, values);
  });
  return first;
}

}  // namespace granary::option
