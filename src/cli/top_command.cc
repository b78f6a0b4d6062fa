// `granary top`: shows the nodes of a cluster in a terminal, from their reports over HTTP.

#include <unistd.h>

#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bench/harness/stop_signals.h"
#include "bench/harness/trial.h"
#include "cluster_config/http_address.h"
#include "cluster_config/key_file.h"
#include "cluster_config/load.h"
#include "src/base/print.h"
#include "src/base/tsc_clock.h"
#include "src/cli/tool.h"
#include "src/watch/cluster_document.h"
#include "src/watch/cluster_table.h"
#include "src/watch/http/fetch.h"

namespace granary::cli {
namespace {

constexpr std::uint32_t kAnswer_ms = 2000;

/// A node that can be asked for the whole cluster.
struct AskedNode {
  std::uint16_t id = 0;
  http::Target target;
};

Result<std::vector<AskedNode>> nodes_to_ask(const std::string& file) {
  const auto config = cluster_config::load(file);
  if (!config.ok()) return config.status();
  std::vector<AskedNode> nodes;
  for (const cluster_config::NodeConfig& node : config->nodes) {
    const auto address = cluster_config::http_asked_at(node);
    if (!address) continue;
    AskedNode asked{.id = node.id, .target = {.ip = address->ip, .port = address->port, .path = "/status.json"}};
    if (!node.http_token_file.empty()) {
      auto token = cluster_config::read_secret(node.http_token_file, "http_token_file");
      if (!token.ok()) return token.status();
      asked.target.token = std::move(token).value();
    }
    nodes.push_back(std::move(asked));
  }
  if (!nodes.empty()) return nodes;
  return Status(StatusCode::kInvalidArgument,
                fmt::format("{}: no node has an address to be asked at; give them 'http' (docs/monitoring.md)", file));
}

/// Gets the cluster's document from the first node that answers; that node is asked first the next time.
class Asking {
 public:
  explicit Asking(std::vector<AskedNode> nodes) : nodes_(std::move(nodes)) {}

  Result<std::string> ask() {
    std::string failures;
    for (std::size_t tries = 0; tries < nodes_.size(); ++tries) {
      const AskedNode& node = nodes_[next_];
      http::Fetched fetched = std::move(http::fetch_all({node.target}, kAnswer_ms).front());
      if (fetched.ok()) return std::move(fetched.body);
      const std::string why = fetched.status == 401 ? "it has another token"
                              : fetched.status != 0 ? fmt::format("HTTP status {}", fetched.status)
                                                    : fetched.error;
      failures += fmt::format("{}node {} at {} port {}: {}", failures.empty() ? "" : "; ", node.id, node.target.ip,
                              node.target.port, why);
      next_ = (next_ + 1) % nodes_.size();
    }
    return Status(StatusCode::kUnavailable, "no node tells of the cluster: " + failures);
  }

 private:
  const std::vector<AskedNode> nodes_;
  std::size_t next_ = 0;
};

/// Returns whether standard output took all that was printed.
bool is_written() { return std::fflush(stdout) == 0 && std::ferror(stdout) == 0; }

/// Switches to the terminal's other screen while it lives.
class Screen {
 public:
  Screen() { std::fputs("\x1b[?1049h\x1b[?25l", stdout); }
  ~Screen() {
    std::fputs("\x1b[?25h\x1b[?1049l", stdout);
    std::fflush(stdout);
  }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  /// Shows the text, and returns whether it could be written.
  bool show(const std::string& text) {
    std::string drawn = "\x1b[H";
    for (const char c : text) drawn += c == '\n' ? "\x1b[K\n" : std::string(1, c);
    drawn += "\x1b[J";
    std::fputs(drawn.c_str(), stdout);
    return is_written();
  }
};

/// Returns what is to be shown of a document, or why there is nothing to show.
Result<std::string> view_of(Result<std::string> answer, bool json, bool color) {
  if (!answer.ok()) return answer;
  const watch::Json document = watch::Json::parse(*answer, nullptr, /*allow_exceptions=*/false);
  if (const Status checked = watch::check_cluster_document(document); !checked.ok()) return checked;
  if (json) return answer;
  return watch::cluster_table(document, color);
}

bench::ExitCode refuse(const Status& status) { return bench::refuse(bench::exit_code_of(status), status.message()); }

bench::ExitCode show_once(Asking& asking, bool json, bool color) {
  const auto view = view_of(asking.ask(), json, color);
  if (!view.ok()) return refuse(view.status());
  base::print("{}", *view);
  return bench::ExitCode::kOk;
}

std::string text_of(const Result<std::string>& view) { return view.ok() ? *view : view.status().message() + "\n"; }

/// Prints a view, or why there is none, and returns whether standard output took it. Beside documents the reason goes
/// to standard error, since who reads documents can read nothing else. An empty line, which may stand between
/// documents, shows then whether anybody reads.
bool print_view(const Result<std::string>& view, bool json) {
  const bool is_reason = json && !view.ok();
  if (is_reason) base::print(stderr, "granary: {}", text_of(view));
  base::print("{}\n", is_reason ? "" : text_of(view));
  return is_written();
}

/// Shows views until a signal comes, or one cannot be written, since nobody sees the next one. In that case
/// finish_output() reports why.
void show_until_stopped(Asking& asking, bool json, bool terminal, std::uint64_t interval_ns) {
  bench::StopSignals signals;
  signals.ask_first(true);
  std::optional<Screen> screen;
  if (terminal) screen.emplace();
  for (;;) {
    const auto view = view_of(asking.ask(), json, terminal);
    if (!(screen ? screen->show(text_of(view)) : print_view(view, json))) return;
    if (signals.wait_until(base::monotonic_ns() + interval_ns)) return;
  }
}

bench::ExitCode run(const std::string&, const bench::FlagValues& flags) {
  if (flags.text("cluster").empty()) return bench::refuse(bench::ExitCode::kUsage, "top: --cluster is missing");
  auto nodes = nodes_to_ask(flags.text("cluster"));
  if (!nodes.ok()) return refuse(nodes.status());
  Asking asking(std::move(nodes).value());
  const bool json = flags.enabled("json"), terminal = ::isatty(STDOUT_FILENO) == 1;
  if (flags.enabled("once")) return show_once(asking, json, terminal && !json);
  show_until_stopped(asking, json, terminal && !json,
                     static_cast<std::uint64_t>(flags.real("interval") * static_cast<double>(base::kSecondNs)));
  return bench::ExitCode::kOk;
}

}  // namespace

const Tool& top_tool() {
  static const Tool tool{
      .group = "top",
      .operand = "",
      .summary = "shows the nodes of a cluster, live",
      .description =
          "Asks a node of the cluster file for the whole cluster (/status.json), the next one if it does not answer, "
          "and shows a line for each node: throughput, aborts, latencies, E, how far D is behind, memory, state; below "
          "it what needs attention, and recoveries of dead nodes. The nodes need 'http' in the cluster file.",
      .examples = {"--cluster=cluster.toml", "--cluster=cluster.toml --once --json"},
      .flags = {bench::text_flag("cluster", "", "FILE", "The cluster file."),
                bench::switch_flag("once", false, "Show it once and end; exit code 3 if no node answers."),
                bench::switch_flag("json", false, "Print the document itself; failures go to standard error."),
                bench::real_flag("interval", 1, 0.1, 3600, "seconds", "Time between two looks.")},
      .run = run,
  };
  return tool;
}

}  // namespace granary::cli
