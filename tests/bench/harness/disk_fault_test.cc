// A disk that fails under a benchmark: the cause and exit code 5. Does not cover what the database does about it.

#include <granary/granary.h>
#include <gtest/gtest.h>

#include "bench/harness/command.h"
#include "bench/harness/trial.h"
#include "src/base/byte_size.h"
#include "tests/bench/harness/fake_workload.h"
#include "tests/support/fault_files.h"
#include "tests/support/temporary_directory.h"

namespace granary::bench {
namespace {

/// The defaults of all common flags, as the parser would give them.
FlagValues defaults(const BenchCommand& command) {
  FlagValues values;
  for (const Flag& flag : common_flags(command)) {
    FlagValues::Entry entry{.kind = flag.kind, .text = flag.initial};
    if (flag.kind == FlagKind::kSwitch) entry.on = flag.initial == "true";
    if (flag.kind == FlagKind::kInteger) entry.whole = std::stoull(flag.initial);
    if (flag.kind == FlagKind::kReal) entry.real = std::stod(flag.initial);
    if (flag.kind == FlagKind::kBytes) {
      EXPECT_TRUE(base::parse_bytes(flag.initial, entry.whole));
    }
    values.set(flag.name, entry);
  }
  values.set("seconds", {.kind = FlagKind::kReal, .real = 0.1, .text = {}});
  values.set("warmup", {.kind = FlagKind::kReal, .real = 0, .text = {}});
  values.set("repeat", {.kind = FlagKind::kInteger, .whole = 2, .text = {}});
  values.set("progress", {.kind = FlagKind::kSwitch, .on = false, .text = {}});
  return values;
}

class LoggedWorkload final : public Workload {
 public:
  explicit LoggedWorkload(Database& database) : database_(database) {}
  std::string name() const override { return "logged"; }
  std::vector<std::string> transaction_types() const override { return {"even", "odd"}; }
  double scale_factor() const override { return 1; }
  std::uint64_t estimated_bytes() const override { return 0; }
  std::uint64_t load_units() const override { return 0; }
  Status load(unsigned, Progress&) override { return {}; }
  Result<std::unique_ptr<Client>> make_client(std::uint32_t) override {
    return std::unique_ptr<Client>(std::make_unique<FakeClient>());
  }
  StoreFigures figures() const override { return {}; }
  const Database* logged_database() const override { return &database_; }

 private:
  Database& database_;
};

class DiskFault : public testing::Test {
 protected:
  DiskFault() {
    files_.pass_through(root_.path());
    Options options;
    options.directory = "/db";
    options.reliable_directory = root_ / "rings";
    options.memory_limit_bytes = std::uint64_t{64} << 20;
    options.max_workers = 8;
    options.epoch_ms = 2;
    options.checkpoint_interval_s = 0;
    database_ = Database::open(options, files_).value();
    table_ = database_->create_table("t").value();
  }
  ExitCode run() {
    BenchCommand command{.name = "logged"};
    command.make = [this](const Settings&, const FlagValues&) {
      return Result<std::unique_ptr<Workload>>(std::make_unique<LoggedWorkload>(*database_));
    };
    return run_bench(command, defaults(command));
  }
  void write() {
    Worker worker = database_->register_worker().value();
    const RunResult done = worker.run([&](Transaction& t) { static_cast<void>(t.put(table_, "k", "v")); });
    static_cast<void>(database_->wait_released(done.ticket));
  }

  tests::TemporaryDirectory root_;
  tests::FaultFiles files_;
  std::unique_ptr<Database> database_;
  Table table_;
};

TEST_F(DiskFault, AHealthyLogEndsWell) {
  write();
  testing::internal::CaptureStdout();
  EXPECT_EQ(run(), ExitCode::kOk);
  testing::internal::GetCapturedStdout();
}

TEST_F(DiskFault, AFailedLogEndsWithItsCauseOnce) {
  files_.plan({.call = tests::FileCall::kSync, .path = ".glog", .from_then_on = true});
  write();
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  EXPECT_EQ(run(), ExitCode::kDiskFault);
  testing::internal::GetCapturedStdout();
  const std::string cause = database_->log_status().message();
  database_.reset();  // closing fails, too
  const std::string err = testing::internal::GetCapturedStderr();
  const std::size_t at = err.find("granary: " + cause);
  ASSERT_NE(at, std::string::npos) << err;
  EXPECT_EQ(err.find(cause, at + cause.size()), std::string::npos) << err;
}

TEST(ExitCodes, TellWhoseFaultItIs) {
  const auto code = [](StatusCode status) { return exit_code_of(Status(status, "")); };
  EXPECT_EQ(code(StatusCode::kInvalidArgument), ExitCode::kUsage);
  EXPECT_EQ(code(StatusCode::kUnavailable), ExitCode::kEnvironment);
  EXPECT_EQ(code(StatusCode::kNotFound), ExitCode::kEnvironment);
  EXPECT_EQ(code(StatusCode::kDamaged), ExitCode::kDamagedData);
  EXPECT_EQ(code(StatusCode::kIoError), ExitCode::kDiskFault);
  EXPECT_EQ(code(StatusCode::kDiskFull), ExitCode::kDiskFault);
}

}  // namespace
}  // namespace granary::bench
