#pragma once
// Regions without hardware: the same contract in software, for tests on any machine.
//
// All or nothing: stores go to a buffer and reach memory at the end, if at all. Strong atomicity: ordinary accesses of
// this process count as well, as far as they go through src/base/shared_words.h or src/base/line_table.h. A body never
// sees two values that were not there together: each load, and each run of words that copy() loads, makes it look at
// all lines used so far. What it does not imitate: an ordinary load of a line that a region has written to does not
// abort it. When a region cannot commit any more, its body is left at its next access, as the hardware would leave it:
// by an exception.

#include <atomic>
#include <cstdint>
#include <vector>

#include <granary/options.h>

#include "htm/attempt.h"
#include "htm/number_map.h"
#include "src/base/line_table.h"
#include "src/base/random.h"
#include "src/base/region_mark.h"

namespace granary::htm {

/// One thread's. `stream` tells the threads' chances apart.
class Simulator final : public base::lines::OwnStores {
  using Entry = base::lines::Entry;

 public:
  Simulator(const HtmSimulation& shape, std::uint64_t stream);

  template <typename Body>
  Attempt attempt(Body& body) {
    begin();
    const Attempt part = run(body);
    return part.committed ? commit() : part;
  }

  // --- the same in parts, between which the region stays open ---

  void begin();
  /// Runs a part of the body. Unless the answer is `committed`, the region has aborted, and nothing more may be run in
  /// it.
  template <typename Part>
  Attempt run(Part& part) {
    try {
      const base::RegionMark inside;
      const Verdict verdict = part(*this);
      if (!verdict.is_done()) return {.cause = Cause::kExplicit, .verdict = verdict};
    } catch (const Aborted& aborted) {
      return {.cause = aborted.cause};
    }
    return {.committed = true};
  }
  Attempt commit();
  /// An ordinary store of the region's own thread does not abort it.
  void stored(const Entry& entry, std::uint64_t changes_before) override;

  // --- a body's accesses ---
  std::uint64_t load(const std::uint64_t* word);
  std::uint64_t load(const std::atomic<std::uint64_t>& word) { return load(word_of(word)); }
  /// Copies `bytes` of shared words to private memory.
  void copy(void* to, const std::uint64_t* from, std::size_t bytes);
  void store(std::uint64_t* word, std::uint64_t value);
  void store(std::atomic<std::uint64_t>& word, std::uint64_t value) {
    store(const_cast<std::uint64_t*>(word_of(word)), value);
  }

 private:
  struct Aborted {
    Cause cause;
  };
  struct UsedLine {
    std::uint64_t line;
    const Entry* entry;
    std::uint64_t changes;  // when it was used first
    bool written;
  };
  struct BufferedStore {
    std::uint64_t* word;
    std::uint64_t value;
  };
  struct LockedEntry {
    Entry* entry;
    std::uint64_t changes;  // before it was locked
  };

  static const std::uint64_t* word_of(const std::atomic<std::uint64_t>& word) {
    static_assert(sizeof word == sizeof(std::uint64_t));
    return reinterpret_cast<const std::uint64_t*>(&word);
  }

  /// Counts an access; leaves the body if this is where chance ends the region.
  void touch();
  /// Adds the word's line to the used ones, if it is not among them.
  UsedLine& use(const std::uint64_t* word);
  void use_for_store(UsedLine& used);
  /// The word as the region sees it. Its line is used.
  std::uint64_t value_of(const std::uint64_t* word, const UsedLine& used);
  /// Leaves the body if somebody else has changed a line that was used.
  void look();
  bool lines_hold() const;
  bool lock_written_lines();
  /// Gives the locks back; `changed`: something was stored.
  void unlock(bool changed);

  const HtmSimulation shape_;
  base::Random random_;
  std::uint64_t accesses_left_ = 0;  // until chance ends the region; kNever
  std::uint64_t stores_seen_ = 0;    // by everybody, before the used lines were last looked at (lines::Table::stores)
  std::vector<UsedLine> used_;
  std::size_t last_used_ = 0;  // the index of the line that was used last: most often the next access is to it, too
  NumberMap index_of_line_;    // in used_
  std::vector<std::uint64_t> written_lines_;
  std::vector<std::uint8_t> written_in_set_;  // how many of these are in each set; none before the first store
  std::vector<BufferedStore> stores_;
  NumberMap last_store_;             // the index in stores_, by the word's address
  std::vector<LockedEntry> locked_;  // sorted; during commit only
};

}  // namespace granary::htm
