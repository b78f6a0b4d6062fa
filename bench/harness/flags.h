#pragma once
// A command's flags as data, for `--help`, the parser and the JSON. A command declares a table of them and reads the
// values by name once, at set-up.

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace granary::bench {

enum class FlagKind : std::uint8_t { kSwitch, kInteger, kReal, kBytes, kText, kChoice };

struct Flag {
  std::string name;
  FlagKind kind = FlagKind::kText;
  std::string initial = {};               ///< default, as one would type it
  std::string help = {};                  ///< one sentence
  std::string unit = {};                  ///< "seconds", "keys", ..., or "" where there is none
  std::uint64_t low = 0;                  ///< kInteger, kBytes: smallest allowed
  std::uint64_t high = 0;                 ///< ... and largest
  double real_low = 0, real_high = 0;     ///< kReal: the same
  std::vector<std::string> choices = {};  ///< kChoice
};

Flag integer_flag(std::string name, std::uint64_t initial, std::uint64_t low, std::uint64_t high, std::string unit,
                  std::string help);
Flag real_flag(std::string name, double initial, double low, double high, std::string unit, std::string help);
/// Returns a flag that is given as --name, --name=true or --noname.
Flag switch_flag(std::string name, bool initial, std::string help);
/// Returns a flag with a text. `unit` names what the text is, e.g. "FILE".
Flag text_flag(std::string name, std::string initial, std::string unit, std::string help);
Flag choice_flag(std::string name, std::string initial, std::vector<std::string> choices, std::string help);
/// Returns a flag for a size such as "8GiB", "512MiB" or plain bytes; "0" where `low` is 0.
Flag bytes_flag(std::string name, std::string initial, std::uint64_t low, std::uint64_t high, std::string help);

/// Returns the values that are allowed: "1 to 256", "0 to 0.999", "silo, a, b", "FILE".
std::string allowed_values(const Flag& flag);
/// Returns allowed_values(), followed by the unit of a number: "1 to 256 threads", "a whole number of keys, 0 or more".
std::string allowed_with_unit(const Flag& flag);

/// The values of a parsed command line. Asking for a name that the command does not declare is a programming error and
/// ends the process.
class FlagValues {
 public:
  bool enabled(std::string_view name) const;
  std::uint64_t integer(std::string_view name) const;
  double real(std::string_view name) const;
  const std::string& text(std::string_view name) const;  ///< kText and kChoice
  std::uint64_t bytes(std::string_view name) const;
  /// Whether the command line set the flag.
  bool given(std::string_view name) const;
  bool declared(std::string_view name) const { return values_.find(name) != values_.end(); }

  struct Entry {
    FlagKind kind = FlagKind::kText;
    bool given = false;
    bool on = false;
    std::uint64_t whole = 0;
    double real = 0;
    std::string text = {};  ///< as typed, or the default
    bool unset = false;     ///< whether no value holds, since other flags take its place; reports have null
  };
  void set(const std::string& name, Entry entry) { values_[name] = std::move(entry); }
  /// Sets a declared flag that the command line did not set, in place of its default.
  void set_unless_given(const std::string& name, Entry entry) {
    if (declared(name) && !given(name)) set(name, std::move(entry));
  }
  void set_unless_given(const std::string& name, std::uint64_t value) {
    set_unless_given(name, {.kind = FlagKind::kInteger, .whole = value, .text = std::to_string(value)});
  }
  void set_unless_given(const std::string& name, std::string_view choice) {
    set_unless_given(name, {.kind = FlagKind::kChoice, .text = std::string(choice)});
  }
  /// Adds a number to reports that no flag says by itself.
  void add_figure(const std::string& name, double value) { set(name, {.kind = FlagKind::kReal, .real = value}); }
  const std::map<std::string, Entry, std::less<>>& all() const { return values_; }

 private:
  const Entry& find(std::string_view name, FlagKind kind) const;
  std::map<std::string, Entry, std::less<>> values_;
};

}  // namespace granary::bench
