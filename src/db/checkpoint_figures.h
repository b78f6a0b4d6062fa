#pragma once
// Counts what Statistics says of checkpoints. The thread that takes a checkpoint counts, and any thread reads.

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>

#include <granary/database.h>

namespace granary::db {

/// Thread-safe. There is at most one InProgress at a time.
class CheckpointFigures {
 public:
  /// A checkpoint is in progress while this lives.
  class InProgress {
   public:
    explicit InProgress(CheckpointFigures& figures) : figures_(figures) {
      const std::lock_guard lock(figures_.mutex_);
      figures_.began_ = Clock::now();
    }
    ~InProgress() {
      const std::lock_guard lock(figures_.mutex_);
      figures_.past_ += Clock::now() - *figures_.began_;
      figures_.began_.reset();
    }
    InProgress(const InProgress&) = delete;
    InProgress& operator=(const InProgress&) = delete;

   private:
    CheckpointFigures& figures_;
  };

  void wrote(std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    bytes_ += bytes;
  }
  void installed() {
    const std::lock_guard lock(mutex_);
    ++count_;
    installed_ = Clock::now();
  }

  void add_to(Statistics* statistics) const {
    const std::lock_guard lock(mutex_);
    const Clock::duration present = began_ ? Clock::now() - *began_ : Clock::duration{};
    statistics->checkpoints += count_;
    statistics->checkpoint_bytes += bytes_;
    statistics->checkpoint_seconds += std::chrono::duration<double>(past_ + present).count();
    statistics->checkpoint_in_progress = began_.has_value();
    if (installed_) statistics->checkpoint_age_s = std::chrono::duration<double>(Clock::now() - *installed_).count();
  }

 private:
  using Clock = std::chrono::steady_clock;

  mutable std::mutex mutex_;  // guards the members below
  std::uint64_t count_ = 0, bytes_ = 0;
  Clock::duration past_{};
  std::optional<Clock::time_point> began_;      // when the checkpoint in progress began
  std::optional<Clock::time_point> installed_;  // when the last checkpoint was installed
};

}  // namespace granary::db
