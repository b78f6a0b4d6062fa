#include "src/cli/flag_parser.h"

#include <algorithm>
#include <deque>
#include <optional>

#include <fmt/format.h>
#include <gflags/gflags.h>

#include "src/base/byte_size.h"
#include "src/base/nearest.h"

namespace granary::cli {

namespace {

using bench::Flag;
using bench::FlagKind;
using bench::FlagValues;

Status usage_error(std::string message) { return Status(StatusCode::kInvalidArgument, std::move(message)); }

/// The storage that gflags parses values into. There are two of each, because gflags wants a place for the default as
/// well.
struct Storage {
  bool on[2] = {};
  gflags::uint64 whole[2] = {};
  double real[2] = {};
  std::string text[2];
};

/// Defines the flag in gflags. Names and storage live as long as the process, because gflags keeps pointers to them.
Storage& define(const Flag& flag) {
  static std::deque<std::pair<Flag, Storage>> defined;
  auto& [kept, storage] = defined.emplace_back(flag, Storage{});
  const char* const name = kept.name.c_str();
  const char* const help = kept.help.c_str();
  switch (flag.kind) {
    case FlagKind::kSwitch: gflags::FlagRegisterer(name, help, "granary", &storage.on[0], &storage.on[1]); break;
    case FlagKind::kInteger: gflags::FlagRegisterer(name, help, "granary", &storage.whole[0], &storage.whole[1]); break;
    case FlagKind::kReal: gflags::FlagRegisterer(name, help, "granary", &storage.real[0], &storage.real[1]); break;
    case FlagKind::kBytes:
    case FlagKind::kText:
    case FlagKind::kChoice: gflags::FlagRegisterer(name, help, "granary", &storage.text[0], &storage.text[1]); break;
  }
  return storage;
}

Status bad_value(const Flag& flag, const std::string& value) {
  std::string expected = bench::allowed_values(flag);
  if (flag.kind == FlagKind::kBytes) expected = fmt::format("a size such as 512MiB or 8GiB, {}", expected);
  if (flag.kind == FlagKind::kChoice && flag.choices.size() == 1)
    expected = fmt::format("{} ({})", expected, flag.help);
  return usage_error(fmt::format("--{}={}: expected {}", flag.name, value, expected));
}

/// Whether the value has only digits or, for a real number, also a point and an exponent. gflags takes more: signs,
/// blanks, hexadecimal numbers, infinity.
bool is_plain_number(const Flag& flag, const std::string& value) {
  if (flag.kind != FlagKind::kInteger && flag.kind != FlagKind::kReal) return true;
  const char* const allowed = flag.kind == FlagKind::kInteger ? "0123456789" : "0123456789.eE+-";
  return !value.empty() && value.find_first_not_of(allowed) == std::string::npos && value[0] != '+' && value[0] != '-';
}

/// Returns one flag's value, which gflags parses from the text.
Result<FlagValues::Entry> evaluate(const Flag& flag, const std::string& value, bool given) {
  Storage& storage = define(flag);
  FlagValues::Entry entry{.kind = flag.kind, .given = given, .text = value};
  if (!is_plain_number(flag, value)) return bad_value(flag, value);
  if (gflags::SetCommandLineOption(flag.name.c_str(), value.c_str()).empty()) return bad_value(flag, value);
  switch (flag.kind) {
    case FlagKind::kSwitch: entry.on = storage.on[0]; break;
    case FlagKind::kInteger:
      entry.whole = storage.whole[0];
      if (entry.whole < flag.low || entry.whole > flag.high) return bad_value(flag, value);
      break;
    case FlagKind::kReal:
      entry.real = storage.real[0];
      if (!(entry.real >= flag.real_low && entry.real <= flag.real_high))
        return bad_value(flag, value);  // the comparison refuses NaN as well
      break;
    case FlagKind::kBytes:
      if (!base::parse_bytes(value, entry.whole) || entry.whole < flag.low || entry.whole > flag.high)
        return bad_value(flag, value);
      break;
    case FlagKind::kChoice:
      if (std::find(flag.choices.begin(), flag.choices.end(), value) == flag.choices.end())
        return bad_value(flag, value);
      break;
    case FlagKind::kText: break;
  }
  return entry;
}

struct Given {
  const Flag* flag;
  std::string value;
};

class ArgumentReader {
 public:
  ArgumentReader(const std::string& command, const std::vector<Flag>& flags, const std::vector<std::string>& arguments)
      : command_(command),
        flags_(flags),
        arguments_(arguments) {}

  bool at_end() const { return next_ == arguments_.size(); }
  /// Returns whether the next word is an operand, and so nothing for read().
  bool at_operand() const { return arguments_[next_].size() < 2 || arguments_[next_][0] != '-'; }
  const std::string& take_operand() { return arguments_[next_++]; }

  /// Reads the next flag and the text of its value.
  Result<Given> read() {
    const bool operand = at_operand();
    const std::string& argument = arguments_[next_++];
    if (operand) return usage_error(fmt::format("'{}': expected a flag; see 'granary {} --help'", argument, command_));
    const std::string_view body = std::string_view(argument).substr(argument[1] == '-' ? 2 : 1);
    const std::size_t equals = body.find('=');
    const std::string_view name = body.substr(0, equals);
    std::optional<std::string> value;
    if (equals != std::string_view::npos) value = body.substr(equals + 1);
    if (const Flag* flag = find(name)) return with_value(*flag, value);
    if (name.starts_with("no")) {
      if (const Flag* flag = find(name.substr(2)); flag != nullptr && flag->kind == FlagKind::kSwitch && !value)
        return Given{flag, "false"};
    }
    return unknown(name);
  }

 private:
  const Flag* find(std::string_view typed) const {
    std::string name(typed);
    std::replace(name.begin(), name.end(), '-', '_');
    for (const Flag& flag : flags_) {
      if (flag.name == name) return &flag;
    }
    return nullptr;
  }

  Result<Given> with_value(const Flag& flag, std::optional<std::string> value) {
    if (!value && flag.kind == FlagKind::kSwitch) value = "true";
    if (!value && !at_end() && !arguments_[next_].starts_with("--")) value = arguments_[next_++];
    if (!value || value->empty()) {
      return usage_error(fmt::format("--{}: a value is missing; expected {}", flag.name, bench::allowed_values(flag)));
    }
    return Given{&flag, *value};
  }

  Result<Given> unknown(std::string_view name) const {
    std::vector<std::string> names;
    for (const Flag& flag : flags_) names.push_back(flag.name);
    const std::string meant = base::nearest(name, names);
    const std::string hint =
        meant.empty() ? fmt::format("see 'granary {} --help'", command_) : fmt::format("did you mean --{}?", meant);
    return usage_error(fmt::format("--{}: '{}' has no such flag; {}", name, command_, hint));
  }

  const std::string& command_;
  const std::vector<Flag>& flags_;
  const std::vector<std::string>& arguments_;
  std::size_t next_ = 0;
};

}  // namespace

Result<FlagValues> parse_flags(const std::string& command, const std::vector<Flag>& flags,
                               const std::vector<std::string>& arguments, std::vector<std::string>* operands) {
  FlagValues values;
  ArgumentReader reader(command, flags, arguments);
  while (!reader.at_end()) {
    if (operands != nullptr && reader.at_operand()) {
      operands->push_back(reader.take_operand());
      continue;
    }
    Result<Given> given = reader.read();
    if (!given.ok()) return given.status();
    if (values.given(given->flag->name)) return usage_error(fmt::format("--{}: given twice", given->flag->name));
    Result<FlagValues::Entry> entry = evaluate(*given->flag, given->value, true);
    if (!entry.ok()) return entry.status();
    values.set(given->flag->name, std::move(*entry));
  }
  for (const Flag& flag : flags) {
    if (values.given(flag.name)) continue;
    Result<FlagValues::Entry> entry = evaluate(flag, flag.initial, false);
    if (!entry.ok()) return entry.status();
    values.set(flag.name, std::move(*entry));
  }
  return values;
}

}  // namespace granary::cli
