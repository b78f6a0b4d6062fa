#include "recovery/log_scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <thread>

#include "src/base/test_hooks.h"

namespace granary::recovery {
namespace {

/// Transactions of these many epochs after a marker's may stand before it: the loggers drain what is there.
constexpr epoch::Epoch kAhead = 2;

Status damaged(std::string message) { return {StatusCode::kDamaged, std::move(message)}; }

/// A place where the bytes of a logger's log are not those that were written.
struct Break {
  std::string path;
  std::uint64_t offset = 0, bytes = 0;
  std::string cause;
  epoch::Epoch before = 0;            ///< everything up to this epoch stands before it
  std::optional<epoch::Epoch> after;  ///< `complete` of the next marker
  bool may_be_tail = false;           ///< in the last segment, so that it may never have been synced
  bool in_the_middle = false;         ///< valid entries follow in the segment
};

/// The segments of one logger in one generation.
struct Chain {
  std::uint32_t logger = 0;
  std::vector<LogSegment*> segments;
  std::vector<Break> breaks;
  epoch::Epoch complete = 0;      ///< before the first break, or by the checkpoint
  epoch::Epoch complete_any = 0;  ///< of the last marker
  std::string last_path;
};

struct Found {
  SegmentName name;
  std::string path;
};

/// Whether a checkpoint has made the segment needless, and the process died before it was removed.
bool is_before_first(const Generation& generation, const SegmentName& name) {
  return name.sequence < generation.range(name.logger).first;
}

/// The file would stand beside the others.
std::string path_of_missing(const Generation& generation, const Chain& chain, std::uint64_t sequence) {
  const std::string directory = chain.last_path.substr(0, chain.last_path.rfind('/') + 1);
  return directory + log::segment_name(generation.number, chain.logger, sequence);
}

/// A logger goes on in the next segment, with its last marker, once that stands in the one before.
bool ends_early(const ScannedSegment& segment, const ScannedSegment& next) {
  const bool whole = segment.header.ok() && segment.faults.empty();
  const bool begins = next.complete_first && (next.faults.empty() || next.faults.front().complete_before);
  return whole && begins && segment.complete_any.value_or(0) < *next.complete_first;
}

/// Whether the part that is missing at its end may never have been synced.
bool may_end_torn(const LogSegment& segment, const Chain& chain, const SegmentRange& range) {
  if (range.end) return false;
  const LogSegment& last = *chain.segments.back();
  if (&segment == &last) return !segment.continued_in;
  // It may lack the name of the next one, which nothing was written to then but the marker that both have.
  return segment.name.sequence + 1 == last.name.sequence && last.transactions == 0 && last.markers == 1 &&
         last.complete_first == segment.faults.front().complete_before;
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

  /// True if the checkpoint holds all of the generation that counts.
  bool covered(const Generation& generation) const {
    return generation.cut && manifest_.checkpoint && manifest_.checkpoint->epoch > *generation.cut;
  }

  Result<std::vector<Found>> list();
  Status admit(const Found& file, std::vector<Found>& found);
  Status admit_unknown(const Found& file);
  static Status unknown(const Found& file);
  Status read_all(const std::vector<Found>& found);
  Status judge(const Generation& generation);
  Result<Chain> chain_of(const Generation& generation, std::uint32_t logger);
  void find_breaks(const Generation& generation, Chain& chain);
  static void find_missing_end(const Generation& generation, Chain& chain);
  static ReadableEnd readable_end(const Generation& generation, const Chain& chain);
  Status judge_chain(const Generation& generation, Chain& chain, epoch::Epoch limit, epoch::Epoch required);
  epoch::Epoch counts_up_to(const Chain& chain, epoch::Epoch required) const;
  Status lose(const Break& lost, epoch::Epoch last_epoch, const std::string& message);
  void sum_up();

  base::FileSystem& files_;
  const Manifest& manifest_;
  const ScanOptions& options_;
  LogScan scan_;
};

/// All segments of all directories that may count, in order.
Result<std::vector<Found>> Scanner::list() {
  std::vector<Found> found;
  for (const std::string& directory : manifest_.log_directories) {
    auto names = files_.list(directory);
    if (!names.ok()) return names.status();
    for (const std::string& name : *names) {
      const auto parsed = parse_segment_name(name);
      if (!parsed) continue;
      if (const Status admitted = admit({*parsed, directory + "/" + name}, found); !admitted.ok()) return admitted;
    }
  }
  std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) { return a.name < b.name; });
  for (std::size_t i = 1; i < found.size(); ++i) {
    if (found[i].name == found[i - 1].name)
      return damaged(fmt::format("'{}' and '{}' claim to be the same log segment", found[i - 1].path, found[i].path));
  }
  return found;
}

Status Scanner::admit(const Found& file, std::vector<Found>& found) {
  const Generation* const generation = generation_of(file.name.generation);
  if (generation == nullptr) {
    const auto& known = manifest_.generations;
    const bool old = !known.empty() && file.name.generation < known.front().number;
    const bool newer = known.empty() || file.name.generation > known.back().number;
    if (newer) return options_.elsewhere ? Status() : admit_unknown(file);
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
  return damaged(fmt::format("'{}' is of generation {}, which the manifest does not know: it is older than the log",
                             file.path, file.name.generation));
}

/// The log of a generation begins before the manifest knows it, and serves no transaction until then. What it may hold
/// of former ones stands, with older epochs, before its first marker.
Status Scanner::admit_unknown(const Found& file) {
  FileBytes buffer;
  const log::SegmentHeader header = expected_header(manifest_, file.name);
  const auto scanned = scan_segment(files_, file.path, file.name, header, options_.salvage, buffer);
  if (!scanned.ok()) return scanned.status();
  if (!scanned->header.ok()) return scanned->header;
  for (const Chunk& chunk : scanned->chunks) {
    if (scanned->complete_first && chunk.last_epoch > *scanned->complete_first) return unknown(file);
  }
  scan_.abandoned.push_back(file.path);
  return {};
}

/// Walks all segments, each by one of the threads.
Status Scanner::read_all(const std::vector<Found>& found) {
  scan_.segments.resize(found.size());
  std::atomic<std::size_t> next{0};  // taken by all threads; only unique, so relaxed
  std::mutex mutex;                  // guards error
  Status error;
  const auto work = [&] {
    FileBytes buffer;
    for (;;) {
      const std::size_t i = next.fetch_add(1, std::memory_order_relaxed);
      if (i >= found.size()) return;
      const log::SegmentHeader header = expected_header(manifest_, found[i].name);
      auto scanned = scan_segment(files_, found[i].path, found[i].name, header, options_.salvage, buffer);
      if (scanned.ok()) {
        static_cast<ScannedSegment&>(scan_.segments[i]) = std::move(*scanned);
        continue;
      }
      const std::lock_guard lock(mutex);
      if (error.ok()) error = scanned.status();
      return;
    }
  };
  std::vector<std::thread> helpers;
  for (unsigned i = 1; i < options_.threads && i < found.size(); ++i) helpers.emplace_back(work);
  work();
  for (std::thread& helper : helpers) helper.join();
  return error;
}

/// Finds what is wrong with the files themselves: headers, and missing files.
Result<Chain> Scanner::chain_of(const Generation& generation, std::uint32_t logger) {
  Chain chain;
  chain.logger = logger;
  for (LogSegment& segment : scan_.segments) {
    if (segment.name.generation == generation.number && segment.name.logger == logger)
      chain.segments.push_back(&segment);
  }
  chain.complete = generation.first_epoch - 1;
  if (manifest_.checkpoint && manifest_.checkpoint->epoch != 0)
    chain.complete = std::max(chain.complete, manifest_.checkpoint->epoch - 1);
  chain.complete_any = chain.complete;
  if (!chain.segments.empty()) {
    chain.last_path = chain.segments.back()->path;
  } else {
    const auto& directories = manifest_.log_directories;
    if (directories.empty()) return damaged("the manifest names no log directory");
    chain.last_path = directories[logger % directories.size()] + "/" +
                      log::segment_name(generation.number, logger, generation.range(logger).first);
  }
  find_breaks(generation, chain);
  return chain;
}

void Scanner::find_breaks(const Generation& generation, Chain& chain) {
  const auto pass = [&](epoch::Epoch complete) {
    if (!chain.breaks.empty() && !chain.breaks.back().after) chain.breaks.back().after = complete;
    chain.complete_any = std::max(chain.complete_any, complete);
    if (chain.breaks.empty()) chain.complete = chain.complete_any;
  };
  const SegmentRange range = generation.range(chain.logger);
  std::uint64_t sequence = range.first;
  if (base::injected("ignore-first-segment") && !chain.segments.empty())
    sequence = chain.segments.front()->name.sequence;
  if (chain.segments.empty())
    chain.breaks.push_back({chain.last_path, 0, 0, "the file is missing", chain.complete, std::nullopt, false, false});
  const LogSegment* previous = nullptr;
  for (LogSegment* const segment : chain.segments) {
    if (segment->name.sequence == sequence && previous != nullptr && ends_early(*previous, *segment)) {
      chain.breaks.push_back({previous->path, previous->bytes, 0, "the file ends before its last marker",
                              chain.complete_any, std::nullopt, false, false});
    }
    previous = segment;
    if (segment->name.sequence != sequence) {
      chain.breaks.push_back({path_of_missing(generation, chain, sequence), 0, 0, "the file is missing",
                              chain.complete_any, std::nullopt, false, false});
    }
    sequence = segment->name.sequence + 1;
    // Bytes beyond the end that the manifest names never counted. A segment that was begun and not written lacks even its header.
    const auto is_void = [&](std::uint64_t offset) {
      return range.end && log::Position{segment->name.sequence, offset} >= *range.end;
    };
    if (!segment->header.ok() && !is_void(0))
      chain.breaks.push_back({segment->path, 0, sizeof(log::SegmentHeader), segment->header.message(),
                              chain.complete_any, std::nullopt, false, true});
    // Markers count where they stand: those before the first fault, then those between two faults, then the rest.
    const auto first = segment->faults.empty() ? segment->complete_any : segment->faults.front().complete_before;
    if (first) pass(*first);
    for (std::size_t i = 0; i < segment->faults.size(); ++i) {
      const auto& [fault, before, after] = segment->faults[i];
      if (is_void(fault.offset)) break;
      chain.breaks.push_back({segment->path, fault.offset, fault.next.value_or(segment->bytes) - fault.offset,
                              fault.cause, chain.complete_any, std::nullopt, may_end_torn(*segment, chain, range),
                              fault.next.has_value()});
      if (!after) continue;  // no marker until the next fault
      pass(*after);
      const bool last_fault = i + 1 == segment->faults.size();
      pass(*(last_fault ? segment->complete_any : segment->faults[i + 1].complete_before));
    }
  }
  find_missing_end(generation, chain);
  const bool marked =
      std::any_of(chain.segments.begin(), chain.segments.end(), [](const auto* s) { return s->complete; });
  if (!marked) {
    if (chain.breaks.empty())
      chain.breaks.push_back({chain.last_path, sizeof(log::SegmentHeader), 0, "the log ends before its first marker",
                              chain.complete, std::nullopt, false, false});
    for (Break& place : chain.breaks) place.may_be_tail = false;
  }
}

/// Reports a log that is too short. Its last segment or the manifest says that there was more.
void Scanner::find_missing_end(const Generation& generation, Chain& chain) {
  if (chain.segments.empty() || base::injected("ignore-next-segment")) return;
  const LogSegment& last = *chain.segments.back();
  const auto end = generation.range(chain.logger).end;
  const std::uint64_t wanted = std::max(last.continued_in.value_or(0), end ? end->sequence : 0);
  if (last.name.sequence < wanted) {
    chain.breaks.push_back({path_of_missing(generation, chain, last.name.sequence + 1), 0, 0, "the file is missing",
                            chain.complete_any, std::nullopt, false, false});
  } else if (end && last.name.sequence == end->sequence && last.faults.empty() && last.end < end->offset) {
    chain.breaks.push_back({last.path, last.end, 0, fmt::format("the file ends here, expected {} bytes", end->offset),
                            chain.complete_any, std::nullopt, false, false});
  }
}

/// The place up to which a log can be read, without regard to what counts.
ReadableEnd Scanner::readable_end(const Generation& generation, const Chain& chain) {
  std::uint64_t sequence = generation.range(chain.logger).first;
  ReadableEnd end{path_of_missing(generation, chain, sequence), {sequence, 0}, "the file is missing"};
  for (const LogSegment* const segment : chain.segments) {
    if (segment->name.sequence != sequence++) break;
    end = {segment->path, {segment->name.sequence, segment->end}, "nothing more was written there"};
    if (!segment->header.ok()) return {segment->path, {segment->name.sequence, 0}, segment->header.message()};
    if (segment->faults.empty()) continue;
    end.cause = segment->faults.front().fault.cause;
    break;
  }
  return end;
}

/// The epoch up to which a log counts. With salvage, a log that lost something counts as far as its markers go.
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
  epoch::Epoch promised = generation.cut ? generation.durable : 0;
  for (std::uint32_t logger = 0; logger < generation.loggers; ++logger) {
    auto chain = chain_of(generation, logger);
    if (!chain.ok()) return chain.status();
    for (const LogSegment* const segment : chain->segments) promised = std::max(promised, segment->durable);
    if (!generation.cut) scan_.ends.push_back(readable_end(generation, *chain));
    chains.push_back(std::move(*chain));
  }
  const epoch::Epoch required = generation.cut ? std::min(promised, *generation.cut) : promised;
  epoch::Epoch durable = ~epoch::Epoch{0};
  for (const Chain& chain : chains) durable = std::min(durable, counts_up_to(chain, required));
  if (options_.salvage) durable = std::max(durable, required);
  const epoch::Epoch limit = generation.cut.value_or(durable);
  scan_.durable = limit;
  for (Chain& chain : chains) {
    for (LogSegment* const segment : chain.segments) {
      segment->limit = limit;
      segment->running = !generation.cut;
    }
    if (const Status judged = judge_chain(generation, chain, limit, required); !judged.ok()) return judged;
  }
  return {};
}

/// `limit`: what counts. `required`: what must be there, by the markers of all loggers and by the manifest.
Status Scanner::judge_chain(const Generation& generation, Chain& chain, epoch::Epoch limit, epoch::Epoch required) {
  // Where the manifest says how far the log went, all of that is there, also where nothing stands in it that counts.
  const bool named = generation.range(chain.logger).end && !base::injected("ignore-empty-end");
  for (const Break& place : chain.breaks) {
    // Everything that counts stands before: what follows was not durable, and is void.
    const bool dropped = place.before >= std::max(limit, required) && (generation.cut ? !named : place.may_be_tail);
    const bool torn = place.may_be_tail && !place.in_the_middle && place.before >= required;
    if (dropped || torn) {
      // Reported while it is news; a generation that is over was reported when it was cut.
      if (!generation.cut) {
        scan_.tails.push_back({place.path, place.offset, place.bytes, place.cause});
        break;
      }
      continue;
    }
    const epoch::Epoch last = place.after ? *place.after + kAhead : std::max({limit, required, place.before + 1});
    const bool empty = place.before >= std::max(limit, required);
    const Status lost = lose(
        place, last,
        empty ? fmt::format(
                    "the log is not as the manifest says, although nothing that counts is lost: '{}', offset {}: {}",
                    place.path, place.offset, place.cause)
              : fmt::format(
                    "the log is damaged at or below the durable epoch: '{}', offset {}: {}; transactions of epochs {} "
                    "to {} may be lost, and epoch {} was durable",
                    place.path, place.offset, place.cause, place.before + 1, last, std::max(required, limit)));
    if (!lost.ok()) return lost;
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

/// Reports a loss: as an error, or with salvage as an entry in the list.
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
    scan_.bytes += segment.bytes;
    scan_.transactions += segment.transactions;
    if (options_.salvage) continue;
    std::erase_if(segment.chunks, [](const Chunk& chunk) { return chunk.behind_fault; });
  }
}

}  // namespace

Result<LogScan> scan_logs(base::FileSystem& files, const Manifest& manifest, const ScanOptions& options) {
  return Scanner(files, manifest, options).run();
}

}  // namespace granary::recovery
