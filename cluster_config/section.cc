#include "cluster_config/section.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "src/base/byte_size.h"
#include "src/base/nearest.h"

namespace granary::cluster_config {
namespace {

constexpr std::size_t kLongestText = 1000;
constexpr std::size_t kShownBytes = 40;

int line_of(const toml::node& node) { return static_cast<int>(node.source().begin.line); }

/// What of a text belongs in a message of one line.
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

}  // namespace

const toml::node* Section::find(const char* key) {
  if (std::find(known_.begin(), known_.end(), key) == known_.end()) known_.emplace_back(key);
  const toml::node* const own = table_.get(key);
  return own != nullptr || defaults_ == nullptr ? own : defaults_->get(key);
}

void Section::mistyped(const char* key, const toml::node& value, const std::string& expected) {
  problems_.add(line_of(value), fmt::format("{} is {}; expected {}", key, kind_of(value), expected));
}

std::uint64_t Section::integer(const char* key, Range<std::uint64_t> allowed, std::uint64_t initial) {
  const toml::node* const value = find(key);
  if (value == nullptr) return initial;
  const std::string expected = fmt::format("{} to {}", allowed.low, allowed.high);
  const toml::value<std::int64_t>* const number = value->as_integer();
  if (number == nullptr) {
    mistyped(key, *value, "a whole number, " + expected);
    return initial;
  }
  const std::int64_t given = number->get();
  if (given >= 0 && allowed.low <= static_cast<std::uint64_t>(given) &&
      static_cast<std::uint64_t>(given) <= allowed.high) {
    return static_cast<std::uint64_t>(given);
  }
  problems_.add(line_of(*value), fmt::format("{} = {}: expected {}", key, given, expected));
  return initial;
}

std::uint64_t Section::size(const char* key, Range<std::uint64_t> allowed, std::uint64_t initial) {
  const toml::node* const value = find(key);
  if (value == nullptr) return initial;
  const std::string expected =
      fmt::format("{} to {}, as \"512MiB\"", base::size_text(allowed.low), base::size_text(allowed.high));
  const toml::value<std::string>* const text = value->as_string();
  std::uint64_t bytes = 0;
  if (text == nullptr) {
    mistyped(key, *value, expected);
    return initial;
  }
  if (base::parse_bytes(text->get(), bytes) && allowed.low <= bytes && bytes <= allowed.high) return bytes;
  problems_.add(line_of(*value), fmt::format("{} = \"{}\": expected {}", key, shown(text->get()), expected));
  return initial;
}

std::string Section::text(const char* key, std::string initial) {
  const toml::node* const value = find(key);
  if (value == nullptr) return initial;
  const toml::value<std::string>* const text = value->as_string();
  if (text == nullptr) {
    mistyped(key, *value, "text");
  } else if (text->get().empty() || text->get().size() > kLongestText || text->get().find('\0') != std::string::npos) {
    problems_.add(line_of(*value), fmt::format("{} = \"{}\": expected 1 to {} bytes without NUL", key,
                                               shown(text->get()), kLongestText));
  } else {
    return text->get();
  }
  return initial;
}

std::vector<std::string> Section::texts(const char* key) {
  const toml::node* const value = find(key);
  if (value == nullptr) return {};
  std::vector<std::string> all;
  const toml::array* const list = value->as_array();
  if (list == nullptr) {
    mistyped(key, *value, "a list of texts");
    return all;
  }
  for (const toml::node& one : *list) {
    const toml::value<std::string>* const text = one.as_string();
    const bool fits = text != nullptr && !text->get().empty() && text->get().size() <= kLongestText;
    if (fits) {
      all.push_back(text->get());
    } else {
      problems_.add(line_of(one), fmt::format("{}: expected a list of texts of 1 to {} bytes", key, kLongestText));
    }
  }
  return all;
}

std::size_t Section::choose(const char* key, const std::vector<std::string>& names) {
  const toml::node* const value = find(key);
  if (value == nullptr) return 0;
  const toml::value<std::string>* const text = value->as_string();
  if (text == nullptr) {
    mistyped(key, *value, fmt::format("one of \"{}\"", fmt::join(names, "\", \"")));
    return 0;
  }
  const auto found = std::find(names.begin(), names.end(), text->get());
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  problems_.add(line_of(*value), fmt::format("{} = \"{}\": expected one of \"{}\"", key, shown(text->get()),
                                             fmt::join(names, "\", \"")));
  return 0;
}

void Section::require(const char* key, const std::string& expected) {
  if (has(key) || is_default(key)) return;
  problems_.add(line(), fmt::format("{} has no {}; expected {}", name_, key, expected));
}

void Section::complain(const char* key, const std::string& message) {
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
