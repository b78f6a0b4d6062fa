#pragma once
// Loggers over a file system that fails and forgets, with epochs that move by hand and workers that the test plays. It
// remembers what was committed and judges what a crash left of it.

#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "src/base/random.h"
#include "src/epoch/epoch.h"
#include "src/log/logger.h"
#include "src/record/tid.h"
#include "tests/log/segment_decoder.h"
#include "tests/support/fault_files.h"
#include "tests/support/temporary_directory.h"

namespace granary::tests {

struct RigOptions {
  std::uint32_t loggers = 1;
  std::uint32_t workers = 2;
  std::uint64_t segment_bytes = 4096;
  std::optional<log::Codec> codec = {};
  epoch::Epoch first_epoch = 8;  ///< all before it is durable
  std::uint64_t ring_bytes = 8192;
  std::uint64_t spares = 0;
};

class LoggerRig {
 public:
  static constexpr log::DatabaseId kDatabase = {4, 2};
  static constexpr std::uint64_t kGeneration = 3;
  inline static const std::string kDirectory = "/db/log";

  explicit LoggerRig(RigOptions options)
      : options_(options),
        epochs_({.max_open_epochs = 0, .first_epoch = options.first_epoch}),
        durable_(options.loggers, options.first_epoch - 1) {
    EXPECT_TRUE(files_.make_directory(kDirectory).ok());
    for (std::uint32_t i = 0; i < options.loggers; ++i) loggers_.push_back(new_logger(i));
    for (std::uint32_t i = 0; i < options.workers; ++i) add_worker(i);
  }

  FaultFiles& files() { return files_; }
  epoch::EpochManager& epochs() { return epochs_; }
  log::DurableEpoch& durable() { return durable_; }
  log::Logger& logger(std::size_t i) { return *loggers_[i]; }
  std::size_t loggers() const { return loggers_.size(); }
  std::size_t workers() const { return workers_.size(); }
  std::size_t committed() const { return committed_.size(); }
  const RigOptions& options() const { return options_; }
  epoch::Epoch removed_until() const { return removed_until_; }

  Status open() {
    for (const auto& logger : loggers_) {
      if (const Status opened = logger->open(); !opened.ok()) return opened;
    }
    return {};
  }
  void step_all() {
    for (const auto& logger : loggers_) logger->step(/*urgent=*/true);
  }
  /// A new epoch, and all loggers look.
  void advance() {
    epochs_.tick();
    step_all();
  }

  bool is_open(std::size_t worker) const { return workers_[worker].open; }
  void enter(std::size_t worker) {
    epochs_.enter(*workers_[worker].slot);
    workers_[worker].open = true;
  }
  void leave(std::size_t worker) {
    epochs_.leave(*workers_[worker].slot);
    workers_[worker].open = false;
    workers_[worker].serialized.reset();
  }
  /// The worker, inside its slot, fixes its transaction's epoch; the log entry comes later.
  void serialize(std::size_t worker) { workers_[worker].serialized = epochs_.current(); }
  bool has_room(std::size_t worker) const { return workers_[worker].ring->has_room(3000); }
  /// Commits in its epoch, else in the current one, as a worker inside its slot does, and leaves. Returns the epoch.
  epoch::Epoch commit(std::size_t worker, std::string_view value) {
    if (!is_open(worker)) enter(worker);
    const epoch::Epoch epoch = workers_[worker].serialized.value_or(epochs_.current());
    const record::TidWord tid = record::make_tid(epoch, ++sequence_);
    publish(*workers_[worker].ring, tid, body_of(value));
    leave(worker);
    return epoch;
  }
  epoch::Epoch commit(std::size_t worker, base::Random& random) {
    std::string value(random.below(random.chance(0.05) ? 2500 : 60), 'v');
    for (char& byte : value) byte = static_cast<char>(random.chance(0.5) ? 'v' : random.next());
    return commit(worker, value);
  }

  /// As a checkpoint of all ≤ `epoch` lets go of what it covers.
  Status remove_until(epoch::Epoch epoch) {
    removed_until_ = std::max(removed_until_, epoch);
    first_segments_.clear();
    for (const auto& logger : loggers_) first_segments_.push_back(logger->first_after(epoch));
    for (std::size_t i = 0; i < loggers_.size(); ++i) {
      if (const Status removed = loggers_[i]->remove_before(first_segments_[i]); !removed.ok()) return removed;
    }
    return {};
  }
  /// By logger, as a manifest names them by now; empty before the first removal.
  const std::vector<std::uint64_t>& first_segments() const { return first_segments_; }

  DecodedLog decode(base::FileSystem& image) const {
    return decode_log(image, kDirectory, kDatabase, kGeneration, options_.loggers, options_.first_epoch - 1);
  }
  /// What is wrong with what a crash left, "" if nothing: all that D promises is there, and it is a prefix of epochs.
  std::string judge(FaultFiles& image) const {
    const DecodedLog left = decode(image);
    if (!left.mistakes.empty()) return left.mistakes.front();
    // A lone idle logger moves D without a marker; then no transaction is between.
    if (left.durable < durable_.current() && options_.loggers > 1)
      return "D is " + std::to_string(durable_.current()) + ", but only " + std::to_string(left.durable) + " is left";
    const auto bodies = left.replayed();
    std::size_t found = 0;
    for (const Transaction& transaction : committed_) {
      const epoch::Epoch epoch = record::epoch_of(transaction.tid);
      if (epoch > std::max(left.durable, durable_.current())) continue;
      const auto at = bodies.find(transaction.tid);
      found += at != bodies.end() ? 1 : 0;
      if (epoch <= removed_until_) continue;
      const std::string name = "the transaction of epoch " + std::to_string(epoch);
      if (at == bodies.end()) {
        return name + " is gone; D is " + std::to_string(durable_.current()) + ", left is " +
               std::to_string(left.durable);
      }
      if (at->second != transaction.body) return name + " has another body";
    }
    return found == bodies.size() ? "" : "there are transactions that nobody committed";
  }
  /// Judges power-loss images: the poorest, the richest, and `random` others.
  std::string judge_power_loss(std::uint64_t seed, int random) const {
    std::string wrong = judge(*files_.power_loss_image(Survives::kSynced));
    if (wrong.empty()) wrong = judge(*files_.power_loss_image(Survives::kAll));
    for (int i = 0; i < random && wrong.empty(); ++i) {
      wrong = judge(*files_.power_loss_image(Survives::kRandom, seed + static_cast<std::uint64_t>(i)));
      if (!wrong.empty()) wrong += " (image " + std::to_string(seed + static_cast<std::uint64_t>(i)) + ")";
    }
    return wrong;
  }
  /// What is wrong with files and rings after the death of the process, "" if nothing: together they hold all.
  std::string judge_process_crash() const { return judge_with_rings(*files_.process_crash_image()); }
  /// And if the disk then loses everything that was not synced.
  std::string judge_disk_loss() const { return judge_with_rings(*files_.power_loss_image(Survives::kSynced)); }

 private:
  std::string judge_with_rings(FaultFiles& image) const {
    std::set<std::uint64_t> tids;
    for (const DecodedLogger& logger : decode(image).loggers) {
      for (const DecodedTransaction& transaction : logger.transactions) tids.insert(transaction.tid);
    }
    for (const Worker& worker : workers_) {
      std::string_view pending = worker.ring->pending();
      while (!pending.empty()) {
        log::EntryHeader header;
        std::memcpy(&header, pending.data(), sizeof header);
        tids.insert(header.tid());
        pending.remove_prefix(header.bytes());
      }
    }
    for (const Transaction& transaction : committed_) {
      const epoch::Epoch epoch = record::epoch_of(transaction.tid);
      if (epoch > removed_until_ && !tids.contains(transaction.tid))
        return "a transaction of epoch " + std::to_string(epoch) + " is neither in a file nor in a ring";
    }
    return "";
  }

  struct Worker {
    std::unique_ptr<log::Ring> ring;
    epoch::Slot* slot;
    bool open = false;
    std::optional<epoch::Epoch> serialized = {};
  };
  struct Transaction {
    record::TidWord tid;
    std::string body;
  };

  std::unique_ptr<log::Logger> new_logger(std::uint32_t number) {
    log::LoggerOptions options{.files = &files_,
                               .directory = kDirectory,
                               .identity = {},
                               .segment_bytes = options_.segment_bytes,
                               .spares = options_.spares,
                               .codec = options_.codec,
                               .alone = options_.loggers == 1};
    options.identity.database = kDatabase;
    options.identity.generation = kGeneration;
    options.identity.logger = number;
    return std::make_unique<log::Logger>(options, epochs_, durable_);
  }
  void add_worker(std::uint32_t number) {
    auto ring =
        log::Ring::create(rings_ / log::ring_name(number), {kDatabase, kGeneration, number}, options_.ring_bytes);
    EXPECT_TRUE(ring.ok()) << ring.status().message();
    workers_.push_back({std::move(*ring), epochs_.acquire_slot()});
    loggers_[number % loggers_.size()]->add_ring(workers_.back().ring.get());
  }
  static std::string body_of(std::string_view value) {
    const log::WriteHeader header{1, 3, static_cast<std::uint32_t>(value.size())};
    return std::string(reinterpret_cast<const char*>(&header), sizeof header) + "key" + std::string(value);
  }
  void publish(log::Ring& ring, record::TidWord tid, const std::string& body) {
    const log::EntryHeader header{static_cast<std::uint32_t>(body.size()), 0,
                                  tid | static_cast<std::uint64_t>(log::EntryKind::kTransaction)};
    while (!ring.has_room(header.bytes())) {
      step_all();
      if (durable_.failed()) return;  // as a worker that is told so
    }
    std::memset(ring.at_tail(), 0, header.bytes());
    std::memcpy(ring.at_tail(), &header, sizeof header);
    std::memcpy(ring.at_tail() + sizeof header, body.data(), body.size());
    ring.publish(header.bytes());
    committed_.push_back({tid, body});
  }

  const RigOptions options_;
  TemporaryDirectory rings_;
  FaultFiles files_;
  epoch::EpochManager epochs_;
  log::DurableEpoch durable_;
  std::vector<std::unique_ptr<log::Logger>> loggers_;
  std::vector<Worker> workers_;
  std::vector<Transaction> committed_;
  std::uint64_t sequence_ = 0;
  epoch::Epoch removed_until_ = 0;
  std::vector<std::uint64_t> first_segments_;
};

/// Workers, loggers and epochs in a random order: `actions` of them.
inline void run_at_random(LoggerRig& rig, base::Random& random, int actions) {
  for (int i = 0; i < actions && !rig.durable().failed(); ++i) {
    const std::size_t worker = random.below(rig.workers());
    switch (random.below(8)) {
      case 0:
      case 1:
      case 2: rig.commit(worker, random); break;
      case 3:
        if (!rig.is_open(worker)) rig.enter(worker);  // stays inside for a while, and holds E back
        if (random.chance(0.7)) rig.serialize(worker);
        break;
      case 4:
        if (rig.is_open(worker)) rig.leave(worker);
        break;
      case 5: rig.epochs().tick(); break;
      default: rig.logger(random.below(rig.loggers())).step(/*urgent=*/random.chance(0.5));
    }
  }
}

}  // namespace granary::tests
