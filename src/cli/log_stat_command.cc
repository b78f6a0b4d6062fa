// `granary log stat`: summarizes the segments of the log, without the data that are written in them.

#include <algorithm>
#include <cstdio>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/harness/progress.h"
#include "bench/harness/table.h"
#include "bench/harness/trial.h"
#include "src/cli/inspected_database.h"
#include "src/cli/reading_bar.h"
#include "src/cli/tool.h"

namespace granary::cli {
namespace {

using bench::with_commas;
using recovery::LogScan;
using recovery::LogSegment;
using Row = std::vector<std::string>;

/// The epochs of a segment's transactions; 0 and 0 if it has none.
struct Span {
  epoch::Epoch first = 0, last = 0;
};

Span epochs_of(const LogSegment& segment) {
  Span span;
  for (const recovery::Chunk& chunk : segment.chunks) {
    span.first = span.first == 0 ? chunk.first_epoch : std::min(span.first, chunk.first_epoch);
    span.last = std::max(span.last, chunk.last_epoch);
  }
  return span;
}

std::string text_of(Span span) { return span.first == 0 ? "-" : fmt::format("{}..{}", span.first, span.last); }

std::string file_of(const LogSegment& segment) { return segment.path.substr(segment.path.rfind('/') + 1); }

std::string segment_table(const LogScan& scan) {
  std::vector<Row> rows{{"segment", "bytes", "transactions", "epochs", "markers", "complete", "D", "counts to"}};
  std::uint64_t markers = 0;
  for (const LogSegment& segment : scan.segments) {
    markers += segment.markers;
    rows.push_back({file_of(segment), with_commas(segment.bytes), with_commas(segment.transactions),
                    text_of(epochs_of(segment)), with_commas(segment.markers),
                    segment.complete ? std::to_string(*segment.complete) : "-", std::to_string(segment.durable),
                    fmt::format("{}{}", segment.limit, segment.running ? " (running)" : "")});
  }
  rows.push_back({"total", with_commas(scan.bytes), with_commas(scan.transactions), "", with_commas(markers), "",
                  std::to_string(scan.durable), ""});
  return bench::aligned(rows);
}

std::string generation_table(const recovery::Manifest& manifest, const LogScan& scan) {
  std::vector<Row> rows{{"generation", "loggers", "segments", "bytes", "transactions", "first epoch", "cut"}};
  for (const recovery::Generation& generation : manifest.generations) {
    std::uint64_t segments = 0, bytes = 0, transactions = 0;
    for (const LogSegment& segment : scan.segments) {
      if (segment.name.generation != generation.number) continue;
      ++segments;
      bytes += segment.bytes;
      transactions += segment.transactions;
    }
    rows.push_back({std::to_string(generation.number), std::to_string(generation.loggers), std::to_string(segments),
                    with_commas(bytes), with_commas(transactions), std::to_string(generation.first_epoch),
                    generation.cut ? std::to_string(*generation.cut) : "running"});
  }
  return bench::aligned(rows);
}

nlohmann::ordered_json json_of(const InspectedDatabase& database, const LogScan& scan) {
  nlohmann::ordered_json json{{"database", recovery::to_text(database.manifest.database)},
                              {"durable_epoch", scan.durable},
                              {"greatest_epoch", scan.greatest_epoch},
                              {"bytes", scan.bytes},
                              {"transactions", scan.transactions},
                              {"superseded", scan.superseded.size()},
                              {"kept_for_other_nodes", scan.kept},
                              {"damages", scan.losses.size()}};
  json["generations"] = nlohmann::ordered_json::array();
  for (const recovery::Generation& generation : database.manifest.generations) {
    nlohmann::ordered_json one{
        {"number", generation.number}, {"loggers", generation.loggers}, {"first_epoch", generation.first_epoch}};
    one["cut"] = generation.cut ? nlohmann::ordered_json(*generation.cut) : nlohmann::ordered_json(nullptr);
    json["generations"].push_back(std::move(one));
  }
  json["segments"] = nlohmann::ordered_json::array();
  for (const LogSegment& segment : scan.segments) {
    const Span span = epochs_of(segment);
    nlohmann::ordered_json one{{"file", segment.path},          {"generation", segment.name.generation},
                               {"logger", segment.name.logger}, {"sequence", segment.name.sequence},
                               {"bytes", segment.bytes},        {"transactions", segment.transactions},
                               {"markers", segment.markers},    {"first_epoch", span.first},
                               {"last_epoch", span.last},       {"durable", segment.durable},
                               {"counts_to", segment.limit}};
    one["complete"] = segment.complete ? nlohmann::ordered_json(*segment.complete) : nlohmann::ordered_json(nullptr);
    json["segments"].push_back(std::move(one));
  }
  return json;
}

std::string text_of(const InspectedDatabase& database, const LogScan& scan) {
  std::string text = fmt::format("database {} in '{}'\n\n{}\n{}", recovery::to_text(database.manifest.database),
                                 database.directory, generation_table(database.manifest, scan), segment_table(scan));
  if (database.manifest.checkpoint)
    text += fmt::format("\ncheckpoint  {}, all transactions of epochs below {}\n",
                        database.manifest.checkpoint->directory, database.manifest.checkpoint->epoch);
  if (scan.kept != 0)
    text += fmt::format(
        "\n{} segments hold nothing more that this node needs; they are kept for other nodes, and go with the next "
        "checkpoint of this node after every node has one behind them\n",
        scan.kept);
  if (!scan.superseded.empty())
    text += fmt::format("\n{} segments are no longer needed and go with {}\n", scan.superseded.size(),
                        database.of_node() ? "one of the next checkpoints" : "the next checkpoint");
  return text;
}

bench::ExitCode run(const std::string& directory, const bench::FlagValues& flags) {
  auto database = open_with_logs(directory, flags);
  if (!database.ok()) return bench::refuse(bench::exit_code_of(database.status()), database.status().message());
  std::optional<ReadingBar> bar(log_bytes(*database));
  database->progress = bar->counter();
  const auto scan = database->scan(/*salvage=*/true);  // salvages, so that it shows what is there, damaged or not
  bar.reset();
  if (!scan.ok()) return bench::refuse(bench::exit_code_of(scan.status()), scan.status().message());
  // Paths are byte strings, but JSON takes only UTF-8.
  constexpr auto kReplace = nlohmann::ordered_json::error_handler_t::replace;
  const std::string text = flags.enabled("json") ? json_of(*database, *scan).dump(2, ' ', false, kReplace) + "\n"
                                                 : text_of(*database, *scan);
  std::fputs(text.c_str(), stdout);
  if (scan->losses.empty()) return bench::ExitCode::kOk;
  std::fflush(stdout);
  return bench::refuse(bench::ExitCode::kDamagedData,
                       fmt::format("the log is damaged in {} place{}; 'granary log verify {}' names them",
                                   scan->losses.size(), scan->losses.size() == 1 ? "" : "s", directory));
}

}  // namespace

const Tool& log_stat_tool() {
  static const Tool tool{
      .group = "log",
      .name = "stat",
      .summary = "what each generation, logger and segment holds",
      .description =
          "Reads all segments of the log that count and prints for each its bytes, transactions, their "
          "epochs, its markers, up to which epoch it is complete before the first fault, the durable epoch D "
          "that it names, and up to which epoch it counts.",
      .examples = {"/var/lib/bank", "/var/lib/bank --json"},
      .flags = {log_dirs_flag(), bench::switch_flag("json", false, "Prints JSON instead of tables.")},
      .run = run,
  };
  return tool;
}

}  // namespace granary::cli
