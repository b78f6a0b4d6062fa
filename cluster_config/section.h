#pragma once
// Reads one table of a cluster file key by key. Each value is checked against what is allowed; whatever is not as it should
// be becomes a problem with its line, and the value that the caller gets is one that is allowed.

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cluster_config/problems.h"
#include "cluster_config/toml.h"

namespace granary::cluster_config {

/// What a key may hold.
template <typename T>
struct Range {
  T low;
  T high;
};

class Section {
 public:
  /// `name` is for messages: "[cluster]". What the table does not have is taken from `defaults`, if that is not null.
  Section(std::string name, const toml::table& table, Problems& problems, const toml::table* defaults = nullptr)
      : name_(std::move(name)),
        table_(table),
        defaults_(defaults),
        problems_(problems) {}

  std::uint64_t integer(const char* key, Range<std::uint64_t> allowed, std::uint64_t initial);
  /// "4GiB".
  std::uint64_t size(const char* key, Range<std::uint64_t> allowed, std::uint64_t initial);
  std::string text(const char* key, std::string initial = "");
  std::vector<std::string> texts(const char* key);
  /// One of `values`, by their names; `initial` if the key is not there.
  template <typename Enum, std::convertible_to<Enum>... Rest>
  Enum choice(const char* key, Enum first, Rest... rest) {
    const std::vector<Enum> values{first, static_cast<Enum>(rest)...};
    std::vector<std::string> names;
    for (const Enum value : values) names.emplace_back(name(value));
    return values[choose(key, names)];
  }

  bool has(const char* key) const { return table_.contains(key); }
  /// The value comes from the defaults.
  bool is_default(const char* key) const { return !has(key) && defaults_ != nullptr && defaults_->contains(key); }
  /// Complains that there is no such key; `expected` says what it is to hold.
  void require(const char* key, const std::string& expected);
  /// Complains of the key's value, or of the section if the key is not there.
  void complain(const char* key, const std::string& message);
  /// Complains of keys that nobody asked for.
  void close();
  /// Those that were asked for.
  const std::vector<std::string>& known() const { return known_; }

  /// 1 if the file does not have the section.
  int line() const { return std::max(1, static_cast<int>(table_.source().begin.line)); }

 private:
  const toml::node* find(const char* key);
  std::size_t choose(const char* key, const std::vector<std::string>& names);
  void mistyped(const char* key, const toml::node& value, const std::string& expected);

  const std::string name_;
  const toml::table& table_;
  const toml::table* const defaults_;
  Problems& problems_;
  std::vector<std::string> known_;
};

/// Complains of each key of the table that is not among the known ones, with the nearest of them.
void complain_of_unknown(const std::string& section, const toml::table& table, const std::vector<std::string>& known,
                         Problems& problems);

}  // namespace granary::cluster_config
