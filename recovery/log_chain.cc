#include "recovery/log_chain.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/test_hooks.h"

namespace granary::recovery {
namespace {

/// Returns the path of a missing segment, which would stand beside the others.
std::string path_of_missing(const Generation& generation, const Chain& chain, std::uint64_t sequence) {
  const std::string directory = chain.last_path.substr(0, chain.last_path.rfind('/') + 1);
  return directory + log::segment_name(generation.number, chain.logger, sequence);
}

/// Whether the segment lacks markers at its end. A logger begins the next segment with its last marker only once that
/// marker stands in the previous segment.
bool ends_early(const ScannedSegment& segment, const ScannedSegment& next) {
  const bool whole = segment.header.ok() && segment.faults.empty();
  const bool begins = next.complete_first && (next.faults.empty() || next.faults.front().complete_before);
  return whole && begins && segment.complete_any.value_or(0) < *next.complete_first;
}

/// Whether the missing part at the segment's end may never have been synced.
bool may_end_torn(const LogSegment& segment, const Chain& chain, const SegmentRange& range) {
  if (range.end || segment.unreadable) return false;
  const LogSegment& last = *chain.segments.back();
  if (&segment == &last) return !segment.continued_in;
  // The last segment but one may lack the name of the last one, if nothing was written to the last one but the marker
  // that both have.
  return segment.name.sequence + 1 == last.name.sequence && last.transactions == 0 && last.markers == 1 &&
         last.complete_first == segment.faults.front().complete_before;
}

/// Reports a log that ends before the end that its last segment or the manifest names.
void find_missing_end(const Generation& generation, Chain& chain) {
  if (chain.segments.empty() || base::injected("ignore-next-segment")) return;
  const LogSegment& last = *chain.segments.back();
  const auto end = generation.range(chain.logger).end;
  const std::uint64_t wanted = std::max(last.continued_in.value_or(0), end ? end->sequence : 0);
  if (last.name.sequence < wanted) {
    chain.breaks.push_back({path_of_missing(generation, chain, last.name.sequence + 1), 0, 0, "the file is missing",
                            chain.complete_any, std::nullopt, false, false, true});
  } else if (end && last.name.sequence == end->sequence && last.faults.empty() && last.end < end->offset) {
    chain.breaks.push_back({last.path, last.end, 0, fmt::format("the file ends here, expected {} bytes", end->offset),
                            chain.complete_any, std::nullopt, false, false});
  }
}

void find_breaks(const Generation& generation, Chain& chain) {
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
    // Bytes beyond the end that the manifest names never counted. A segment that was begun and not written lacks even
    // its header.
    const auto is_void = [&](std::uint64_t offset) {
      return range.end && log::Position{segment->name.sequence, offset} >= *range.end;
    };
    if (!segment->header.ok() && !is_void(0))
      chain.breaks.push_back({segment->path, 0, sizeof(log::SegmentHeader), segment->header.message(),
                              chain.complete_any, std::nullopt, false, true});
    // Markers count where they stand: first those before the first fault, then those between two faults, then the rest.
    const auto first = segment->faults.empty() ? segment->complete_any : segment->faults.front().complete_before;
    if (first) pass(*first);
    for (std::size_t i = 0; i < segment->faults.size(); ++i) {
      const auto& [fault, before, after] = segment->faults[i];
      if (is_void(fault.offset)) break;
      chain.breaks.push_back({segment->path, fault.offset, fault.next.value_or(segment->bytes) - fault.offset,
                              fault.cause, chain.complete_any, std::nullopt, may_end_torn(*segment, chain, range),
                              fault.next.has_value()});
      if (!after) continue;  // there is no marker until the next fault
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

}  // namespace

Result<Chain> chain_of(const Manifest& manifest, const Generation& generation, std::uint32_t logger,
                       std::span<LogSegment> segments) {
  Chain chain;
  chain.logger = logger;
  for (LogSegment& segment : segments) {
    if (segment.name.generation == generation.number && segment.name.logger == logger)
      chain.segments.push_back(&segment);
  }
  chain.complete = generation.empty_before() - 1;
  if (manifest.checkpoint && manifest.checkpoint->epoch != 0)
    chain.complete = std::max(chain.complete, manifest.checkpoint->epoch - 1);
  chain.complete_any = chain.complete;
  if (!chain.segments.empty()) {
    chain.last_path = chain.segments.back()->path;
  } else {
    const auto& directories = manifest.log_directories;
    if (directories.empty()) return Status(StatusCode::kDamaged, "the manifest names no log directory");
    chain.last_path = directories[logger % directories.size()] + "/" +
                      log::segment_name(generation.number, logger, generation.range(logger).first);
  }
  find_breaks(generation, chain);
  return chain;
}

ReadableEnd readable_end(const Generation& generation, const Chain& chain) {
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

}  // namespace granary::recovery
