// `granary bench predict`: predicts what a workload will do with other shares of distributed transactions, other
// numbers of nodes, or on a card.

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bench/harness/comma_list.h"
#include "bench/harness/json_report.h"
#include "bench/harness/progress.h"
#include "bench/harness/registry.h"
#include "bench/harness/table.h"
#include "bench/harness/trial.h"
#include "bench/predict/model.h"
#include "src/base/build_info.h"

namespace granary::bench::predict {
namespace {

using Json = nlohmann::ordered_json;

struct PredictedRow {
  double share;
  Prediction prediction;
};

/// A prediction of a run that has been measured.
struct Checked {
  Measured measured;
  double predicted;
  double off() const { return predicted / measured.throughput - 1; }
};

struct Answer {
  Measured more;
  Model model;
  Place place;
  std::vector<PredictedRow> rows = {};
  std::vector<Checked> checks;
  double within = 0;
  bool right() const {
    return std::all_of(checks.begin(), checks.end(),
                       [this](const Checked& one) { return std::abs(one.off()) <= within; });
  }
};

/// Returns the costs where the workload is to run: those of the report, unless a card's were given.
Costs costs_there(const FlagValues& flags, const Costs& measured) {
  if (!flags.given("round_trip")) return measured;
  const double operation = flags.real("operation");
  return {.by_processor = false,
          .round_trip = flags.real("round_trip"),
          .read = operation,
          .write = operation,
          .compare_swap = operation,
          .message = flags.real("message"),
          .post = flags.real("post")};
}

Result<std::vector<Checked>> check(const FlagValues& flags, const Model& model, const Costs& costs) {
  std::vector<Checked> checks;
  const auto paths = comma_list("check", flags.text("check"));
  if (!paths.ok()) return paths.status();
  for (const std::string& path : *paths) {
    const auto measured = read_measured(path);
    if (!measured.ok()) return measured.status();
    const Place place{.nodes = measured->nodes,
                      .workers = measured->workers,
                      .fibers = measured->fibers,
                      .cores = measured->cores,
                      .costs = costs};
    // A share of the model's transactions stands for the run's own distributed transactions per request.
    const double share = measured->distributed_per_request() / model.transactions_per_request();
    checks.push_back({*measured, model.predict(share, place).throughput});
  }
  return checks;
}

/// Refuses flags that would have no effect.
Status check_effects(const FlagValues& flags) {
  constexpr std::pair<const char*, const char*> kNeeds[] = {
      {"operation", "round_trip"}, {"message", "round_trip"}, {"post", "round_trip"}, {"within", "check"}};
  for (const auto& [flag, needed] : kNeeds) {
    if (flags.given(flag) && !flags.given(needed))
      return {StatusCode::kInvalidArgument,
              fmt::format("--{} has an effect with --{} only; give both, or leave it out", flag, needed)};
  }
  return {};
}

Result<Answer> answer_of(const Settings& settings, const FlagValues& flags) {
  if (Status effective = check_effects(flags); !effective.ok()) return effective;
  for (const char* needed : {"less", "more", "fabric"}) {
    if (flags.text(needed).empty())
      return Status(StatusCode::kInvalidArgument,
                    fmt::format("--{} is needed; see 'granary bench predict --help'", needed));
  }
  const auto costs = costs_of_report(flags.text("fabric"));
  if (!costs.ok()) return costs.status();
  const auto less = read_measured(flags.text("less"));
  if (!less.ok()) return less.status();
  const auto more = read_measured(flags.text("more"));
  if (!more.ok()) return more.status();
  const auto model = Model::fit(*less, *more, *costs);
  if (!model.ok()) return model.status();
  auto checks = check(flags, *model, *costs);
  if (!checks.ok()) return checks.status();
  Answer answer{.more = *more,
                .model = *model,
                .place = {.nodes = static_cast<std::uint32_t>(flags.integer("nodes")),
                          .workers = settings.workers,
                          .fibers = static_cast<std::uint32_t>(flags.integer("fibers")),
                          .cores = static_cast<std::uint32_t>(flags.integer("cores")),
                          .costs = costs_there(flags, *costs)},
                .checks = std::move(*checks),
                .within = flags.real("within") / 100};
  for (const double share : {0.0, 0.01, 0.1, 0.2, 0.5, 1.0})
    answer.rows.push_back({share, answer.model.predict(share, answer.place)});
  return answer;
}

std::string us(double ns) { return fmt::format("{:.2f}", ns / 1e3); }
std::string per_second(double rate) { return with_commas(static_cast<std::uint64_t>(rate)); }

std::string text_of(const Answer& answer) {
  const Counts& each = answer.model.each();
  std::string text = fmt::format(
      "granary bench predict, {}\n\n{}: a request of one node takes {} us of its worker, and each distributed "
      "transaction "
      "{} us more where it was measured. A request is {:.2f} transactions.\n"
      "A distributed one makes {:.2f} round trips with {:.2f} READs, {:.2f} WRITEs and {:.2f} compare-and-swaps, and "
      "{:.3f} messages; "
      "its own work for them is {} us.\n\n"
      "{} node{} of {} worker{}, {} transaction{} of each open at once{}\n\n",
      base::version_text(), answer.more.benchmark, us(answer.model.local_ns()), us(answer.model.extra_ns()),
      answer.model.transactions_per_request(), each.round_trips, each.reads, each.writes, each.compare_swaps,
      each.messages, us(answer.model.software_ns()), answer.place.nodes, answer.place.nodes == 1 ? "" : "s",
      answer.place.workers, answer.place.workers == 1 ? "" : "s", answer.place.fibers,
      answer.place.fibers == 1 ? "" : "s",
      answer.place.cores == 0 ? "" : fmt::format(", on {} cores", answer.place.cores));
  std::vector<std::vector<std::string>> cells{{"distributed", "processor us", "waiting us", "requests/s", "of none"}};
  for (const PredictedRow& row : answer.rows) {
    cells.push_back({fmt::format("{:.0f} %", 100 * row.share), us(row.prediction.processor_ns),
                     us(row.prediction.waiting_ns), per_second(row.prediction.throughput),
                     fmt::format("{:.3f}", row.prediction.throughput / answer.rows.front().prediction.throughput)});
  }
  text += aligned(cells);
  if (answer.checks.empty()) return text;
  std::vector<std::vector<std::string>> checks{{"run", "nodes", "distributed", "measured/s", "predicted/s", "off by"}};
  for (const Checked& one : answer.checks) {
    checks.push_back({one.measured.path, std::to_string(one.measured.nodes),
                      fmt::format("{:.1f} %", 100 * one.measured.distributed_share),
                      per_second(one.measured.throughput), per_second(one.predicted),
                      fmt::format("{:+.1f} %", 100 * one.off())});
  }
  return text + "\n" + aligned(checks);
}

Json json_of(const Answer& answer) {
  Json ours{{"schema_version", kJsonSchemaVersion},
            {"version", base::version_text()},
            {"benchmark", answer.more.benchmark},
            {"nodes", answer.place.nodes},
            {"workers", answer.place.workers},
            {"fibers", answer.place.fibers},
            {"local_ns", answer.model.local_ns()},
            {"extra_ns", answer.model.extra_ns()},
            {"software_ns", answer.model.software_ns()},
            {"transactions_per_request", answer.model.transactions_per_request()}};
  for (const PredictedRow& row : answer.rows) {
    ours["predictions"].push_back({{"distributed_share", row.share},
                                   {"processor_ns", row.prediction.processor_ns},
                                   {"waiting_ns", row.prediction.waiting_ns},
                                   {"throughput", row.prediction.throughput}});
  }
  for (const Checked& one : answer.checks) {
    ours["checks"].push_back({{"run", one.measured.path},
                              {"distributed_share", one.measured.distributed_share},
                              {"measured", one.measured.throughput},
                              {"predicted", one.predicted}});
  }
  return {{"Benchmark Type", "predict"}, {"DBMS Type", "granary"}, {"granary", std::move(ours)}};
}

ExitCode run(const Settings& settings, const FlagValues& flags) {
  const auto fail = [](const Status& status) {
    // A file that is no report was named by mistake; it is not damaged data.
    const bool named = status.code() == StatusCode::kDamaged;
    return refuse(named ? ExitCode::kUsage : exit_code_of(status), "bench predict: " + status.message());
  };
  const std::string& path = flags.text("json");
  if (const Status writable = check_writable(path); !writable.ok()) return fail(writable);
  const auto answer = answer_of(settings, flags);
  if (!answer.ok()) return fail(answer.status());
  const ExitCode code = report(text_of(*answer), path, json_of(*answer));
  if (code != ExitCode::kOk || answer->right()) return code;
  return refuse(
      ExitCode::kCheckFailed,
      fmt::format("bench predict: a run differs from its prediction by more than {:.0f} %", 100 * answer->within));
}

}  // namespace

const BenchCommand& predict_command() {
  static const BenchCommand command{
      .name = "predict",
      .summary = "what a workload will do on other nodes, from two measured runs",
      .description =
          "From two runs of a benchmark on the nodes of a cluster, one with little and one with much distributed work, "
          "and from what operations cost on their machine, tells what the workload will do with other shares of it, on "
          "more nodes, or over a card whose times are given. The counts of operations stay; conflicts and cache misses "
          "are taken to stay as well. Over a card the fibers of a worker are a queue at its processor: one has it "
          "until "
          "its transaction waits for the card, then the next one, and with none ready it idles. Only --workers and "
          "--json of the common flags mean something here.",
      .examples = {"--less=local.json --more=distributed.json --fabric=fabric.json",
                   "--less=local.json --more=distributed.json --fabric=fabric.json --check=tenth.json,half.json",
                   "--less=local.json --more=distributed.json --fabric=fabric.json --nodes=24 --workers=8 "
                   "--round_trip=2500 --message=5000 --fibers=4"},
      .flags = {text_flag("less", "", "FILE",
                          "Report of 'granary cluster run NAME --json' with little or no distributed work."),
                text_flag("more", "", "FILE", "Report of the same with much of it."),
                text_flag("fabric", "", "FILE", "Report of 'granary bench fabric --json' on their machine."),
                integer_flag("nodes", 2, 1, 4095, "nodes", "For how many."),
                integer_flag("fibers", 1, 1, ClusterWorker::kMostTogether, "transactions",
                             "That each worker has open at once."),
                integer_flag("cores", 0, 0, 1'000'000, "cores",
                             "That all nodes together have; 0 = one for each worker."),
                real_flag("round_trip", 0, 0, 1e9, "ns",
                          "Of a card: a chain's way there and back. If not given, costs are those of --fabric."),
                real_flag("operation", 20, 0, 1e9, "ns", "Of a card: each operation of a chain, besides."),
                real_flag("message", 5000, 0, 1e9, "ns", "Of a card: a message and its answer."),
                real_flag("post", 200, 0, 1e9, "ns", "Of a card: the processor's time for a round trip."),
                text_flag("check", "", "a,b",
                          "Reports of more runs on that machine: sets each beside its prediction; exit code 1 if one "
                          "differs by more than --within."),
                real_flag("within", 15, 0, 1000, "percent", "That a run may differ from its prediction.")},
      .no_protocol = "reads reports of runs, which have the protocol; it runs nothing",
      .durability = "",
      .has_summary = false,
      .run_instead = run,
  };
  return command;
}

}  // namespace granary::bench::predict
