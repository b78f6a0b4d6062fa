#include "src/cli/node_log.h"

#include <time.h>
#include <unistd.h>

#include <chrono>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace granary::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kLifeTopic = "life";

std::uint64_t now_ms() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
}

std::string text_line(const Notice& notice, std::uint64_t unix_ms) {
  const bool info = notice.severity == NoticeSeverity::kInfo;
  return fmt::format("{} granary: {}{}\n", utc_time(unix_ms), info ? "" : std::string(name(notice.severity)) + ": ",
                     notice.text);
}

std::string json_line(NodeNumber node, std::string_view topic, const Notice& notice, std::uint64_t unix_ms) {
  Json line{{"time", utc_time(unix_ms)}, {"severity", name(notice.severity)}, {"topic", topic}, {"node", node}};
  if (notice.generation) line["generation"] = *notice.generation;
  if (notice.configuration) line["configuration"] = *notice.configuration;
  if (notice.node && *notice.node != node) line["about_node"] = *notice.node;
  if (notice.epoch) line["epoch"] = *notice.epoch;
  line["text"] = notice.text;
  return line.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string utc_time(std::uint64_t unix_ms) {
  const auto seconds = static_cast<std::time_t>(unix_ms / 1000);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec, unix_ms % 1000);
}

std::string notice_line(LogFormat format, NodeNumber node, const Notice& notice, std::uint64_t unix_ms) {
  return format == LogFormat::kText ? text_line(notice, unix_ms) : json_line(node, name(notice.topic), notice, unix_ms);
}

void NodeLog::tell(const Notice& notice) const {
  printer_.print(STDERR_FILENO, notice_line(format_, node_, notice, now_ms()));
}

void NodeLog::say(const std::string& text, const Cluster* cluster) const {
  if (format_ == LogFormat::kText) return printer_.print(STDOUT_FILENO, text + "\n");
  Notice notice{.text = text};
  if (cluster != nullptr) {
    notice.generation = cluster->generation();
    notice.configuration = cluster->configuration();
  }
  printer_.print(STDOUT_FILENO, json_line(node_, kLifeTopic, notice, now_ms()));
}

void NodeLog::warn(const std::string& text) const {
  const Notice notice{.severity = NoticeSeverity::kWarning, .text = text};
  if (format_ == LogFormat::kText)
    return printer_.print(STDERR_FILENO, fmt::format("{} granary: {}\n", utc_time(now_ms()), text));
  printer_.print(STDERR_FILENO, json_line(node_, kLifeTopic, notice, now_ms()));
}

}  // namespace granary::cli
