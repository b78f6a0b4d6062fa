#include "cluster_config/section.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "src/base/byte_size.h"
#include "src/base/nearest.h"

namespace granary::cluster_config {
namespace {

constexpr std::size_t kLongestText = 1000;
constexpr std::size_t kShownBytes = 40;
constexpr std::uint32_t kMostCpus = 4096;

int line_of(const toml::node& node) { return static_cast<int>(node.source().begin.line); }

/// Returns the part of a text that belongs in a message of one line.
std::string shown(std::string_view text) {
  std::string result;
  for (const char c : text.substr(0, kShownBytes)) result += c < ' ' || c == '\x7f' ? '?' : c;
  return text.size() > kShownBytes ? result + "..." : result;
}

const char* kind_of(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table: return "a table";
    case toml::node_type::array: return "an array";
    case toml::node_type::string: return "text";
    case toml::node_type::integer: return "a whole number";
    case toml::node_type::floating_point: return "a number with a fraction";
    case toml::node_type::boolean: return "true or false";
    default: return "a date or time";
  }
}

/// Reads numbers such as "0-3,8". Returns false if the text is not of this form.
bool parse_cpus(std::string_view text, std::vector<std::uint32_t>& cpus) {
  const char* at = text.data();
  const char* const end = at + text.size();
  const auto number = [&](std::uint32_t& value) {
    const auto [next, error] = std::from_chars(at, end, value);
    at = next;
    return error == std::errc() && value < kMostCpus;
  };
  while (at != end) {
    std::uint32_t first = 0;
    bool good = number(first);
    std::uint32_t last = first;
    if (good && at != end && *at == '-') good = (++at, number(last)) && first <= last;
    if (good && at != end) good = *at++ == ',' && at != end;
    if (!good) return false;
    for (std::uint32_t cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
  }
  return true;
}

}  // namespace

const toml::node* Section::find(std::string_view key) {
  if (std::find(known_.begin(), known_.end(), key) == known_.end()) known_.emplace_back(key);
  const toml::node* const own = table_.get(key);
  return own != nullptr || defaults_ == nullptr ? own : defaults_->get(key);
}

std::string Section::absolute(const std::string& path) const {
  return (std::filesystem::path(folder_) / path).lexically_normal().string();
}

void Section::mistyped(std::string_view key, const toml::node& value, const std::string& expected) {
  problems_.add(line_of(value), fmt::format("{} is {}; expected {}", key, kind_of(value), expected));
}

std::optional<std::uint64_t> Section::integer(std::string_view key, Range allowed) {
  const toml::node* const value = find(key);
  if (value == nullptr) return {};
  const std::string expected = fmt::format("{} to {}", allowed.low, allowed.high);
  const toml::value<std::int64_t>* const number = value->as_integer();
  if (number == nullptr) {
    mistyped(key, *value, "a whole number, " + expected);
    return {};
  }
  const std::int64_t given = number->get();
  if (given >= 0 && allowed.low <= static_cast<std::uint64_t>(given) &&
      static_cast<std::uint64_t>(given) <= allowed.high) {
    return static_cast<std::uint64_t>(given);
  }
  problems_.add(line_of(*value), fmt::format("{} = {}: expected {}", key, given, expected));
  return {};
}

std::optional<std::uint64_t> Section::size(std::string_view key, Range allowed) {
  const toml::node* const value = find(key);
  if (value == nullptr) return {};
  const std::string expected =
      fmt::format("{} to {}, as \"512MiB\"", base::size_text(allowed.low), base::size_text(allowed.high));
  const toml::value<std::string>* const text = value->as_string();
  std::uint64_t bytes = 0;
  if (text == nullptr) {
    mistyped(key, *value, expected);
    return {};
  }
  if (base::parse_bytes(text->get(), bytes) && allowed.low <= bytes && bytes <= allowed.high) return bytes;
  problems_.add(line_of(*value), fmt::format("{} = \"{}\": expected {}", key, shown(text->get()), expected));
  return {};
}

std::optional<std::size_t> Section::choose(std::string_view key, const std::vector<std::string>& words) {
  const toml::node* const value = find(key);
  if (value == nullptr) return {};
  const std::string expected = fmt::format("one of \"{}\"", fmt::join(words, "\", \""));
  const toml::value<std::string>* const text = value->as_string();
  if (text == nullptr) {
    mistyped(key, *value, expected);
    return {};
  }
  const auto found = std::find(words.begin(), words.end(), text->get());
  if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  problems_.add(line_of(*value), fmt::format("{} = \"{}\": expected {}", key, shown(text->get()), expected));
  return {};
}

void Section::read(std::string_view key, bool path, std::string& into) {
  const toml::node* const value = find(key);
  if (value == nullptr) return;
  const toml::value<std::string>* const text = value->as_string();
  if (text == nullptr) {
    mistyped(key, *value, "text");
  } else if (text->get().empty() || text->get().size() > kLongestText || text->get().find('\0') != std::string::npos) {
    problems_.add(line_of(*value), fmt::format("{} = \"{}\": expected 1 to {} bytes without NUL", key,
                                               shown(text->get()), kLongestText));
  } else {
    into = path ? absolute(text->get()) : text->get();
  }
}

void Section::read(std::string_view key, bool path, std::vector<std::string>& into) {
  const toml::node* const value = find(key);
  if (value == nullptr) return;
  const toml::array* const list = value->as_array();
  if (list == nullptr) return mistyped(key, *value, "a list of texts");
  for (const toml::node& one : *list) {
    const toml::value<std::string>* const text = one.as_string();
    const bool fits = text != nullptr && !text->get().empty() && text->get().size() <= kLongestText;
    if (fits && text->get().find('\0') != std::string::npos) {
      problems_.add(line_of(one), fmt::format("{} has \"{}\": expected texts without NUL", key, shown(text->get())));
    } else if (fits) {
      into.push_back(path ? absolute(text->get()) : text->get());
    } else {
      problems_.add(line_of(one), fmt::format("{}: expected a list of texts of 1 to {} bytes", key, kLongestText));
    }
  }
}

void Section::read(std::string_view key, bool, std::vector<std::uint32_t>& into) {
  std::string text;
  read(key, false, text);
  if (parse_cpus(text, into)) return;
  into.clear();
  complain(key, fmt::format(" = \"{}\": expected numbers from 0 to {}, as \"0-3,8\"", shown(text), kMostCpus - 1));
}

void Section::require(std::string_view key, std::string_view expected) {
  if (has(key) || is_default(key)) return;
  problems_.add(line(), fmt::format("{} has no {}; expected {}", name_, key, expected));
}

void Section::complain(std::string_view key, const std::string& message) {
  const toml::node* const value = find(key);
  problems_.add(value != nullptr ? line_of(*value) : line(), fmt::format("{}{}", key, message));
}

void Section::close() { complain_of_unknown(name_, table_, known_, problems_); }

void complain_of_unknown(const std::string& section, const toml::table& table, const std::vector<std::string>& known,
                         Problems& problems) {
  for (const auto& [key, value] : table) {
    if (std::find(known.begin(), known.end(), key.str()) != known.end()) continue;
    const std::string meant = base::nearest(key.str(), known);
    problems.add(
        static_cast<int>(key.source().begin.line),
        meant.empty()
            ? fmt::format("{}: {} has no such key; expected {}", shown(key.str()), section, fmt::join(known, ", "))
            : fmt::format("{}: {} has no such key; did you mean {}?", shown(key.str()), section, meant));
  }
}

}  // namespace granary::cluster_config
