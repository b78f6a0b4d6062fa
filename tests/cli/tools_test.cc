// `granary log`, `granary checkpoint` and `granary recover` on small real databases, whole, damaged, locked and
// missing. What the log's reader makes of every possible damage is tested in tests/recovery.

#include <filesystem>
#include <functional>
#include <map>

#include <granary/granary.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>

#include "src/base/file.h"
#include "src/cc/log_entry.h"
#include "src/db/engine.h"
#include "src/epoch/control_block.h"
#include "tests/cli/command_line.h"
#include "tests/support/temporary_directory.h"

namespace granary::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kTransactions = 20;

/// A database with two tables, one of them a hash table, closed, or left behind by a process that died.
class Tools : public testing::Test {
 protected:
  Options options() const {
    Options options;
    options.directory = root_ / "db";
    options.reliable_directory = root_ / "rings";
    options.memory_limit_bytes = std::uint64_t{64} << 20;
    options.max_workers = 8;
    options.epoch_ms = 2;
    options.snapshot_epochs = 2;
    options.checkpoint_interval_s = 0;
    return options;
  }

  static void write(Database& database, bool release = true) {
    static_cast<void>(database.create_table("accounts").value());
    static_cast<void>(database.create_table("names", {.index = IndexKind::kHash, .expected_keys = 1}).value());
    put_rows(database, release);
  }

  static void put_rows(Database& database, bool release = true) {
    const Table accounts = database.table("accounts").value();
    const Table names = database.table("names").value();
    Worker worker = database.register_worker().value();
    RunResult done;
    for (int i = 0; i < kTransactions; ++i) {
      done = worker.run([&](Transaction& t) {
        static_cast<void>(t.put(accounts, "k" + std::to_string(i), "value"));
        static_cast<void>(t.put(names, "\x01", "n" + std::to_string(i)));
      });
      ASSERT_TRUE(done.committed());
    }
    if (release) {
      ASSERT_TRUE(database.wait_released(done.ticket).ok());
    }
  }

  void make_closed() const {
    auto database = Database::open(options()).value();
    write(*database);
    ASSERT_TRUE(database->close().ok());
  }

  /// `write_more`: something is only in the log, not in the checkpoint.
  void make_checkpointed(bool write_more = false) const {
    auto database = Database::open(options()).value();
    write(*database);
    const std::uint64_t seen = database->current_epoch() + 8;
    while (database->current_epoch() < seen) ::usleep(1000);
    const Status done = database->checkpoint();
    ASSERT_TRUE(done.ok()) << done.message();
    if (write_more) put_rows(*database);
    ASSERT_TRUE(database->close().ok());
  }

  /// With rings, and a generation without a cut.
  /// `drained`: what was written is in the log as well; else only in the rings.
  void make_dead(bool drained = true) const {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      Options dying = options();
      if (!drained) dying.background = Background::kManual;
      auto database = Database::open(dying);
      if (!database.ok()) ::_exit(1);
      write(**database, drained);
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }

  /// As a node of a cluster that died with two transactions under way, one of them decided.
  void make_dead_node() const {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      epoch::ControlBlock control;
      Options dying = options();
      dying.background = Background::kManual;
      Database database(
          db::Engine::open(dying, base::system_files(), {.control = &control, .node = 2, .life = 3}).value());
      static_cast<void>(database.create_table("accounts").value());
      const auto core = database.engine().workers().take().value();
      log::Ring& ring = *core->state().ring;
      log::NamedLocks undecided(ring.lock_ahead()), decided(ring.lock_ahead());
      name(undecided, {.word = 0xabcd1, .node = 3, .table = 0, .key = "held"});
      name(decided, {.word = 0xabcd3, .node = 3, .table = 0, .key = "decided"});
      const std::vector<cc::RemoteWrite> writes = {{.node = 3, .table = 0, .key = "decided", .value = "v"}};
      const record::TidWord tid = record::make_tid(7, 5);
      decided.announce_decision(tid, ring.end_after(cc::write_log_entry({{}, writes}, core->state(), tid)));
      core->state().ring->publish(cc::write_log_entry({{}, writes}, core->state(), tid));
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  static void name(log::NamedLocks& record, const log::NamedLock& lock) {
    if (!record.reserve(log::named_bytes(lock.key.size()))) ::_exit(1);
    record.add(lock);
    record.publish();
  }

  Ran run(const std::string& words, const std::string& flags = "") const {
    return granary(words + " " + (root_ / "db") + " " + flags);
  }

  std::string segment() const { return root_ / "db/log-g00000001-l00-s00000000.glog"; }

  static void flip(const std::string& path, std::streamoff offset) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(offset);
    const char old = static_cast<char>(file.get());
    file.seekp(offset);
    file.put(static_cast<char>(old ^ 0x10));
    ASSERT_TRUE(file.good()) << path;
  }

  /// Every file below with its content: to see that nothing changed.
  std::map<std::string, std::string> image() const {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(root_.path()))
      files[entry.path().string()] = entry.is_regular_file() ? contents(entry.path().string()) : "";
    return files;
  }

  tests::TemporaryDirectory root_;
};

TEST_F(Tools, StatListsSegmentsAndGenerations) {
  make_closed();
  const Ran ran = run("log stat");
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_NE(ran.out.find("log-g00000001-l00-s00000000.glog"), std::string::npos) << ran.out;
  const Ran json = run("log stat", "--json");
  const auto parsed = nlohmann::json::parse(json.out, nullptr, false);
  ASSERT_TRUE(parsed.is_object()) << json.out;
  EXPECT_EQ(parsed["transactions"], kTransactions);
  ASSERT_EQ(parsed["segments"].size(), 1u);
  EXPECT_EQ(parsed["segments"][0]["bytes"], fs::file_size(segment()));
  EXPECT_GT(parsed["segments"][0]["markers"], 0);
  EXPECT_GE(parsed["segments"][0]["complete"], parsed["segments"][0]["last_epoch"]);
}

TEST_F(Tools, DumpShowsEveryTransaction) {
  make_closed();
  const Ran all = run("log dump");
  EXPECT_EQ(all.exit_code, 0) << all.err;
  std::size_t puts = 0;
  for (std::size_t at = 0; (at = all.out.find("put accounts", at)) != std::string::npos; ++at) ++puts;
  EXPECT_EQ(puts, static_cast<std::size_t>(kTransactions));
  EXPECT_NE(all.out.find("put names key 1 B value 2 B"), std::string::npos) << all.out;
  EXPECT_NE(all.out.find("marker  complete"), std::string::npos);
  EXPECT_NE(all.out.find(segment() + " 64 "), std::string::npos) << "the first entry stands behind the header";
  const Ran values = run("log dump", "--table=names --values --limit=1");
  EXPECT_EQ(values.out.find("accounts"), std::string::npos) << values.out;
  EXPECT_NE(values.out.find(R"(put names key "\x01" value "n0")"), std::string::npos) << values.out;
  EXPECT_EQ(run("log dump", "--table=names --values").out, run("log dump", "--table=1 --values").out);
  EXPECT_EQ(run("log dump", "--from_epoch=1000000").out, "");
  EXPECT_EQ(run("log dump", "--table=acount").exit_code, 2);
  EXPECT_EQ(run("log dump", "--from_epoch=5 --to_epoch=4").exit_code, 2);
}

TEST_F(Tools, DumpShowsWhatADeadNodeMayHoldAtOthers) {
  make_dead_node();
  const auto before = image();
  const Ran all = run("log dump", "--values");
  EXPECT_EQ(all.exit_code, 0) << all.err;
  const std::string held = R"( undecided  may hold: node 3 accounts key "held" x-lock 00000000000abcd1)";
  const std::string decided =
      R"( 7.5  not written back everywhere: node 3 accounts key "decided" x-lock 00000000000abcd3)";
  EXPECT_NE(all.out.find(held), std::string::npos) << all.out;
  EXPECT_NE(all.out.find(decided), std::string::npos) << all.out;
  EXPECT_EQ(run("log dump", "--from_epoch=8").out.find("not written back"), std::string::npos);
  EXPECT_EQ(image(), before);
}

TEST_F(Tools, VerifyAcceptsAWholeLog) {
  make_closed();
  const Ran ran = run("log verify");
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.out.rfind("ok: 1 segments, 20 transactions", 0), 0u) << ran.out;
}

TEST_F(Tools, DamageIsNamedWithFileAndOffset) {
  make_closed();
  flip(segment(), 64 + 20);  // in the first entry's body
  const Ran verify = run("log verify");
  EXPECT_EQ(verify.exit_code, 4);
  EXPECT_NE(verify.out.find("DAMAGED: '" + segment() + "', offset 64: the checksum of an entry is wrong"),
            std::string::npos)
      << verify.out;
  EXPECT_EQ(run("log stat").exit_code, 4);
  const Ran dump = run("log dump");
  EXPECT_EQ(dump.exit_code, 4);
  EXPECT_NE(dump.out.find(segment() + " 64 DAMAGED: "), std::string::npos) << dump.out;
  const auto before = image();
  EXPECT_EQ(run("recover", "--dry-run").exit_code, 4);
  const Ran lost = run("recover", "--dry-run --salvage");
  EXPECT_EQ(lost.exit_code, 0) << lost.err;
  EXPECT_NE(lost.out.find("LOST: '" + segment() + "', offset 64"), std::string::npos) << lost.out;
  EXPECT_EQ(image(), before);
  const Ran refused = run("recover");
  EXPECT_EQ(refused.exit_code, 4);
  EXPECT_NE(refused.err.find(segment()), std::string::npos) << refused.err;
  const Ran salvaged = run("recover", "--salvage");
  EXPECT_EQ(salvaged.exit_code, 0) << salvaged.err;
  EXPECT_NE(salvaged.out.find("LOST"), std::string::npos) << salvaged.out;
}

TEST_F(Tools, ADamagedManifestIsDamage) {
  make_closed();
  flip(root_ / "db/MANIFEST", 5);
  for (const char* tool : {"log stat", "log dump", "log verify", "checkpoint verify", "recover", "recover --dry-run"}) {
    const Ran ran = run(tool);
    EXPECT_EQ(ran.exit_code, 4) << tool << ran.err;
    EXPECT_NE(ran.err.find("MANIFEST"), std::string::npos) << tool << ran.err;
  }
}

TEST_F(Tools, EveryDamageIsListedNotOnlyTheFirst) {
  make_closed();
  flip(segment(), 64 + 20);
  flip(segment(), 1000);  // of the twenty transactions, which end behind byte 1200, the seventeenth
  const Ran ran = run("log verify");
  EXPECT_EQ(ran.exit_code, 4);
  EXPECT_EQ(ran.err, "granary: the log in '" + root_ / "db" + "' is damaged in 2 places\n") << ran.out;
}

TEST_F(Tools, PackedLogsOfSeveralLoggersAreRead) {
  Options packed = options();
  packed.log_compression = LogCompression::kLz4;
  packed.loggers = 2;
  packed.log_directories = {root_ / "a", root_ / "b"};
  {
    auto database = Database::open(packed).value();
    write(*database);
    ASSERT_TRUE(database->close().ok());
  }
  EXPECT_EQ(run("log verify").exit_code, 0);
  const Ran dump = run("log dump", "--table=accounts --values");
  EXPECT_NE(dump.out.find(R"(put accounts key "k19" value "value")"), std::string::npos) << dump.out;
  EXPECT_EQ(run("recover").exit_code, 0);
  EXPECT_FALSE(fs::exists(root_ / "db/log-g00000002-l00-s00000000.glog")) << "the log stays where it was";
  EXPECT_TRUE(fs::exists(root_ / "b/log-g00000002-l01-s00000000.glog"));
  EXPECT_TRUE(fs::is_empty(root_ / "rings")) << "rings are where they were, and go at the end";
}

TEST_F(Tools, ATornTailIsReportedAndFine) {
  make_dead();
  std::ofstream(segment(), std::ios::app | std::ios::binary) << std::string(13, 'x');
  const Ran ran = run("log verify");
  EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.err;
  EXPECT_NE(ran.out.find("torn tail: '" + segment() + "', offset "), std::string::npos) << ran.out;
}

TEST_F(Tools, DryRunTellsWhatRecoveryDoesAndChangesNothing) {
  make_dead();
  const auto before = image();
  const Ran dry = run("recover", "--dry-run");
  EXPECT_EQ(dry.exit_code, 0) << dry.err;
  EXPECT_NE(dry.out.find("20 transactions, 40 writes"), std::string::npos) << dry.out;
  EXPECT_EQ(image(), before);
  const Ran ran = run("recover");
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_NE(ran.out.find("found, nothing that committed is missing"), std::string::npos) << ran.out;
  auto database = Database::open(options()).value();
  EXPECT_TRUE(database->table("accounts").ok());
}

TEST_F(Tools, WhatIsOnlyInTheRingsIsFoundAndNotTakenByLooking) {
  make_dead(/*drained=*/false);
  const auto before = image();
  for (int turn = 0; turn < 2; ++turn) {
    const Ran dry = run("recover", "--dry-run");
    EXPECT_NE(dry.out.find("20 transactions, 40 writes"), std::string::npos) << dry.out;
    EXPECT_EQ(run("log verify").exit_code, 0);
  }
  EXPECT_EQ(image(), before);
  EXPECT_EQ(run("recover").exit_code, 0);
  auto database = Database::open(options()).value();
  const Table accounts = database->table("accounts").value();
  Worker worker = database->register_worker().value();
  std::string value;
  EXPECT_TRUE(worker.run([&](Transaction& t) { EXPECT_EQ(t.get(accounts, "k19", value), Outcome::kOk); }).committed());
}

TEST_F(Tools, ALockFileIsNotMadeByLooking) {
  make_closed();
  fs::remove(root_ / "db/LOCK");
  EXPECT_EQ(run("recover", "--dry-run").exit_code, 0);
  EXPECT_EQ(run("log verify").exit_code, 0);
  EXPECT_FALSE(fs::exists(root_ / "db/LOCK"));
}

/// Opening and the look before it agree, whatever is wrong with whichever file.
TEST_F(Tools, WhatOpeningRefusesTheDryRunRefuses) {
  make_checkpointed(/*write_more=*/true);
  using Change = std::function<void(const fs::path&)>;
  const std::vector<std::pair<const char*, Change>> changes = {
      {"missing", [](const fs::path& path) { fs::remove(path); }},
      {"truncated", [](const fs::path& path) { fs::resize_file(path, 70); }},
      {"empty", [](const fs::path& path) { fs::resize_file(path, 0); }},
      {"flipped", [](const fs::path& path) { flip(path, 60); }}};
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(root_ / "db")) {
    if (entry.is_regular_file() && entry.path().filename() != "LOCK") files.push_back(entry.path());
  }
  ASSERT_GE(files.size(), 3u) << "a manifest, a segment, and a part of a checkpoint at least";
  fs::copy(root_ / "db", root_ / "whole", fs::copy_options::recursive);
  for (const fs::path& file : files) {
    for (const auto& [name, change] : changes) {
      change(file);
      const Ran dry = run("recover", "--dry-run");
      const Ran ran = run("recover");
      EXPECT_EQ(dry.exit_code, ran.exit_code) << name << " " << file << "\n" << dry.out << dry.err << ran.err;
      EXPECT_NE(ran.exit_code, 0) << name << " " << file;
      if (file.filename() != "MANIFEST") {
        const std::string part =
            file.parent_path().filename() == "db" ? file.filename() : file.parent_path().filename();
        EXPECT_NE(dry.out.find(part), std::string::npos) << name << " " << file << "\n" << dry.out << dry.err;
        EXPECT_NE(ran.err.find(part), std::string::npos) << name << " " << file << "\n" << ran.err;
      }
      fs::copy(root_ / "whole", root_ / "db", fs::copy_options::recursive | fs::copy_options::overwrite_existing);
    }
  }
  EXPECT_EQ(run("recover", "--dry-run").exit_code, 0);
  for (const auto& entry : fs::directory_iterator(root_ / "db")) {
    if (entry.is_directory()) fs::remove_all(entry.path());
  }
  EXPECT_EQ(run("recover", "--dry-run").exit_code, 4) << "the whole checkpoint is missing";
  EXPECT_EQ(run("recover", "--dry-run --salvage").exit_code, 4) << "nothing is left that could be salvaged";
  EXPECT_EQ(run("recover", "--salvage").exit_code, 4);
}

TEST_F(Tools, CheckpointVerifyCountsByTable) {
  make_checkpointed();
  const Ran ran = run("checkpoint verify");
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_NE(ran.out.find("accounts       20"), std::string::npos) << ran.out;
  std::string directory;
  for (const auto& entry : fs::directory_iterator(root_ / "db")) {
    if (entry.path().filename().string().starts_with("checkpoint-")) directory = entry.path().string();
  }
  EXPECT_EQ(granary("checkpoint verify " + directory).exit_code, 0);
  const std::string file = directory + "/part-0000.gckpt";
  flip(file, static_cast<std::streamoff>(fs::file_size(file)) - 10);
  const Ran damaged = run("checkpoint verify");
  EXPECT_EQ(damaged.exit_code, 4);
  EXPECT_NE(damaged.err.find(file), std::string::npos) << damaged.err;
  fs::remove(file);
  EXPECT_EQ(run("checkpoint verify").exit_code, 4) << "the manifest names it";
}

TEST_F(Tools, WithoutACheckpointThereIsNothingWrong) {
  make_closed();
  const Ran ran = run("checkpoint verify");
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_NE(ran.out.find("no checkpoint yet"), std::string::npos);
}

class EveryTool : public Tools, public testing::WithParamInterface<const char*> {};

TEST_P(EveryTool, WantsADatabase) {
  const Ran ran = granary(std::string(GetParam()) + " " + root_.path());
  EXPECT_EQ(ran.exit_code, 3) << ran.err;
  EXPECT_NE(ran.err.find("'" + root_.path() + "' holds n"), std::string::npos) << ran.err;
  EXPECT_TRUE(fs::is_empty(root_.path())) << "a tool makes no database";
  EXPECT_EQ(granary(std::string(GetParam()) + " /nonexistent/db").exit_code, 3);
}

TEST_P(EveryTool, RefusesADatabaseThatIsOpen) {
  auto database = Database::open(options()).value();
  const Ran ran = run(GetParam());
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_NE(ran.err.find("another process has this database open"), std::string::npos) << ran.err;
}

TEST_P(EveryTool, HasHelp) {
  const Ran ran = granary(std::string(GetParam()) + " --help");
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_NE(ran.out.find("Examples:"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Cli, EveryTool,
                         testing::Values("log stat", "log dump", "log verify", "checkpoint verify", "recover",
                                         "recover --dry-run"));

}  // namespace
}  // namespace granary::cli
