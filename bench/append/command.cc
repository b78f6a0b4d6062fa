// `granary bench append`: makes a recorded list-append run, and judges such histories.

#include <memory>
#include <string>

#include <fmt/format.h>

#include "bench/append/conclusion.h"
#include "bench/append/join.h"
#include "bench/append/node_run.h"
#include "bench/append/run.h"
#include "bench/harness/cluster_figures_json.h"
#include "bench/harness/fresh_database.h"
#include "bench/harness/json_report.h"
#include "bench/harness/registry.h"
#include "bench/harness/stop_signals.h"
#include "bench/harness/trial.h"
#include "cluster_config/load.h"
#include "src/db/options_check.h"

namespace granary::bench {
namespace {

using append::AppendOptions;
using append::conclude;
using append::fail;

AppendOptions options_from(const Settings& settings, const FlagValues& flags) {
  AppendOptions options;
  options.workers = settings.workers;
  options.fibers = settings.fibers;
  options.seed = settings.seed;
  options.transactions = flags.integer("transactions");
  options.seconds = flags.given("seconds") ? flags.real("seconds") : 0;
  options.keys = static_cast<std::uint32_t>(flags.integer("keys"));
  options.min_ops = static_cast<std::uint32_t>(flags.integer("min_ops"));
  options.max_ops = static_cast<std::uint32_t>(flags.integer("max_ops"));
  options.max_length = static_cast<std::uint32_t>(flags.integer("max_length"));
  options.read_share = flags.real("reads");
  options.last_share = flags.real("lasts");
  options.move_share = flags.real("moves");
  options.scan_share = flags.real("scans");
  options.snapshot_share = flags.real("snapshots");
  options.abort_share = flags.real("user_aborts");
  options.forget_share = flags.real("forget");
  options.yield_share = flags.real("yields");
  options.think_us = flags.integer("think");
  options.until_stopped = flags.integer("kills") != 0;
  options.hash = flags.text("index") == "hash";
  options.declare = settings.protocol == Protocol::kLease2pl || db::runs_in_regions(settings.options);
  options.released = flags.text("outcomes") == "released";
  return options;
}

/// Refuses --outcomes=released without a log. Everything that has committed counts as released then, so a client would
/// not wait for anything.
Status check_released(const Settings& settings) {
  const auto usage = [](std::string message) { return Status(StatusCode::kInvalidArgument, std::move(message)); };
  if (!settings.share.in_cluster) {
    if (settings.options.directory.empty())
      return usage("--outcomes=released: there is no log to release anything; add --durability=disk or tmpfs");
    if (settings.options.release == Release::kCommit)
      return usage("--outcomes=released: with --release=commit results are released at commit; leave one of them out");
    return {};
  }
  const auto config = cluster_config::load(settings.cluster.file);
  if (!config.ok()) return config.status();
  if (!has_logs(*config))
    return usage(
        fmt::format("--outcomes=released: no node of '{}' has a log; give them a data_directory", config->file));
  if (config->release == Release::kCommit)
    return usage(fmt::format("--outcomes=released: by '{}' results are released at commit (release = \"commit\")",
                             config->file));
  return {};
}

Status check(const AppendOptions& options, const Settings& settings) {
  const auto usage = [](std::string message) { return Status(StatusCode::kInvalidArgument, std::move(message)); };
  if (options.until_stopped && settings.rendezvous == nullptr)
    return usage("--kills: nothing is killed in one process; use 'granary cluster run append'");
  if (options.min_ops > options.max_ops) return usage("--min_ops exceeds --max_ops");
  if (options.snapshot_share != 0 && !settings.options.snapshots)
    return usage("--snapshots needs a variant with snapshots");
  if (options.hash && options.scan_share != 0) return usage("--index=hash cannot scan; use --scans=0");
  if (options.released) {
    if (Status logged = check_released(settings); !logged.ok()) return logged;
  }
  if (settings.share.in_cluster && settings.rendezvous == nullptr)
    return usage("events of nodes are put in order by one host's clock; use 'granary cluster run append'");
  if (!settings.share.alone() &&
      options.max_length * settings.share.nodes > kMaxSharedValueBytes / sizeof(append::Element))
    return usage("--max_length: lists of so many elements do not fit a record that all nodes reach");
  return {};
}

/// Tries to write the files that the run is going to write, so that a wrong path ends the command before the run and
/// not after it.
Status check_files(const FlagValues& flags) {
  for (const char* flag : {"history", "snapshot_history", "json"}) {
    if (Status writable = check_writable(flags.text(flag), flag); !writable.ok()) return writable;
  }
  return {};
}

/// Runs this node's clients. Their events go to a file as they happen, where join() finds them.
ExitCode run_node(const Settings& settings, const AppendOptions& options, const std::string& file) {
  StopSignals signals;
  signals.ask_first(true);
  const auto lives = append::NodeLives::begin(file, std::size_t{options.keys} * settings.share.nodes);
  if (!lives.ok()) return fail(exit_code_of(lives.status()), lives.status().message());
  const auto journal = append::Journal::create((*lives)->history());
  if (!journal.ok()) return fail(exit_code_of(journal.status()), journal.status().message());
  const append::NodePlace place{settings.cluster, settings.share, *settings.rendezvous, **lives, **journal};
  const auto done = append::run_append_on_node(place, options, [&] { return signals.requested(); });
  if (!done.ok()) return fail(exit_code_of(done.status()), done.status().message());
  if (const Status written = write_json(append::figures_of(file), cluster_json(done->elsewhere)); !written.ok())
    return fail(exit_code_of(written), written.message());
  return done->ended.ok() ? ExitCode::kOk : fail(exit_code_of(done->ended), done->ended.message());
}

/// Runs the clients in this process, on one database.
ExitCode run_alone(const Settings& settings, const AppendOptions& options, const FlagValues& flags) {
  std::unique_ptr<append::Journal> journal;
  if (const std::string& path = flags.text("history"); !path.empty()) {
    auto created = append::Journal::create(path);
    if (!created.ok()) return fail(exit_code_of(created.status()), created.status().message());
    journal = std::move(*created);
  }
  Options engine = settings.options;
  if (engine.max_workers <= options.workers)
    engine.max_workers = options.workers + 1;  // one more for the reader at the end
  auto database = open_fresh(engine);
  if (!database.ok()) return fail(exit_code_of(database.status()), database.status().message());
  StopSignals signals;
  signals.ask_first(true);
  const auto done = append::run_append(
      **database, options, [&] { return signals.requested(); }, journal.get());
  if (!done.ok()) return fail(exit_code_of(done.status()), done.status().message());
  const ExitCode code = conclude(*done, flags, {{"interrupted", signals.requested()}});
  if (done->ended.ok()) return code;
  const ExitCode ended = fail(exit_code_of(done->ended), done->ended.message());
  return code == ExitCode::kCheckFailed ? code : ended;
}

ExitCode run(const Settings& settings, const FlagValues& flags) {
  if (!flags.text("check").empty()) return append::judge_file(flags);
  if (flags.enabled("serializable")) return fail(ExitCode::kUsage, "--serializable goes with --check");
  const AppendOptions options = options_from(settings, flags);
  if (const Status fits = check(options, settings); !fits.ok()) return fail(exit_code_of(fits), fits.message());
  if (!settings.share.alone()) return run_node(settings, options, flags.text("json"));
  if (const Status writable = check_files(flags); !writable.ok())
    return fail(ExitCode::kEnvironment, writable.message());
  return run_alone(settings, options, flags);
}

std::vector<Flag> append_flags() {
  const AppendOptions initial;
  return {
      text_flag(
          "history", "", "FILE",
          "write the history there, in the form that Jepsen writes and Elle reads; on one node event by event, so that "
          "a process that is killed leaves what has happened"),
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
      real_flag("lasts", initial.last_share, 0, 1, "",
                "share of reads that read a list's last element alone, which each append then writes blindly into a "
                "record of its own; Elle does not know such reads"),
      real_flag("moves", initial.move_share, 0, 1, "",
                "share of appends that move the list, so that one record is removed and another is born"),
      real_flag("scans", initial.scan_share, 0, 1, "", "share of transactions that read by a range scan"),
      real_flag("snapshots", initial.snapshot_share, 0, 1, "", "share of snapshot transactions"),
      real_flag("user_aborts", initial.abort_share, 0, 1, "", "share of transactions that the client gives up"),
      real_flag("forget", initial.forget_share, 0, 1, "",
                "share of transactions whose outcome the client does not learn (:info)"),
      integer_flag(
          "think", initial.think_us, 0, 10'000'000, "us",
          "pause of a client between its transactions, for a long run with a history that is still to be judged"),
      real_flag("yields", initial.yield_share, 0, 1, "",
                "share of micro-operations before which the thread gives the processor away"),
  };
}

}  // namespace

const BenchCommand& append::append_command() {
  static const BenchCommand command = {
      .name = "append",
      .summary = "record a list-append history, for --verify and for outside checkers such as Elle",
      .description =
          "Workers append to a few hot lists and read them. Every invocation and completion is recorded in real-time "
          "order; the run ends with a quiet read of every list. --verify judges the history: strict serializability "
          "for transactions, serializability where snapshots take part. On a cluster, lists of all nodes are read and "
          "appended to by clients of all nodes, whose events are one history.",
      .examples = {"--history=history.edn --transactions=100000", "--keys=4 --yields=0.3 --verify",
                   "--check=history.edn"},
      .flags = append_flags(),
      .batches = true,
      .on_nodes = true,
      .protocols = {Protocol::kOcc, Protocol::kLease2pl},
      .verify = true,
      .has_summary = false,
      .run_instead = run,
      .join = append::join,
      .check_files = check_files,
      .alone_flags = {"check", "serializable"},
      .survives_kills = true,
  };
  return command;
}

}  // namespace granary::bench
