#include "bench/append/history/edn.h"

#include <charconv>
#include <istream>
#include <ostream>
#include <string>

namespace granary::bench::history {
namespace {

std::string_view type_name(EventType type) {
  switch (type) {
    case EventType::kInvoke: return ":invoke";
    case EventType::kOk: return ":ok";
    case EventType::kFail: return ":fail";
    case EventType::kInfo: return ":info";
  }
  return ":info";
}

void append_op(std::string& line, const MicroOp& op) {
  if (op.kind == MicroOp::Kind::kAppend) {
    line += "[:append " + std::to_string(op.key) + " " + std::to_string(op.element) + "]";
    return;
  }
  const bool last = op.kind == MicroOp::Kind::kReadLast;
  line += (last ? "[:last " : "[:r ") + std::to_string(op.key);
  if (last && op.known && !op.list.empty()) {
    line += " " + std::to_string(op.list.back()) + "]";
    return;
  }
  if (!op.known || last) {
    line += " nil]";
    return;
  }
  line += " [";
  for (std::size_t i = 0; i < op.list.size(); ++i) {
    if (i != 0) line += ' ';
    line += std::to_string(op.list[i]);
  }
  line += "]]";
}

/// Reads one line. Each function returns false at the first character that does not fit.
class LineReader {
 public:
  explicit LineReader(std::string_view text) : rest_(text) {}

  bool event(Event& event, bool& ours) {
    ours = true;
    if (!take('{')) return false;
    while (!take('}')) {
      std::string_view key;
      if (!keyword(key) || !field(key, event, ours)) return false;
    }
    skip_space();
    if (event.type == EventType::kOk) know_all(event.ops);
    return rest_.empty();
  }

 private:
  /// Marks all reads as known: a completed read has a known result, so nil is an empty list.
  static void know_all(std::vector<MicroOp>& ops) {
    for (MicroOp& op : ops) op.known = op.known || op.kind != MicroOp::Kind::kAppend;
  }

  bool field(std::string_view key, Event& event, bool& ours) {
    if (key == ":type") return type(event.type);
    if (key == ":value") return value(event.ops);
    if (key == ":f") return function(event.snapshot);
    std::int64_t number = 0;
    if (key == ":time") return integer(number) && store(number, event.time_ns);
    if (key != ":process") return skip_value();
    if (integer(number)) return store(number, event.process);
    ours = false;
    return skip_value();
  }

  static bool store(std::int64_t number, std::uint64_t& to) {
    to = static_cast<std::uint64_t>(number);
    return number >= 0;
  }

  bool type(EventType& type) {
    std::string_view word;
    if (!keyword(word)) return false;
    for (const EventType one : {EventType::kInvoke, EventType::kOk, EventType::kFail, EventType::kInfo}) {
      if (word != type_name(one)) continue;
      type = one;
      return true;
    }
    return false;
  }

  bool function(bool& snapshot) {
    skip_space();
    snapshot = rest_.starts_with(":snapshot");
    return skip_value();
  }

  bool value(std::vector<MicroOp>& ops) {
    if (nil()) return true;
    if (!take('[')) return skip_value();  // another process's event may have any value
    while (!take(']')) {
      MicroOp op;
      if (!take('[') || !micro_op(op) || !take(']')) return false;
      ops.push_back(std::move(op));
    }
    return true;
  }

  bool micro_op(MicroOp& op) {
    std::string_view word;
    if (!keyword(word) || !integer(op.key)) return false;
    if (word == ":append") {
      op.kind = MicroOp::Kind::kAppend;
      return integer(op.element);
    }
    if (word == ":last") {
      op.kind = MicroOp::Kind::kReadLast;
      if (nil()) return true;
      op.known = true;
      return integer(op.list.emplace_back());
    }
    if (word != ":r") return false;
    if (nil()) return true;
    op.known = true;
    if (!take('[')) return false;
    while (!take(']')) {
      Element element = 0;
      if (!integer(element)) return false;
      op.list.push_back(element);
    }
    return true;
  }

  void skip_space() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == ',' || rest_[0] == '\t' || rest_[0] == '\r'))
      rest_.remove_prefix(1);
    if (!rest_.empty() && rest_[0] == ';') rest_ = {};  // skips a comment, which ends with the line
  }
  bool take(char wanted) {
    skip_space();
    if (rest_.empty() || rest_[0] != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool nil() {
    skip_space();
    if (!rest_.starts_with("nil")) return false;
    rest_.remove_prefix(3);
    return true;
  }
  bool keyword(std::string_view& word) {
    skip_space();
    if (rest_.empty() || rest_[0] != ':') return false;
    const std::size_t end = std::min(rest_.find_first_of(" ,\t\r[]{}"), rest_.size());
    word = rest_.substr(0, end);
    rest_.remove_prefix(end);
    return true;
  }
  bool integer(std::int64_t& number) {
    skip_space();
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), number);
    if (error != std::errc()) return false;
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return true;
  }
  /// Skips one value of any kind: an atom, a string, or something bracketed.
  bool skip_value() {
    skip_space();
    std::size_t depth = 0, at = 0;
    bool quoted = false;
    for (; at < rest_.size(); ++at) {
      const char c = rest_[at];
      if (quoted) {
        if (c == '\\') ++at;
        if (c == '"') quoted = false;
        continue;
      }
      if (c == '"') quoted = true;
      if (c == '[' || c == '{' || c == '(') ++depth;
      if (c == ']' || c == '}' || c == ')') {
        if (depth == 0) break;  // the end of the map around us
        --depth;
      }
      if (depth == 0 && (c == ' ' || c == ',')) break;
    }
    if (quoted || depth != 0 || at > rest_.size()) return false;
    rest_.remove_prefix(at);
    return at != 0;
  }

  std::string_view rest_;
};

}  // namespace

std::string edn_line(const Event& event, std::optional<std::size_t> index) {
  std::string line = "{:type ";
  line += type_name(event.type);
  line +=
      ", :process " + std::to_string(event.process) + ", :f " + (event.snapshot ? ":snapshot" : ":txn") + ", :value [";
  for (std::size_t i = 0; i < event.ops.size(); ++i) {
    if (i != 0) line += ' ';
    append_op(line, event.ops[i]);
  }
  line += "], :time " + std::to_string(event.time_ns);
  if (index) line += ", :index " + std::to_string(*index);
  return line + "}\n";
}

void write_edn(std::ostream& out, const History& history) {
  for (std::size_t index = 0; index < history.size(); ++index) out << edn_line(history[index], index);
}

Result<History> read_edn(std::istream& in, bool* torn) {
  History history;
  std::string line;
  if (torn != nullptr) *torn = false;
  for (std::size_t number = 1; std::getline(in, line); ++number) {
    const std::size_t begin = line.find_first_not_of(" \t\r,");
    if (begin == std::string::npos || line[begin] == ';') continue;
    Event event;
    bool ours = true;
    if (!LineReader(line).event(event, ours)) {
      if (torn != nullptr && in.eof()) {  // getline() has met the end of the file before that of the line
        *torn = true;
        break;
      }
      return Status(StatusCode::kInvalidArgument,
                    "line " + std::to_string(number) + " is no event of a list-append history: " + line.substr(0, 120));
    }
    if (ours) history.push_back(std::move(event));
  }
  return history;
}

}  // namespace granary::bench::history
