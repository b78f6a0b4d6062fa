#pragma once
// A small database whose file system is in memory and whose rings a test may take away: random transactions of several
// workers on tables of either kind of index, all on one thread; crashes at any call of the file system; and the model
// that tells what must be left.

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <granary/granary.h>
#include <gtest/gtest.h>

#include "src/base/random.h"
#include "tests/durability/model.h"
#include "tests/support/fault_files.h"
#include "tests/support/ring_directory.h"

namespace granary::tests {

class CrashRig {
 public:
  static constexpr const char* kDirectory = "/db";

  enum class Crash : std::uint8_t {
    kPowerLoss,  ///< what was not synced survives in part, or not at all, or whole; the rings are gone
    kProcess,    ///< every call's effect is there, and the rings
    kDisk,       ///< the files are as after a power loss, but the rings are there: a volume that was detached by force
  };

  /// Everything that is random comes from the seed: options, kinds of indexes, transactions, crashes.
  explicit CrashRig(std::uint64_t seed);
  ~CrashRig();

  FaultFiles& files() { return *files_; }
  Database& database() { return *database_; }
  base::Random& random() { return random_; }
  Model& model() { return model_; }
  const Options& options() const { return options_; }
  /// Of the last commit.
  Ticket last_ticket() const { return last_ticket_; }
  bool is_open() const { return database_ != nullptr; }

  /// Opens what the file system holds, and takes the tables, or makes them if there are none.
  Status open();
  /// Does what a client does, at random: operations, commits, epochs, checkpoints, resizes.
  void act(int actions);
  /// One transaction by itself.
  AbortReason commit_one();
  /// OK as well if there is no snapshot yet that it could hold.
  Status checkpoint();

  /// The crash happens at the nth call from now on that changes files; what runs meanwhile goes on and does not know.
  void arm(Crash crash, std::uint64_t nth);
  bool crashed() const { return image_.has_value(); }
  /// The crash happens now, unless it has happened before. The former database is gone; open() finds what it left.
  void crash(Crash crash);

  /// After a power loss: what the next opening will find is known even if it fails after it has written a new manifest.
  void look_ahead();

  /// After open(): tables and indexes hold what they must, and not more. "" if they do.
  std::string verify();
  /// Everything that is there. On an open database.
  State read_all();

 private:
  struct Open {
    Transaction transaction;
    ModelCommit done;
  };
  /// What a crash leaves, and what is known about it.
  struct Image {
    std::unique_ptr<FaultFiles> files;
    RingDirectory::Contents rings;
    std::uint64_t released = 0;
    std::uint64_t must = 0;
    Model model;
  };
  void take_image(Crash crash);
  void on_call(FileCall call);
  void operate(Open& open);
  Outcome update_part(Open& open, std::size_t table, const std::string& key, std::string& value);
  AbortReason commit(std::size_t worker);
  void resize();
  void release_database();
  std::string check_index();
  void read_by_key(Transaction& t, std::size_t table, std::map<std::string, std::string>& records);
  std::string random_value();

  base::Random random_;
  RingDirectory rings_;
  Options options_;
  std::array<TableOptions, kModelTables> table_options_;
  std::unique_ptr<FaultFiles> files_;
  Model model_;
  // What was known before the last crash, until the database that it left is open.
  std::uint64_t released_ = 0;
  std::uint64_t must_ = 0;  // the epoch up to which everything must be there

  std::unique_ptr<Database> database_;
  std::vector<Worker> workers_;
  std::vector<std::optional<Open>> open_;
  std::vector<Table> tables_;
  Index index_;
  Ticket last_ticket_;

  std::mutex arming_;  // the file system is called by the threads of a recovery, too
  std::uint64_t calls_left_ = 0;
  Crash armed_ = Crash::kPowerLoss;
  base::Random image_random_;  // not random_: that is the client's
  std::optional<Image> image_;
};

/// Opens what the last crash left, and finds in it what must be there, and not more.
inline void open_and_verify(CrashRig& rig) {
  const Status opened = rig.open();
  ASSERT_TRUE(opened.ok()) << opened.message();
  ASSERT_EQ(rig.verify(), "");
}

}  // namespace granary::tests
