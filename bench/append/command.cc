#include "bench/append/command.h"

#include <cstdio>
#include <fstream>

#include "bench/append/history/check.h"
#include "bench/append/history/edn.h"
#include "bench/append/run.h"
#include "bench/harness/fresh_database.h"
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
  if (!out) return fail(ExitCode::kEnvironment, "cannot write " + path);
  std::printf("%zu events written to %s\n", history.size(), path.c_str());
  return ExitCode::kOk;
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
  return options;
}

ExitCode worse(ExitCode a, ExitCode b) { return a == ExitCode::kOk ? b : a; }

ExitCode run(const Settings& settings, const FlagValues& flags) {
  if (!flags.text("check").empty()) return judge_file(flags.text("check"), !flags.enabled("serializable"));
  const AppendOptions options = options_from(settings, flags);
  if (options.min_ops > options.max_ops) return fail(ExitCode::kUsage, "--min_ops exceeds --max_ops");
  if (options.snapshot_share != 0 && !settings.options.snapshots)
    return fail(ExitCode::kUsage, "--snapshots needs a variant with snapshots");
  Options engine = settings.options;
  if (engine.max_workers <= options.workers) engine.max_workers = options.workers + 1;  // the quiet reader
  auto database = open_fresh(engine);
  if (!database.ok()) return fail(exit_code_of(database.status()), database.status().message());
  const auto done = append::run_append(**database, options);
  if (!done.ok()) return fail(exit_code_of(done.status()), done.status().message());
  if (const Status log = (*database)->log_status(); !log.ok()) return fail(exit_code_of(log), log.message());
  ExitCode code = ExitCode::kOk;
  if (!flags.text("history").empty()) code = worse(code, write_file(flags.text("history"), done->transactions));
  if (!flags.text("snapshot_history").empty()) {
    code = worse(code, write_file(flags.text("snapshot_history"), done->with_snapshots));
  }
  if (!settings.verify) return code;
  code = worse(code, judge("transactions", done->transactions, true));
  if (!done->with_snapshots.empty()) code = worse(code, judge("with snapshots", done->with_snapshots, false));
  return code;
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
      integer_flag("keys", initial.keys, 1, 1'000'000, "lists", "lists in use at the same time; few are hot"),
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
          "transactions, serializability where snapshots take part.",
      .examples = {"--history=history.edn --transactions=100000", "--keys=4 --yields=0.3 --verify",
                   "--check=history.edn"},
      .flags = append_flags(),
      .verify = true,
      .run_instead = run,
  };
  return command;
}

}  // namespace granary::bench
