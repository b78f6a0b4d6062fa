#pragma once
// Runs regions without hardware: it keeps the same contract in software, for tests on any machine.
//
// A region takes effect as a whole or not at all: its stores go to a buffer, and reach memory only when it commits. It
// has strong atomicity: ordinary accesses of this process count as well, as far as they go through
// src/base/shared_words.h or src/base/line_table.h. A body never sees two values that were not there together: each
// load, and each run of words that copy() loads, makes it look at all lines used so far. One thing is not imitated: an
// ordinary load of a line that a region has written to does not abort the region. When a region cannot commit any more,
// its body is left at its next access, by an exception, as the hardware would leave it there.

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

/// The simulation of one thread. `stream` gives it random numbers of its own.
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

  // --- a region in parts, between which it stays open ---

  void begin();
  /// Runs a part of the body. Unless the result is `committed`, the region has aborted, and no more parts may run in
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
  /// Notes an ordinary store of the region's own thread, so that it does not abort the region.
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
    std::uint64_t changes;  // when the line was used first
    bool written;
  };
  struct BufferedStore {
    std::uint64_t* word;
    std::uint64_t value;
  };
  struct LockedEntry {
    Entry* entry;
    std::uint64_t changes;  // before the entry was locked
  };

  static const std::uint64_t* word_of(const std::atomic<std::uint64_t>& word) {
    static_assert(sizeof word == sizeof(std::uint64_t));
    return reinterpret_cast<const std::uint64_t*>(&word);
  }

  /// Counts an access. Leaves the body if chance ends the region here.
  void touch();
  /// Adds the word's line to the used ones, if it is not among them.
  UsedLine& use(const std::uint64_t* word);
  void use_for_store(UsedLine& used);
  /// Returns the word as the region sees it. Its line is in use.
  std::uint64_t value_of(const std::uint64_t* word, const UsedLine& used);
  /// Leaves the body if another thread has changed a line that was used.
  void look();
  bool lines_hold() const;
  bool lock_written_lines();
  /// Gives the locks back. `changed` says that something was stored.
  void unlock(bool changed);

  const HtmSimulation shape_;
  base::Random random_;
  std::uint64_t accesses_left_ = 0;  // until chance ends the region; kNever if it does not
  std::uint64_t stores_seen_ = 0;    // by all threads, before the used lines were last looked at (lines::Table::stores)
  std::vector<UsedLine> used_;
  std::size_t last_used_ = 0;  // the index of the line that was used last, which the next access mostly uses, too
  NumberMap index_of_line_;    // the index in used_
  std::vector<std::uint64_t> written_lines_;
  std::vector<std::uint8_t> written_in_set_;  // how many of these are in each set; empty before the first store
  std::vector<BufferedStore> stores_;
  NumberMap last_store_;             // the index in stores_, by the word's address
  std::vector<LockedEntry> locked_;  // sorted; during commit only
};

}  // namespace granary::htm
