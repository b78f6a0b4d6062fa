#include "src/watch/cluster_table.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "src/watch/json_look.h"

namespace granary::watch {
namespace {

constexpr const char* kGreen = "\x1b[32m";
constexpr const char* kYellow = "\x1b[33m";
constexpr const char* kRed = "\x1b[31m";
constexpr const char* kBold = "\x1b[1m";
constexpr const char* kPlain = "\x1b[0m";

std::string count_text(std::optional<double> value) {
  if (!value) return "-";
  if (*value >= 1e7) return fmt::format("{:.1f} M", *value / 1e6);
  if (*value >= 1e6) return fmt::format("{:.2f} M", *value / 1e6);
  if (*value >= 1e5) return fmt::format("{:.0f} k", *value / 1e3);
  if (*value >= 1e4) return fmt::format("{:.1f} k", *value / 1e3);
  return fmt::format("{:.0f}", *value);
}

std::string latency_text(std::optional<double> us) {
  if (!us || *us <= 0) return "-";
  if (*us >= 1e6) return fmt::format("{:.2f} s", *us / 1e6);
  if (*us >= 1e3) return fmt::format("{:.2f} ms", *us / 1e3);
  return fmt::format("{:.1f} us", *us);
}

std::string duration_text(std::optional<double> seconds) { return seconds ? fmt::format("{:.2f} s", *seconds) : "-"; }

std::string bytes_text(std::optional<double> bytes) {
  if (!bytes) return "-";
  constexpr std::array<const char*, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  double value = *bytes;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return fmt::format("{:.{}f} {}", value, value < 100 && unit != 0 ? 1 : 0, kUnits[unit]);
}

std::string percent_text(std::optional<double> share) { return share ? fmt::format("{:.0f} %", *share * 100) : "-"; }

/// A table whose first columns are aligned to the left and all others to the right.
class TextTable {
 public:
  explicit TextTable(std::size_t left) : left_(left) {}

  void add(std::vector<std::string> row, const char* color = "") {
    widths_.resize(std::max(widths_.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths_[i] = std::max(widths_[i], row[i].size());
    rows_.push_back({std::move(row), color});
  }

  std::string text(bool color) const {
    std::string text;
    for (const auto& [row, painted] : rows_) {
      std::string line;
      for (std::size_t i = 0; i < row.size(); ++i)
        line += i < left_ ? fmt::format("{:<{}}  ", row[i], widths_[i]) : fmt::format("{:>{}}  ", row[i], widths_[i]);
      line.erase(line.find_last_not_of(' ') + 1);
      text += color && *painted != '\0' ? painted + line + kPlain + "\n" : line + "\n";
    }
    return text;
  }

 private:
  const std::size_t left_;
  std::vector<std::size_t> widths_;
  std::vector<std::pair<std::vector<std::string>, const char*>> rows_;
};

std::string state_of(const Json& node) {
  if (true_at(node, "/ready")) return "serving";
  const std::string member = text_at(node, "/member_state"), stage = text_at(node, "/stage");
  if (true_at(node, "/answers")) return stage == "serving" ? "not ready" : stage;
  return member == "serving" ? "serving, silent" : member;
}

const char* color_of(const Json& node) {
  if (true_at(node, "/ready")) return kGreen;
  return true_at(node, "/answers") ? kYellow : kRed;
}

/// Returns the elements of an array of the document; none if there is no such array.
std::vector<const Json*> list_at(const Json& document, const char* key) {
  std::vector<const Json*> list;
  if (!document.is_object() || !document.contains(key) || !document.at(key).is_array()) return list;
  for (const Json& each : document.at(key)) list.push_back(&each);
  return list;
}

std::string summary(const Json& document, bool color) {
  const auto cluster = [&](const char* path) { return number_at(document, path); };
  const bool healthy = true_at(document, "/healthy");
  const std::string state = healthy ? "healthy" : "needs attention";
  std::string text =
      fmt::format("{}cluster {}{}  {}{}{}\n", color ? kBold : "", text_at(document, "/cluster/name"),
                  color ? kPlain : "", color ? (healthy ? kGreen : kRed) : "", state, color ? kPlain : "");
  text += fmt::format(
      "{} of {} nodes ready, {} commits/s, {} aborts/s, p50 {}, p99 {} (slowest node)\n",
      count_text(cluster("/cluster/nodes_ready")), count_text(cluster("/cluster/nodes")),
      count_text(cluster("/cluster/commits_per_second")), count_text(cluster("/cluster/aborts_per_second")),
      latency_text(cluster("/cluster/worst_latency_us/p50")), latency_text(cluster("/cluster/worst_latency_us/p99")));
  const double durable = cluster("/cluster/durable_epoch").value_or(0);  // 0 without logs
  const std::string durable_text =
      durable == 0 ? "-"
                   : fmt::format("{:.0f}, {} behind", durable, duration_text(cluster("/cluster/durable_lag_seconds")));
  return text + fmt::format("E {:.0f}, D {}; configuration {:.0f}, leader node {:.0f}\n\n",
                            cluster("/cluster/epoch").value_or(0), durable_text,
                            cluster("/cluster/configuration_version").value_or(0),
                            cluster("/cluster/leader").value_or(0));
}

std::string node_lines(const Json& document, bool color) {
  TextTable table(3);
  table.add({"node", "state", "life", "commits/s", "aborts/s", "p50", "p99", "E", "D lag", "memory", "log/s", "ring",
             "remote/s"},
            kBold);
  for (const Json* const node : list_at(document, "nodes")) {
    const auto at = [&](const char* path) { return number_at(*node, path); };
    table.add({count_text(at("/node")), state_of(*node), count_text(at("/generation")),
               count_text(at("/transactions/commits_per_second")), count_text(at("/transactions/aborts_per_second")),
               latency_text(at("/transactions/latency_us/p50")), latency_text(at("/transactions/latency_us/p99")),
               at("/epochs/epoch") ? fmt::format("{:.0f}", *at("/epochs/epoch")) : "-",
               true_at(*node, "/epochs/logs") ? duration_text(at("/epochs/durable_lag_seconds")) : "-",
               bytes_text(at("/memory/reserved_bytes")), bytes_text(at("/log/bytes_per_second")),
               percent_text(at("/log/ring_fullest")), count_text(at("/elsewhere/transactions_per_second"))},
              color_of(*node));
  }
  return table.text(color);
}

std::string message_lines(const Json& document, bool color) {
  std::string text;
  for (const Json* const message : list_at(document, "messages")) {
    const std::string severity = text_at(*message, "/severity");
    const char* const painted = severity == "error" ? kRed : severity == "warning" ? kYellow : "";
    text +=
        fmt::format("{}{}: {}{}\n", color ? painted : "", severity, text_at(*message, "/text"), color ? kPlain : "");
  }
  return text.empty() ? text : "\n" + text;
}

std::string recovery_lines(const Json& document, bool color) {
  const auto recoveries = list_at(document, "recoveries");
  if (recoveries.empty()) return "";
  TextTable table(4);
  table.add({"recovery of", "life", "phase", "by", "age", "redone", "undone", "freed", "settled in"}, kBold);
  for (const Json* const each : recoveries) {
    const auto at = [&](const char* path) { return number_at(*each, path); };
    const double by = at("/claimed_by").value_or(0);
    table.add({fmt::format("node {:.0f}", at("/node").value_or(0)), count_text(at("/generation")),
               text_at(*each, "/phase"), by == 0 ? "-" : fmt::format("node {:.0f}", by),
               duration_text(at("/age_seconds")), count_text(at("/redone_transactions")),
               count_text(at("/undone_transactions")), count_text(at("/freed_records")),
               latency_text(at("/settled_us"))});
  }
  return "\n" + table.text(color);
}

}  // namespace

std::string cluster_table(const Json& document, bool color) {
  return summary(document, color) + node_lines(document, color) + message_lines(document, color) +
         recovery_lines(document, color);
}

}  // namespace granary::watch
