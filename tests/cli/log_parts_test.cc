// `granary log` and `granary recover` on a log that has parts of values, and on one that lacks what was written.

#include <filesystem>
#include <string>

#include <granary/granary.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recovery/manifest.h"
#include "tests/cli/command_line.h"
#include "tests/support/temporary_directory.h"

namespace granary::cli {
namespace {

using testing::HasSubstr;

class LogParts : public testing::Test {
 protected:
  explicit LogParts(Options options = {}) {
    options.directory = root_ / "db";
    options.reliable_directory = root_ / "rings";
    options.memory_limit_bytes = std::uint64_t{64} << 20;
    options.checkpoint_interval_s = 0;
    const auto database = Database::open(options).value();
    const Table rows = database->create_table("rows").value();
    Worker worker = database->register_worker().value();
    EXPECT_TRUE(worker.run([&](Transaction& t) { EXPECT_EQ(t.put(rows, "k", "0123456789"), Outcome::kOk); }));
    EXPECT_TRUE(worker.run([&](Transaction& t) { EXPECT_EQ(t.update_part(rows, "k", 4, "abc"), Outcome::kOk); }));
    worker = Worker();
    EXPECT_TRUE(database->close().ok());
  }
  Ran run(const std::string& command, const std::string& flags = "") const {
    return granary(command + " " + (root_ / "db") + " " + flags);
  }

  tests::TemporaryDirectory root_;
};

TEST_F(LogParts, AreShownByTheirPlace) {
  EXPECT_THAT(run("log dump").out, HasSubstr("put rows key 1 B part 3 B at 4 of 10 B"));
  EXPECT_THAT(run("log dump", "--values").out, HasSubstr("put rows key \"k\" part \"abc\" at 4 of 10 B"));
}

TEST_F(LogParts, AreAskedForFromALesserEpoch) {
  const Ran ran = run("log dump", "--from_epoch=9 --to_epoch=3");
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_EQ(ran.err, "granary: --from_epoch=9 is greater than --to_epoch=3; expected no more than that\n");
}

TEST_F(LogParts, AreWholeToWhoeverLooks) {
  for (const char* command : {"log verify", "log stat", "recover"}) {
    const Ran ran = run(command, std::string(command) == "recover" ? "--dry-run" : "");
    EXPECT_EQ(ran.exit_code, 0) << command << ": " << ran.err;
  }
  EXPECT_EQ(run("recover").exit_code, 0);
}

TEST_F(LogParts, AreMissedWithTheirSegment) {
  const std::string segment = root_ / "db/log-g00000001-l00-s00000000.glog";
  ASSERT_TRUE(std::filesystem::remove(segment));
  const Ran ran = run("log dump");
  EXPECT_EQ(ran.exit_code, 4) << ran.err;
  EXPECT_EQ(ran.out, segment + " 0 DAMAGED: the file is missing\n");
}

/// The manifest does not know a table that every transaction writes to. One line says so, however many these are.
TEST_F(LogParts, OfATableThatIsNotKnownAreCounted) {
  Options options;
  options.directory = root_ / "db";
  options.reliable_directory = root_ / "rings";
  {
    const auto database = Database::open(options).value();
    const Table rows = database->table("rows").value();
    Worker worker = database->register_worker().value();
    for (int i = 0; i < 1000; ++i)
      EXPECT_TRUE(worker.run([&](Transaction& t) { EXPECT_EQ(t.put(rows, "k", "0123456789"), Outcome::kOk); }));
  }
  auto manifest = recovery::read_manifest(base::system_files(), options.directory).value();
  manifest.tables.pop_back();
  ASSERT_TRUE(recovery::write_manifest(base::system_files(), options.directory, manifest).ok());
  for (const auto& [command, flags] : {std::pair("log verify", ""), std::pair("recover", "--dry-run")}) {
    const Ran ran = run(command, flags);
    EXPECT_EQ(ran.exit_code, 4);
    const std::string cause = "a write to table 0, which the manifest does not know (and 1001 more transactions";
    EXPECT_THAT(ran.out, HasSubstr(cause));
    EXPECT_EQ(ran.out.find("DAMAGED: "), ran.out.rfind("DAMAGED: ")) << "one line";
  }
}

class LackingLog : public LogParts {
 protected:
  LackingLog() : LogParts({.small_log_records = true}) {}
};

/// It is one damage, however many transactions there are.
TEST_F(LackingLog, IsDamagedToWhoeverLooks) {
  const std::string cause = ": a transaction without what it wrote";
  const Ran verified = run("log verify");
  EXPECT_EQ(verified.exit_code, 4);
  EXPECT_THAT(verified.out, HasSubstr(cause));
  EXPECT_EQ(verified.out.find(cause), verified.out.rfind(cause)) << verified.out;
  for (const char* flags : {"--dry-run", ""}) {
    const Ran recovered = run("recover", flags);
    EXPECT_EQ(recovered.exit_code, 4) << recovered.out;
    EXPECT_THAT(recovered.out + recovered.err, HasSubstr(cause));
  }
}

}  // namespace
}  // namespace granary::cli
