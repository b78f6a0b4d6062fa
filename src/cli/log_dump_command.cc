// `granary log dump`: prints every transaction and marker of the log, a line each.

#include <charconv>
#include <cstdio>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bench/harness/trial.h"
#include "recovery/lock_ahead.h"
#include "recovery/segment_reader.h"
#include "recovery/surviving_rings.h"
#include "src/base/print.h"
#include "src/cli/inspected_database.h"
#include "src/cli/printable.h"
#include "src/cli/tool.h"
#include "src/record/tid.h"

namespace granary::cli {
namespace {

using recovery::SegmentReader;

struct Wanted {
  std::optional<std::uint32_t> table = {};
  epoch::Epoch from = 0, to = 0;
  std::uint64_t limit = 0;
  bool values = false;
};

class Dump {
 public:
  Dump(const InspectedDatabase& database, const Wanted& wanted) : database_(database), wanted_(wanted) {}

  /// Prints one file's lines.
  Status segment(const SegmentFile& file);
  /// Prints the locks that a node of a cluster that died may hold at other nodes.
  void lock_ahead(const std::string& path, const log::Ring& ring);
  /// Whether no more lines are wanted, or none can be printed any more.
  bool full() const { return (wanted_.limit != 0 && lines_ == wanted_.limit) || std::ferror(stdout) != 0; }
  /// Prints that a segment is missing that must be there.
  void missing(const std::string& path) {
    damaged_ = true;
    line(path, 0, "DAMAGED: the file is missing");
  }
  /// Returns the segments that other segments name as the next ones.
  const std::vector<recovery::SegmentName>& named() const { return named_; }
  bool damaged() const { return damaged_; }

 private:
  void transaction(const std::string& path, const SegmentReader& reader);
  void marker(const std::string& path, const SegmentReader& reader);
  void continued(const SegmentFile& file, const SegmentReader& reader);
  void unfinished(const std::string& path, const recovery::UnfinishedTransaction& transaction);
  std::string text_of(const log::Write& write) const;
  std::string text_of(const log::NamedLock& lock) const;
  bool in_range(epoch::Epoch epoch) const { return epoch >= wanted_.from && epoch <= wanted_.to; }
  void line(const std::string& path, std::uint64_t offset, const std::string& text) {
    line(fmt::format("{} {}", path, offset), text);
  }
  void line(const std::string& where, const std::string& text) {
    base::print("{} {}\n", where, text);
    ++lines_;
  }

  const InspectedDatabase& database_;
  const Wanted& wanted_;
  recovery::FileBytes bytes_;
  std::uint64_t lines_ = 0;
  bool damaged_ = false;
  std::vector<recovery::SegmentName> named_;
};

std::string Dump::text_of(const log::Write& write) const {
  const std::string home = write.home ? fmt::format("node {} ", *write.home) : std::string();
  const std::string name = home + database_.table_name(write.table);
  const std::string key = wanted_.values ? quoted(write.key) : fmt::format("{} B", write.key.size());
  if (write.removed) return fmt::format("remove {} key {}", name, key);
  const std::string value = wanted_.values ? quoted(write.value) : fmt::format("{} B", write.value.size());
  if (write.part) {
    return fmt::format("put {} key {} part {} at {} of {} B", name, key, value, write.part->from,
                       write.part->whole_bytes);
  }
  return fmt::format("put {} key {} value {}", name, key, value);
}

void Dump::transaction(const std::string& path, const SegmentReader& reader) {
  const epoch::Epoch epoch = record::epoch_of(reader.tid());
  if (!in_range(epoch)) return;
  std::string text = fmt::format("{}.{}", epoch, record::sequence_of(reader.tid()));
  bool shown = !wanted_.table;
  log::WriteReader writes(reader.body());
  log::Write write;
  for (const char* separator = "  "; writes.next(&write);) {
    if (wanted_.table && write.table != *wanted_.table) continue;
    text += separator + text_of(write);
    separator = ", ";
    shown = true;
  }
  if (writes.malformed()) {
    damaged_ = shown = true;
    text += "  DAMAGED: its writes are malformed";
  }
  if (shown) line(path, reader.offset(), text);
}

void Dump::marker(const std::string& path, const SegmentReader& reader) {
  const log::Marker marker = reader.marker();
  if (wanted_.table || !in_range(marker.complete)) return;
  const std::string released = marker.released == 0 ? "" : fmt::format(", D of the cluster {}", marker.released);
  line(path, reader.offset(), fmt::format("marker  complete {}, D {}{}", marker.complete, marker.durable, released));
}

void Dump::continued(const SegmentFile& file, const SegmentReader& reader) {
  const recovery::SegmentName& name = file.name;
  named_.push_back({name.generation, name.logger, reader.next_segment()});
  if (wanted_.table) return;
  line(file.path, reader.offset(),
       "goes on in " + log::segment_name(name.generation, name.logger, reader.next_segment()));
}

Status Dump::segment(const SegmentFile& file) {
  auto opened = base::system_files().open(file.path);
  if (!opened.ok()) return opened.status();
  if (const Status loaded = bytes_.load(**opened, file.path); !loaded.ok()) return loaded;
  const log::SegmentHeader header = recovery::expected_header(database_.manifest, file.name);
  auto reader = SegmentReader::open(bytes_.view(), file.path, header);
  if (!reader.ok()) {
    damaged_ = true;
    line(file.path, 0, "DAMAGED: " + reader.status().message());
    return {};
  }
  while (!full()) {
    switch (reader->next()) {
      case SegmentReader::Found::kTransaction: transaction(file.path, *reader); break;
      case SegmentReader::Found::kMarker: marker(file.path, *reader); break;
      case SegmentReader::Found::kContinues: continued(file, *reader); break;
      case SegmentReader::Found::kFault:
        if (reader->fault().next) damaged_ = true;
        line(file.path, reader->fault().offset,
             fmt::format("{}: {}", reader->fault().next ? "DAMAGED" : "torn tail", reader->fault().cause));
        break;
      case SegmentReader::Found::kEnd: return {};
    }
  }
  return {};
}

std::string Dump::text_of(const log::NamedLock& lock) const {
  const std::string key = wanted_.values ? quoted(lock.key) : fmt::format("{} B", lock.key.size());
  return fmt::format("node {} {} key {} x-lock {:016x} at {}", lock.node, database_.table_name(lock.table), key,
                     lock.word, lock.state_offset);
}

void Dump::unfinished(const std::string& path, const recovery::UnfinishedTransaction& transaction) {
  if (transaction.tid && !in_range(record::epoch_of(*transaction.tid))) return;
  std::string text = transaction.tid
                         ? fmt::format("{}.{}  not written back everywhere: ", record::epoch_of(*transaction.tid),
                                       record::sequence_of(*transaction.tid))
                         : "undecided  may hold: ";
  const char* separator = "";
  for (const log::NamedLock& lock : transaction.locks) {
    if (wanted_.table && lock.table != *wanted_.table) continue;
    text += std::exchange(separator, ", ") + text_of(lock);
  }
  if (*separator != '\0') line(path, text);
}

void Dump::lock_ahead(const std::string& path, const log::Ring& ring) {
  const auto found = recovery::read_lock_ahead(ring);
  if (!found.ok()) {
    damaged_ = true;
    line(path, "DAMAGED: " + found.status().message());
    return;
  }
  for (const recovery::UnfinishedTransaction& transaction : *found) {
    if (full()) return;
    unfinished(path, transaction);
  }
}

/// Finds a table by its name or by its number in the log.
Result<std::uint32_t> find_table(const recovery::Manifest& manifest, const std::string& text) {
  for (const recovery::TableEntry& table : manifest.tables) {
    if (table.name == text) return table.id;
  }
  std::uint32_t id = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), id);
  if (parsed.ec == std::errc() && parsed.ptr == text.data() + text.size() && id < manifest.tables.size()) return id;
  return Status(StatusCode::kInvalidArgument,
                fmt::format("--table={}: expected a table's name, or its number, 0 to {}", text,
                            manifest.tables.empty() ? 0 : manifest.tables.size() - 1));
}

Result<Wanted> wanted_from(const InspectedDatabase& database, const bench::FlagValues& flags) {
  Wanted wanted{.from = flags.integer("from_epoch"),
                .to = flags.integer("to_epoch"),
                .limit = flags.integer("limit"),
                .values = flags.enabled("values")};
  if (wanted.to == 0) wanted.to = record::kMaxEpoch;
  if (wanted.from > wanted.to)
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("--from_epoch={} is greater than --to_epoch={}; expected no more than that", wanted.from,
                              wanted.to));
  if (!flags.given("table")) return wanted;
  const auto table = find_table(database.manifest, flags.text("table"));
  if (!table.ok()) return table.status();
  wanted.table = *table;
  return wanted;
}

/// Prints which of the segments that count are missing: the first one, those before another one, and those that a
/// segment names as the next one.
void dump_missing(const recovery::Manifest& manifest, const std::vector<SegmentFile>& files, Dump& lines) {
  const std::vector<std::string>& directories = manifest.log_directories;
  for (const recovery::Generation& generation : manifest.generations) {
    for (std::uint32_t logger = 0; logger < generation.loggers && !directories.empty(); ++logger) {
      const recovery::SegmentRange range = generation.range(logger);
      const auto counts = [&](const recovery::SegmentName& name) {
        return name.generation == generation.number && name.logger == logger && name.sequence >= range.first &&
               (!range.end || name.sequence <= range.end->sequence);
      };
      std::set<std::uint64_t> there, wanted = {range.first, range.end ? range.end->sequence : range.first};
      for (const SegmentFile& file : files) {
        if (counts(file.name)) there.insert(file.name.sequence);
      }
      for (const recovery::SegmentName& name : lines.named()) {
        if (counts(name)) wanted.insert(name.sequence);
      }
      wanted.insert(there.begin(), there.end());
      for (std::uint64_t i = range.first; i <= *wanted.rbegin() && !lines.full(); ++i) {
        if (!there.contains(i))
          lines.missing(directories[logger % directories.size()] + "/" +
                        log::segment_name(generation.number, logger, i));
      }
    }
  }
}

Status dump(const InspectedDatabase& database, Dump& lines) {
  const auto files = segment_files(database.manifest);
  if (!files.ok()) return files.status();
  for (const SegmentFile& file : *files) {
    if (lines.full()) break;
    if (const Status printed = lines.segment(file); !printed.ok()) return printed;
  }
  dump_missing(database.manifest, *files, lines);
  const auto rings = database.settled.rings();
  if (!rings.ok()) return rings.status();
  for (const auto& ring : rings->rings) {
    lines.lock_ahead(database.manifest.reliable_directory + "/" + log::ring_name(ring->header().worker), *ring);
  }
  return {};
}

bench::ExitCode run(const std::string& directory, const bench::FlagValues& flags) {
  const auto database = open_with_logs(directory, flags);
  if (!database.ok()) return bench::refuse(bench::exit_code_of(database.status()), database.status().message());
  const auto wanted = wanted_from(*database, flags);
  if (!wanted.ok()) return bench::refuse(bench::exit_code_of(wanted.status()), wanted.status().message());
  Dump lines(*database, *wanted);
  const Status dumped = dump(*database, lines);
  std::fflush(stdout);
  if (!dumped.ok()) return bench::refuse(bench::exit_code_of(dumped), dumped.message());
  return lines.damaged() ? bench::ExitCode::kDamagedData : bench::ExitCode::kOk;
}

}  // namespace

const Tool& log_dump_tool() {
  static const Tool tool{
      .group = "log",
      .name = "dump",
      .summary = "its transactions and markers, a line each",
      .description =
          "Prints for each entry of the log, segments that no longer count included, the file, the offset, the TID as "
          "epoch.sequence, and what was written. Entries that were packed together have the offset of the pack. Of a "
          "node of a cluster that died, what its rings say it may hold locked at others comes last: the ring, the TID "
          "of a transaction that was decided and may not be written back everywhere, or \"undecided\", and each record "
          "with the word of its x-lock. Bytes that are no entries are named where they stand. If entries follow them, "
          "or a file is missing, the exit code is 4. Only `granary log verify` tells whether a file ends too early.",
      .examples = {"/var/lib/bank --limit=20",
                   "/var/lib/bank --table=accounts --from_epoch=100 --to_epoch=120 --values"},
      .flags = {log_dirs_flag(),
                bench::text_flag("table", "", "ID", "Only writes to this table, by name or by number in the log."),
                bench::integer_flag("from_epoch", 0, 0, record::kMaxEpoch, "", "First epoch that is shown."),
                bench::integer_flag("to_epoch", 0, 0, record::kMaxEpoch, "",
                                    "Last epoch that is shown; 0 = to the end."),
                bench::integer_flag("limit", 0, 0, ~std::uint64_t{0}, "lines", "Ends after so many; 0 = all."),
                bench::switch_flag("values", false, "Shows keys and values instead of their sizes.")},
      .run = run,
  };
  return tool;
}

}  // namespace granary::cli
