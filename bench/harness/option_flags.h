#pragma once
// Flags for options that have rows (src/base/option.h). Apart from its name, a flag has everything from its option.

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "bench/harness/flags.h"
#include "src/base/option.h"

namespace granary::bench {

/// Returns the row's help as a sentence, followed by `more`.
template <typename Struct, typename T>
std::string flag_help(const option::Row<Struct, T>& row, std::string_view more) {
  std::string help = fmt::format("{}.{}{}", row.help, more.empty() ? "" : " ", more);
  help.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(help.front())));
  return help;
}

/// Returns the flag `name` for an option that is a number, a choice, or a file's path. Its default is that of
/// `defaults`; `more` follows the option's help.
template <typename Struct, typename T>
Flag flag_of(std::string name, const option::Row<Struct, T>& row, const Struct& defaults, std::string_view more) {
  std::string help = flag_help(row, more);
  const T initial = defaults.*row.member;
  if constexpr (std::is_enum_v<T>) {
    return choice_flag(std::move(name), option::text_of(row, initial), row.word_list(), std::move(help));
  } else if constexpr (std::is_same_v<T, std::string>) {
    return text_flag(std::move(name), initial, "FILE", std::move(help));
  } else {
    const auto low = static_cast<std::uint64_t>(std::min(row.low, initial));
    const auto high = static_cast<std::uint64_t>(row.high);
    return row.unit == option::kBytes
               ? bytes_flag(std::move(name), option::text_of(row, initial), low, high, std::move(help))
               : integer_flag(std::move(name), initial, low, high, std::string(row.unit), std::move(help));
  }
}

/// Sets the option to what its flag says.
template <typename Struct, typename T>
void set_option(const FlagValues& flags, std::string_view name, const option::Row<Struct, T>& row, Struct& values) {
  if constexpr (std::is_enum_v<T>) {
    for (const auto& each : row.words) {
      if (each.word == flags.text(name)) values.*row.member = each.value;
    }
  } else if constexpr (std::is_same_v<T, std::string>) {
    values.*row.member = flags.text(name);
  } else {
    values.*row.member = static_cast<T>(row.unit == option::kBytes ? flags.bytes(name) : flags.integer(name));
  }
}

}  // namespace granary::bench
