#pragma once
// Checkpoints of a small database into a directory of their own, and tables to load them into.

#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <granary/granary.h>
#include <gtest/gtest.h>

#include "recovery/checkpoint/reader.h"
#include "recovery/checkpoint/writer.h"
#include "src/db/engine.h"
#include "tests/support/manual_database.h"

namespace granary::tests {

namespace checkpoint = recovery::checkpoint;

inline constexpr log::DatabaseId kDatabase = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

/// A directory below the system's temporary one, gone with the object.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "granary-checkpoint-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  std::string operator/(const std::string& name) const { return path_ + '/' + name; }

 private:
  std::string path_;
};

/// Workers of the engine, to load with, or only to reach what all share.
class EngineWorkers {
 public:
  EngineWorkers(Database& database, std::size_t count) : engine_(database.engine()) {
    for (std::size_t i = 0; i < count; ++i) {
      cores_.push_back(engine_.workers().take().value());
      states_.push_back(&cores_.back()->state());
    }
  }
  ~EngineWorkers() {
    for (txn::WorkerCore* core : cores_) engine_.workers().give_back(core);
  }
  EngineWorkers(const EngineWorkers&) = delete;
  EngineWorkers& operator=(const EngineWorkers&) = delete;

  cc::DatabaseState& shared() { return states_.front()->shared; }
  std::span<cc::WorkerState* const> states() { return states_; }

 private:
  db::Engine& engine_;
  std::vector<txn::WorkerCore*> cores_;
  std::vector<cc::WorkerState*> states_;
};

inline checkpoint::WriteOptions write_options(std::string directory, std::uint32_t partitions = 1,
                                              std::uint32_t threads = 1) {
  checkpoint::WriteOptions options;
  options.files = &base::system_files();
  options.directory = std::move(directory);
  options.database = kDatabase;
  options.stamp = 77;
  options.partitions = partitions;
  options.threads = threads;
  return options;
}

inline checkpoint::ReadOptions read_options(std::string directory) {
  checkpoint::ReadOptions options;
  options.files = &base::system_files();
  options.directory = std::move(directory);
  options.database = kDatabase;
  return options;
}

/// Takes a checkpoint of the newest snapshot.
inline Result<checkpoint::Contents> take_checkpoint(Database& database, const checkpoint::WriteOptions& options,
                                                    const std::vector<txn::TableCore*>& tables) {
  EngineWorkers workers(database, 1);
  const auto pin = checkpoint::SnapshotPin::take(workers.shared().epochs);
  if (!pin.ok()) return pin.status();
  return checkpoint::write_checkpoint(options, workers.shared(), *pin, tables);
}

inline Result<checkpoint::Contents> load(Database& database, const checkpoint::ReadOptions& options,
                                         const std::vector<txn::TableCore*>& tables, std::size_t threads = 1) {
  EngineWorkers workers(database, threads);
  return checkpoint::load_checkpoint(options, tables, workers.states());
}

}  // namespace granary::tests
