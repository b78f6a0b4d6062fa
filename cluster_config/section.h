#pragma once
// Reads one table of a cluster file into a struct, by the rows of its keys (keys.h). Each value is checked against what
// is allowed. A wrong value becomes a problem with its line, and the member keeps its default.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cluster_config/problems.h"
#include "cluster_config/toml.h"
#include "src/base/option.h"

namespace granary::cluster_config {

class Section {
 public:
  /// `name` is for messages: "[cluster]". Paths count from `folder`. Keys that the table does not have are taken from
  /// `defaults`, if that is not null.
  Section(std::string name, std::string folder, const toml::table& table, Problems& problems,
          const toml::table* defaults = nullptr)
      : name_(std::move(name)),
        folder_(std::move(folder)),
        table_(table),
        defaults_(defaults),
        problems_(problems) {}

  /// Reads all keys that the struct has rows for.
  template <typename Struct>
  void read(Struct& values) {
    option::for_each<Struct>([&](const auto& row) { read(row, values.*row.member); });
  }

  bool has(std::string_view key) const { return table_.contains(key); }
  /// Whether the key's value is not one of its words, which was complained of.
  bool mistaken(std::string_view key) const { return mistaken_.contains(key); }
  /// Whether the value comes from the defaults.
  bool is_default(std::string_view key) const { return !has(key) && defaults_ != nullptr && defaults_->contains(key); }
  /// Complains if there is no such key: require<&NodeConfig::address>().
  template <auto kMember>
  void require() {
    require(option::row<kMember>().name, option::row<kMember>().help);
  }
  /// Complains of the key's value, or of the section if the key is not there.
  void complain(std::string_view key, const std::string& message);
  /// Complains of keys that were never asked for.
  void close();
  /// Returns the keys that were asked for.
  const std::vector<std::string>& known() const { return known_; }

  /// Returns the section's line; 1 if the file does not have the section.
  int line() const { return std::max(1, static_cast<int>(table_.source().begin.line)); }

 private:
  /// The least and the greatest value that a key may hold.
  struct Range {
    std::uint64_t low;
    std::uint64_t high;
  };

  template <typename Struct, typename T>
  void read(const option::Row<Struct, T>& row, T& value) {
    if constexpr (std::is_enum_v<T>) {
      if (const auto given = choose(row.name, row.word_list())) {
        value = row.words[*given].value;
      } else if (has(row.name)) {
        mistaken_.emplace(row.name);
      }
    } else if constexpr (option::kIsNumber<T>) {
      const Range allowed{static_cast<std::uint64_t>(row.low), static_cast<std::uint64_t>(row.high)};
      const auto given = row.unit == option::kBytes ? size(row.name, allowed) : integer(row.name, allowed);
      if (given) value = static_cast<T>(*given);
    } else {
      read(row.name, row.path, value);
    }
  }
  void read(std::string_view key, bool path, std::string& value);
  void read(std::string_view key, bool path, std::vector<std::string>& values);
  /// Reads numbers that are written as "0-3,8".
  void read(std::string_view key, bool path, std::vector<std::uint32_t>& numbers);

  // These return the key's value, or none if the key is missing or its value is not allowed. The latter is noted as a
  // problem.
  std::optional<std::uint64_t> integer(std::string_view key, Range allowed);
  std::optional<std::uint64_t> size(std::string_view key, Range allowed);
  std::optional<std::size_t> choose(std::string_view key, const std::vector<std::string>& words);

  std::string absolute(const std::string& path) const;
  void require(std::string_view key, std::string_view expected);
  const toml::node* find(std::string_view key);
  void mistyped(std::string_view key, const toml::node& value, const std::string& expected);

  const std::string name_;
  const std::string folder_;
  const toml::table& table_;
  const toml::table* const defaults_;
  Problems& problems_;
  std::vector<std::string> known_;
  std::set<std::string, std::less<>> mistaken_;
};

/// Complains of each key of the table that is not among the known ones, with the nearest of them.
void complain_of_unknown(const std::string& section, const toml::table& table, const std::vector<std::string>& known,
                         Problems& problems);

}  // namespace granary::cluster_config
