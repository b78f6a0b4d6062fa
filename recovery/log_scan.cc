#include "recovery/log_scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <string_view>
#include <utility>

#include "recovery/log_chain.h"
#include "src/base/test_hooks.h"
#include "src/base/threads.h"
#include "src/base/with_memory.h"

namespace granary::recovery {
namespace {

Status damaged(std::string message) { return {StatusCode::kDamaged, std::move(message)}; }

struct Found {
  SegmentName name;
  std::string path;
};

/// Whether the segment is needless by a checkpoint, and is there only because the process died before removing it.
bool is_before_first(const Generation& generation, const SegmentName& name) {
  return name.sequence < generation.range(name.logger).first;
}

class Scanner {
 public:
  Scanner(base::FileSystem& files, const Manifest& manifest, const ScanOptions& options)
      : files_(files),
        manifest_(manifest),
        options_(options) {}

  Result<LogScan> run() {
    auto found = list();
    if (!found.ok()) return found.status();
    if (const Status read = read_all(*found); !read.ok()) return read;
    for (const Generation& generation : manifest_.generations) {
      if (const Status judged = judge(generation); !judged.ok()) return judged;
    }
    sum_up();
    return std::move(scan_);
  }

 private:
  const Generation* generation_of(std::uint64_t number) const {
    for (const Generation& generation : manifest_.generations) {
      if (generation.number == number) return &generation;
    }
    return nullptr;
  }

  /// Whether the generation is being written, and the caller knows how far it counts.
  bool goes_on(const Generation& generation) const {
    return options_.up_to && !generation.cut && &generation == &manifest_.generations.back();
  }
  /// Returns the epoch up to which the generation counts; none if only the log itself tells.
  std::optional<epoch::Epoch> cut_of(const Generation& generation) const {
    return goes_on(generation) ? options_.up_to : generation.cut;
  }
  /// Whether the checkpoint holds all of the generation that counts.
  bool covered(const Generation& generation) const {
    const auto cut = cut_of(generation);
    return cut && manifest_.checkpoint && manifest_.checkpoint->epoch > *cut;
  }

  SegmentScanOptions segment_options() const {
    return {.salvage = options_.salvage, .past_unreadable = options_.salvage && !options_.sent, .home = options_.home};
  }
  Result<std::vector<Found>> list();
  Status admit(const Found& file, std::vector<Found>& found, std::vector<Found>& newer);
  Status admit_unknown(const Found& file, bool first_of_logger);
  static Status unknown(const Found& file);
  Result<unsigned> threads_for(const std::vector<Found>& found) const;
  Status read_all(const std::vector<Found>& found);
  Status judge(const Generation& generation);
  Status check_reached(const Generation& generation, const Chain& chain) const;
  Status judge_chain(const Generation& generation, Chain& chain, epoch::Epoch limit, epoch::Epoch required);
  std::string describe(const Generation& generation, const Break& place, epoch::Epoch durable, epoch::Epoch last) const;
  epoch::Epoch counts_up_to(const Chain& chain, epoch::Epoch required) const;
  Status lose(const Break& lost, epoch::Epoch last_epoch, const std::string& message);
  void sum_up();

  base::FileSystem& files_;
  const Manifest& manifest_;
  const ScanOptions& options_;
  LogScan scan_;
};

/// Lists all segments of all directories that may count, in order.
Result<std::vector<Found>> Scanner::list() {
  std::vector<Found> found, newer;
  for (const std::string& directory : manifest_.log_directories) {
    auto names = files_.list(directory);
    if (!names.ok()) return names.status();
    for (const std::string& name : *names) {
      const auto parsed = parse_segment_name(name);
      if (!parsed) continue;
      const Status admitted = admit({*parsed, directory + "/" + name}, found, newer);
      if (!admitted.ok()) return admitted;
    }
  }
  const auto by_name = [](const Found& a, const Found& b) { return a.name < b.name; };
  std::sort(newer.begin(), newer.end(), by_name);
  for (std::size_t i = 0; i < newer.size(); ++i) {
    const bool first = i == 0 || newer[i].name.generation != newer[i - 1].name.generation ||
                       newer[i].name.logger != newer[i - 1].name.logger;
    if (const Status admitted = admit_unknown(newer[i], first); !admitted.ok()) return admitted;
  }
  std::sort(found.begin(), found.end(), by_name);
  for (std::size_t i = 1; i < found.size(); ++i) {
    if (found[i].name == found[i - 1].name)
      return damaged(fmt::format("'{}' and '{}' claim to be the same log segment", found[i - 1].path, found[i].path));
  }
  return found;
}

/// Sorts out one segment: to `found` if it may count, to `newer` if its generation is newer than all in the manifest.
Status Scanner::admit(const Found& file, std::vector<Found>& found, std::vector<Found>& newer) {
  const Generation* const generation = generation_of(file.name.generation);
  if (generation == nullptr) {
    const auto& known = manifest_.generations;
    const bool old = !known.empty() && file.name.generation < known.front().number;
    if (known.empty() || file.name.generation > known.back().number) {
      if (!options_.elsewhere) newer.push_back(file);
      return {};
    }
    if (!old) return unknown(file);
    scan_.superseded.push_back(file.path);
    return {};
  }
  if (file.name.logger >= generation->loggers)
    return damaged(fmt::format("'{}' is of logger {}, but generation {} had {} loggers", file.path, file.name.logger,
                               generation->number, generation->loggers));
  if (covered(*generation) || is_before_first(*generation, file.name)) {
    scan_.superseded.push_back(file.path);
  } else {
    found.push_back(file);
  }
  return {};
}

Status Scanner::unknown(const Found& file) {
  return damaged(
      fmt::format("'{}' is of generation {}, which the manifest does not know: it is older than the log. Put the "
                  "newest {} back",
                  file.path, file.name.generation, kManifestName));
}

/// Admits a segment that an interrupted opening has left. A generation's log begins before the manifest names it. Until
/// then it has no transaction of its own, only entries of former generations' rings, which have older epochs and stand
/// before the first marker. These entries are copies as long as the rings are there. Before the rings are removed, the
/// log says that the manifest names the generation (log::Log::start()). A manifest that does not know such a generation
/// is an older one, and so is one that does not know a log whose first segment a checkpoint has removed.
Status Scanner::admit_unknown(const Found& file, bool first_of_logger) {
  if (first_of_logger && file.name.sequence != 0) return unknown(file);
  FileBytes buffer;
  const log::SegmentHeader header = expected_header(manifest_, file.name);
  const auto scanned = scan_segment(files_, file.path, file.name, header, segment_options(), buffer);
  if (!scanned.ok()) return scanned.status();
  if (!scanned->header.ok()) return scanned->header;
  if (scanned->named && !base::injected("admit-named-generation")) return unknown(file);
  for (const Chunk& chunk : scanned->chunks) {
    if (scanned->complete_first && chunk.last_epoch > *scanned->complete_first) return unknown(file);
  }
  scan_.abandoned.push_back(file.path);
  return {};
}

/// Returns how many threads are of use, and have the memory for the largest of the segments.
Result<unsigned> Scanner::threads_for(const std::vector<Found>& found) const {
  std::uint64_t threads = std::min<std::uint64_t>(options_.threads, found.size());
  if (threads <= 1 || options_.memory_bytes == 0) return static_cast<unsigned>(threads);
  std::uint64_t largest = 1;
  for (const Found& each : found) {
    const auto file = files_.open(each.path);
    if (!file.ok()) return file.status();
    const auto size = (*file)->size();
    if (!size.ok()) return size.status();
    largest = std::max(largest, *size);
  }
  return static_cast<unsigned>(std::clamp<std::uint64_t>(options_.memory_bytes / largest, 1, threads));
}

/// Walks all segments, each by one of the threads.
Status Scanner::read_all(const std::vector<Found>& found) {
  const auto threads = threads_for(found);
  if (!threads.ok()) return threads.status();
  scan_.segments.resize(found.size());
  std::atomic<std::size_t> next{0};  // taken by all threads; only has to be unique, so relaxed
  std::atomic<bool> failed{false};   // a hint to stop, so relaxed; the cause is under the mutex
  std::mutex mutex;                  // guards error
  Status error;
  const auto work = [&](unsigned) {
    FileBytes buffer;
    for (;;) {
      const std::size_t i = next.fetch_add(1, std::memory_order_relaxed);
      if (i >= found.size() || failed.load(std::memory_order_relaxed)) return;
      const log::SegmentHeader header = expected_header(manifest_, found[i].name);
      auto scanned = scan_segment(files_, found[i].path, found[i].name, header, segment_options(), buffer);
      if (scanned.ok()) {
        if (options_.progress) options_.progress(scanned->bytes);
        static_cast<ScannedSegment&>(scan_.segments[i]) = std::move(*scanned);
        continue;
      }
      const std::lock_guard lock(mutex);
      if (error.ok()) error = scanned.status();
      failed.store(true, std::memory_order_relaxed);
      return;
    }
  };
  base::share_out(*threads, work);
  return error;
}

/// Returns the epoch up to which a log counts. With salvage, a log that lost something counts as far as its markers go.
epoch::Epoch Scanner::counts_up_to(const Chain& chain, epoch::Epoch required) const {
  const bool damaged = chain.complete < required || std::any_of(chain.breaks.begin(), chain.breaks.end(),
                                                                [](const Break& b) { return !b.may_be_tail; });
  return options_.salvage && damaged ? chain.complete_any : chain.complete;
}

Status Scanner::judge(const Generation& generation) {
  if (covered(generation)) {
    scan_.durable = manifest_.checkpoint->epoch - 1;
    return {};
  }
  std::vector<Chain> chains;
  const std::optional<epoch::Epoch> cut = cut_of(generation);
  epoch::Epoch promised = goes_on(generation) ? *cut : cut ? generation.durable : 0;
  for (std::uint32_t logger = 0; logger < generation.loggers; ++logger) {
    auto chain = chain_of(manifest_, generation, logger, scan_.segments);
    if (!chain.ok()) return chain.status();
    for (const LogSegment* const segment : chain->segments) promised = std::max(promised, segment->durable);
    if (!cut) scan_.ends.push_back(readable_end(generation, *chain));
    if (const Status reached = check_reached(generation, *chain); !reached.ok()) return reached;
    chains.push_back(std::move(*chain));
  }
  const epoch::Epoch required = cut ? std::min(promised, *cut) : promised;
  epoch::Epoch durable = ~epoch::Epoch{0};
  for (const Chain& chain : chains) durable = std::min(durable, counts_up_to(chain, required));
  if (options_.salvage) durable = std::max(durable, required);
  const epoch::Epoch limit = cut.value_or(durable);
  scan_.durable = limit;
  for (Chain& chain : chains) {
    for (LogSegment* const segment : chain.segments) {
      segment->limit = limit;
      segment->running = !cut;
    }
    if (const Status judged = judge_chain(generation, chain, limit, required); !judged.ok()) return judged;
  }
  return {};
}

/// Returns kUnavailable if a log that is being written ends before the epoch up to which it counts, because the rest
/// may still come. Any other break before that epoch is damage.
Status Scanner::check_reached(const Generation& generation, const Chain& chain) const {
  if (!goes_on(generation) || chain.complete >= *options_.up_to) return {};
  const auto may_end = [](const Break& place) {
    return place.behind_last || (place.may_be_tail && !place.in_the_middle);
  };
  if (!chain.breaks.empty() && !may_end(chain.breaks.front())) return {};
  return {StatusCode::kUnavailable,
          fmt::format("the log that '{}' ends has not synced up to epoch {} yet, only up to epoch {}: try again",
                      chain.last_path, *options_.up_to, chain.complete)};
}

/// Describes a break. `durable` is the epoch up to which the log is known to count, and `last` the last epoch of which
/// something may be missing.
std::string Scanner::describe(const Generation& generation, const Break& place, epoch::Epoch durable,
                              epoch::Epoch last) const {
  const std::string where = fmt::format("'{}', offset {}: {}", place.path, place.offset, place.cause);
  if (place.before < durable) {
    return fmt::format(
        "the log is damaged at or below the durable epoch: {}; transactions of epochs {} to {} may be lost, and epoch "
        "{} was durable",
        where, place.before + 1, last, durable);
  }
  if (cut_of(generation))
    return fmt::format("the log is not as the manifest says, although nothing that counts is lost: {}", where);
  return fmt::format(
      "the log is damaged: {}; all transactions of epochs after {} may be lost, as nothing else tells how far the log "
      "went",
      where, place.before);
}

/// Checks the breaks of a chain. Transactions up to `limit` count. Those up to `required` must be there, by the markers
/// of all loggers and by the manifest.
Status Scanner::judge_chain(const Generation& generation, Chain& chain, epoch::Epoch limit, epoch::Epoch required) {
  // If the manifest says how far the log went, all of that must be there, even the parts in which nothing counts.
  const bool named = generation.range(chain.logger).end && !base::injected("ignore-empty-end");
  const bool cut = cut_of(generation).has_value();
  for (const Break& place : chain.breaks) {
    // Everything that counts stands before the break. The bytes after it were not durable, and are void.
    const bool dropped = place.before >= std::max(limit, required) && (cut ? !named : place.may_be_tail);
    const bool torn = place.may_be_tail && !place.in_the_middle && place.before >= required;
    if (dropped || torn) {
      // The tail is reported only once: a generation that is over was reported when it was cut.
      if (!cut) {
        scan_.tails.push_back({place.path, place.offset, place.bytes, place.cause});
        break;
      }
      continue;
    }
    const epoch::Epoch last =
        place.after ? *place.after + log::kAheadOfMarker : std::max({limit, required, place.before + 1});
    if (const Status lost = lose(place, last, describe(generation, place, std::max(limit, required), last)); !lost.ok())
      return lost;
  }
  const epoch::Epoch complete = options_.salvage ? chain.complete_any : chain.complete;
  if (complete >= required) return {};
  const bool told = std::any_of(chain.breaks.begin(), chain.breaks.end(), [](const auto& b) { return !b.after; });
  if (told && options_.salvage) return {};
  const std::uint64_t end = chain.segments.empty() ? 0 : chain.segments.back()->bytes;
  return lose({chain.last_path, end, 0, "the log ends too early", complete, std::nullopt, false, false}, required,
              fmt::format("the log lost durable data: logger {} of generation {} has everything only up to epoch {} "
                          "(its last file is '{}', {} bytes), but epoch {} was durable",
                          chain.logger, generation.number, complete, chain.last_path, end, required));
}

/// Reports a loss: as an error, or with salvage as an entry of the list.
Status Scanner::lose(const Break& lost, epoch::Epoch last_epoch, const std::string& message) {
  if (!options_.salvage) return damaged(message);
  scan_.losses.push_back({lost.path, lost.offset, lost.bytes, lost.before + 1, last_epoch, lost.cause});
  return {};
}

void Scanner::sum_up() {
  epoch::Epoch& greatest = scan_.greatest_epoch;
  greatest = std::max(greatest, recovery::greatest_epoch(manifest_));
  for (LogSegment& segment : scan_.segments) {
    greatest = std::max(greatest, segment.greatest_epoch);
    scan_.released = std::max(scan_.released, segment.released);
    scan_.bytes += segment.bytes;
    scan_.transactions += segment.transactions;
    if (options_.salvage) continue;
    std::erase_if(segment.chunks, [](const Chunk& chunk) { return chunk.behind_fault; });
  }
}

}  // namespace

Result<LogScan> scan_logs(base::FileSystem& files, const Manifest& manifest, const ScanOptions& options) {
  return base::with_memory([&] { return Scanner(files, manifest, options).run(); });
}

Status add_kept_log(base::FileSystem& files, const Manifest& manifest, ScanOptions options, LogScan& scan) {
  if (!manifest.checkpoint) return {};
  Manifest older = manifest;
  older.checkpoint.reset();
  std::erase_if(older.generations, [&](const Generation& generation) {
    return !generation.cut || *generation.cut >= manifest.checkpoint->epoch;
  });
  if (older.generations.empty()) return {};
  options.elsewhere = true;  // `scan` has the newer generations already
  auto kept = scan_logs(files, older, options);
  if (!kept.ok()) return kept.status();
  std::set<std::string_view> paths;
  for (const LogSegment& segment : kept->segments) paths.insert(segment.path);
  std::erase_if(scan.superseded, [&](const std::string& path) { return paths.contains(path); });
  scan.kept += kept->segments.size();
  scan.bytes += kept->bytes;
  scan.transactions += kept->transactions;
  scan.segments.insert(scan.segments.begin(), std::move_iterator(kept->segments.begin()),
                       std::move_iterator(kept->segments.end()));
  scan.losses.insert(scan.losses.begin(), kept->losses.begin(), kept->losses.end());
  return {};
}

}  // namespace granary::recovery
