#include "bench/append/command.h"

#include <cstdio>
#include <fstream>
#include <optional>

#include "bench/append/history/check.h"
#include "bench/append/history/edn.h"
#include "bench/append/node_run.h"
#include "bench/append/run.h"
#include "bench/harness/cluster_figures_json.h"
#include "bench/harness/fresh_database.h"
#include "bench/harness/json_report.h"
#include "bench/harness/stop_signals.h"
#include "bench/harness/table.h"
#include "bench/harness/trial.h"

namespace granary::bench {
namespace {

using append::AppendOptions;
using history::History;

ExitCode fail(ExitCode code, const std::string& text) {
  std::fprintf(stderr, "granary bench append: %s\n", text.c_str());
  return code;
}

/// Judges one history and prints the verdict.
ExitCode judge(const std::string& what, const History& history, bool strict) {
  const history::Verdict verdict = history::check(history, {.strict = strict});
  std::printf("%s, %s: %s\n", what.c_str(), strict ? "strictly serializable" : "serializable", verdict.text().c_str());
  return verdict.valid() ? ExitCode::kOk : ExitCode::kCheckFailed;
}

ExitCode judge_file(const std::string& path, bool strict) {
  std::ifstream in(path);
  if (!in) return fail(ExitCode::kEnvironment, "cannot open " + path);
  const auto history = history::read_edn(in);
  if (!history.ok()) return fail(ExitCode::kDamagedData, path + ": " + history.status().message());
  return judge(path, *history, strict);
}

ExitCode write_file(const std::string& path, const History& history) {
  std::ofstream out(path);
  history::write_edn(out, history);
  out.close();
  return out ? ExitCode::kOk : fail(ExitCode::kEnvironment, "cannot write " + path);
}

/// The same if there is a path, and says so.
ExitCode write_wanted(const std::string& path, const History& history) {
  if (path.empty()) return ExitCode::kOk;
  const ExitCode code = write_file(path, history);
  if (code == ExitCode::kOk) std::printf("%zu events written to %s\n", history.size(), path.c_str());
  return code;
}

AppendOptions options_from(const Settings& settings, const FlagValues& flags) {
  AppendOptions options;
  options.workers = settings.workers;
  options.seed = settings.seed;
  options.transactions = flags.integer("transactions");
  options.seconds = flags.given("seconds") ? flags.real("seconds") : 0;
  options.keys = static_cast<std::uint32_t>(flags.integer("keys"));
  options.min_ops = static_cast<std::uint32_t>(flags.integer("min_ops"));
  options.max_ops = static_cast<std::uint32_t>(flags.integer("max_ops"));
  options.max_length = static_cast<std::uint32_t>(flags.integer("max_length"));
  options.read_share = flags.real("reads");
  options.scan_share = flags.real("scans");
  options.snapshot_share = flags.real("snapshots");
  options.abort_share = flags.real("user_aborts");
  options.forget_share = flags.real("forget");
  options.yield_share = flags.real("yields");
  options.hash = flags.text("index") == "hash";
  options.declare = settings.protocol == Protocol::kLease2pl;
  options.released = flags.text("outcomes") == "released";
  return options;
}

Status check(const AppendOptions& options, const Settings& settings) {
  const auto usage = [](std::string message) { return Status(StatusCode::kInvalidArgument, std::move(message)); };
  if (options.min_ops > options.max_ops) return usage("--min_ops exceeds --max_ops");
  if (options.snapshot_share != 0 && !settings.options.snapshots)
    return usage("--snapshots needs a variant with snapshots");
  if (options.hash && options.scan_share != 0) return usage("--index=hash cannot scan; use --scans=0");
  if (settings.share.in_cluster && settings.rendezvous == nullptr)
    return usage("events of nodes are put in order by one host's clock; use 'granary cluster run append'");
  if (!settings.share.alone() &&
      options.max_length * settings.share.nodes > kMaxSharedValueBytes / sizeof(append::Element))
    return usage("--max_length: lists of so many elements do not fit a record that all nodes reach");
  return {};
}

ExitCode worse(ExitCode a, ExitCode b) { return a == ExitCode::kOk ? b : a; }

/// Writes the histories that were asked for, and judges them with --verify.
ExitCode conclude(const append::AppendRun& done, const FlagValues& flags) {
  ExitCode code = write_wanted(flags.text("history"), done.transactions);
  code = worse(code, write_wanted(flags.text("snapshot_history"), done.with_snapshots));
  if (!flags.enabled("verify")) return code;
  code = worse(code, judge("transactions", done.transactions, true));
  if (!done.with_snapshots.empty()) code = worse(code, judge("with snapshots", done.with_snapshots, false));
  return code;
}

/// Beside a node's history, with the snapshots in it.
std::string snapshots_of(const std::string& file) { return file + ".snapshots"; }
/// Beside it, too: what the node's transactions did at others.
std::string figures_of(const std::string& file) { return file + ".figures"; }

/// What this node's clients noted is left for join().
ExitCode run_node(const Settings& settings, const AppendOptions& options, const std::string& file) {
  StopSignals signals;
  signals.ask_first(true);
  const append::NodePlace place{settings.cluster, settings.share, *settings.rendezvous};
  const auto done = append::run_append_on_node(place, options, [&] { return signals.requested(); });
  if (!done.ok()) return fail(exit_code_of(done.status()), done.status().message());
  if (const Status written = write_json(figures_of(file), cluster_json(done->elsewhere)); !written.ok())
    return fail(exit_code_of(written), written.message());
  const ExitCode code = write_file(file, done->transactions);
  return worse(code, write_file(snapshots_of(file), done->with_snapshots));
}

/// The nodes' events as one history.
Result<History> join_files(const std::vector<std::string>& files) {
  History all;
  for (const std::string& file : files) {
    std::ifstream in(file);
    Result<History> part = history::read_edn(in);
    if (!part.ok()) return Status(part.status().code(), file + ": " + part.status().message());
    all.insert(all.end(), std::make_move_iterator(part->begin()), std::make_move_iterator(part->end()));
  }
  history::sort_by_time(all);
  return all;
}

/// What the transactions of all nodes did at others.
Result<ClusterFigures> add_figures(const std::vector<std::string>& files) {
  std::optional<ClusterFigures> all;
  for (const std::string& file : files) {
    std::ifstream in(figures_of(file));
    try {
      const ClusterFigures part = cluster_figures_of(nlohmann::ordered_json::parse(in));
      if (all.has_value()) {
        all->add(part);
      } else {
        all = part;
      }
    } catch (const nlohmann::json::exception& error) {  // the library reports what is missing so
      return Status(StatusCode::kDamaged, figures_of(file) + ": " + error.what());
    }
  }
  return all.value_or(ClusterFigures{});
}

ExitCode join(const FlagValues& flags, const std::vector<std::string>& files) {
  std::vector<std::string> with_snapshots;
  for (const std::string& file : files) with_snapshots.push_back(snapshots_of(file));
  Result<History> transactions = join_files(files);
  Result<History> snapshots = join_files(with_snapshots);
  for (const Result<History>* part : {&transactions, &snapshots}) {
    if (!part->ok()) return fail(exit_code_of(part->status()), part->status().message());
  }
  const Result<ClusterFigures> elsewhere = add_figures(files);
  if (!elsewhere.ok()) return fail(exit_code_of(elsewhere.status()), elsewhere.status().message());
  const ExitCode code = conclude({std::move(*transactions), std::move(*snapshots), {}}, flags);
  std::fputs(cluster_text(*elsewhere).c_str(), stdout);
  return code;
}

ExitCode run(const Settings& settings, const FlagValues& flags) {
  if (!flags.text("check").empty()) return judge_file(flags.text("check"), !flags.enabled("serializable"));
  const AppendOptions options = options_from(settings, flags);
  if (const Status fits = check(options, settings); !fits.ok()) return fail(ExitCode::kUsage, fits.message());
  if (!settings.share.alone()) return run_node(settings, options, flags.text("json"));
  Options engine = settings.options;
  if (engine.max_workers <= options.workers) engine.max_workers = options.workers + 1;  // the quiet reader
  auto database = open_fresh(engine);
  if (!database.ok()) return fail(exit_code_of(database.status()), database.status().message());
  const auto done = append::run_append(**database, options);
  if (!done.ok()) return fail(exit_code_of(done.status()), done.status().message());
  if (const Status log = (*database)->log_status(); !log.ok()) return fail(exit_code_of(log), log.message());
  return conclude(*done, flags);
}

std::vector<Flag> append_flags() {
  const AppendOptions initial;
  return {
      text_flag("history", "", "FILE", "write the history there, in the form that Jepsen writes and Elle reads"),
      text_flag("snapshot_history", "", "FILE",
                "the same with the snapshot reads in it, which are serializable but not strictly so"),
      text_flag("check", "", "FILE", "run nothing; judge the history in FILE"),
      switch_flag("serializable", false, "with --check: do not ask for real-time order"),
      integer_flag("transactions", initial.transactions, 1, 100'000'000, "transactions",
                   "how many to run in all (--seconds may end the run earlier)"),
      integer_flag("keys", initial.keys, 1, 1'000'000, "lists",
                   "lists in use at the same time, in a cluster of each node; few are hot"),
      choice_flag("index", "ordered", {"ordered", "hash"}, "how the table finds a list; hash cannot scan"),
      choice_flag("outcomes", "committed", {"committed", "released"},
                  "when clients learn an outcome: at commit, or once the log has released it"),
      integer_flag("min_ops", initial.min_ops, 1, 64, "operations", "fewest micro-operations of a transaction"),
      integer_flag("max_ops", initial.max_ops, 1, 64, "operations", "most micro-operations of a transaction"),
      integer_flag("max_length", initial.max_length, 1, 100'000, "elements",
                   "appends to a list before a fresh key takes its place"),
      real_flag("reads", initial.read_share, 0, 1, "", "share of reads among micro-operations"),
      real_flag("scans", initial.scan_share, 0, 1, "", "share of transactions that read by a range scan"),
      real_flag("snapshots", initial.snapshot_share, 0, 1, "", "share of snapshot transactions"),
      real_flag("user_aborts", initial.abort_share, 0, 1, "", "share of transactions that the client gives up"),
      real_flag("forget", initial.forget_share, 0, 1, "",
                "share of transactions whose outcome the client does not learn (:info)"),
      real_flag("yields", initial.yield_share, 0, 1, "",
                "share of micro-operations before which the thread gives the processor away"),
  };
}

}  // namespace

const BenchCommand& append_command() {
  static const BenchCommand command = {
      .name = "append",
      .summary = "record a list-append history, for --verify and for outside checkers such as Elle",
      .description =
          "Workers append to a few hot lists and read them. Every invocation and completion is recorded in real-time "
          "order; "
          "the run ends with a quiet read of every list. --verify judges the history: strict serializability for "
          "transactions, serializability where snapshots take part. On a cluster, lists of all nodes are read and "
          "appended to by clients of all nodes, whose events are one history.",
      .examples = {"--history=history.edn --transactions=100000", "--keys=4 --yields=0.3 --verify",
                   "--check=history.edn"},
      .flags = append_flags(),
      .on_nodes = true,
      .protocols = {Protocol::kOcc, Protocol::kLease2pl},
      .verify = true,
      .run_instead = run,
      .join = join,
  };
  return command;
}

}  // namespace granary::bench
