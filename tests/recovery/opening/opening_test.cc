// Power fails before any call that an opening makes: the next opening finds the same database. Not covered: crashes of the
// process with rings left, and of transactions.

#include <gtest/gtest.h>

#include <granary/granary.h>

#include "tests/support/fault_files.h"
#include "tests/support/temporary_directory.h"

namespace granary {
namespace {

using tests::FaultFiles;
using tests::Survives;

Options options(const tests::TemporaryDirectory& rings, std::uint32_t loggers) {
  Options options;
  options.directory = "/db";
  options.reliable_directory = rings.path();
  options.loggers = loggers;
  options.background = Background::kManual;
  options.memory_limit_bytes = std::uint64_t{64} << 20;
  options.huge_pages = HugePages::kOff;
  return options;
}

/// Opens, checks that the table holds what was put, and returns what went wrong.
std::string check(FaultFiles& files, std::uint32_t loggers) {
  const tests::TemporaryDirectory rings;
  auto opened = Database::open(options(rings, loggers), files);
  if (!opened.ok()) return opened.status().message();
  const auto table = (*opened)->table("t");
  if (!table.ok()) return table.status().message();
  Worker worker = (*opened)->register_worker().value();
  std::string value;
  (void)worker.run([&](Transaction& transaction) { (void)transaction.get(*table, "key", value); });
  return value == "value" ? "" : "the value is missing";
}

class Opening : public testing::TestWithParam<std::uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Loggers, Opening, testing::Values(1, 2));

TEST_P(Opening, MayFailAtEveryCall) {
  FaultFiles files;
  {
    const tests::TemporaryDirectory rings;
    auto database = Database::open(options(rings, GetParam()), files).value();
    const Table table = database->create_table("t", TableOptions{}).value();
    Worker worker = database->register_worker().value();
    ASSERT_TRUE(
        worker.run([&](Transaction& transaction) { (void)transaction.put(table, "key", "value"); }).committed());
  }
  std::uint64_t images = 0;
  files.set_observer([&](tests::FileCall, const std::string& path) {
    if (HasFailure()) return;
    for (const Survives survives : {Survives::kSynced, Survives::kAll, Survives::kRandom}) {
      EXPECT_EQ(check(*files.power_loss_image(survives, ++images), GetParam()), "")
          << "image " << images << ", before a call for " << path;
    }
  });
  {
    const tests::TemporaryDirectory rings;
    const auto opened = Database::open(options(rings, GetParam()), files);
    EXPECT_TRUE(opened.ok());
    files.set_observer({});
  }
  EXPECT_EQ(check(files, GetParam()), "");
  EXPECT_GT(images, 30u);
}

}  // namespace
}  // namespace granary
