// A device that gives back other bytes than were written: opening says so, naming the file, or was not touched by it.
// It never serves anything else than what committed.
//
// Not covered: damage to the last marker of the running generation, which looks as if it had never been synced.

#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recovery/manifest.h"
#include "src/base/file.h"
#include "tests/durability/crash_rig.h"
#include "tests/support/manual_database.h"
#include "tests/support/ring_directory.h"
#include "tests/support/scale.h"
#include "tests/support/seeds.h"
#include "tests/support/temporary_directory.h"

namespace granary::tests {
namespace {

using testing::AllOf;
using testing::HasSubstr;

using Damage = std::function<void(base::Random& random, std::string& bytes)>;

/// Damages a file of a recovered database whose name contains `kind`; true if opening noticed.
bool damaged_is_noticed(std::uint64_t seed, const std::string& kind, const Damage& damage) {
  CrashRig rig(seed);
  EXPECT_TRUE(rig.open().ok());
  rig.act(400);
  rig.crash(CrashRig::Crash::kPowerLoss);
  EXPECT_TRUE(rig.open().ok());  // now it is settled what must be there
  rig.crash(CrashRig::Crash::kPowerLoss);
  rig.look_ahead();
  std::vector<std::string> paths = rig.files().paths();
  std::erase_if(paths, [&](const std::string& path) {
    return path.find(kind) == std::string::npos || rig.files().contents(path).empty();
  });
  if (paths.empty()) return false;
  const std::string path = paths[rig.random().below(paths.size())];
  rig.files().edit(path, [&](std::string& bytes) { damage(rig.random(), bytes); });
  const Status opened = rig.open();
  if (opened.ok()) {
    EXPECT_EQ(rig.verify(), "") << "after damage to " << path;
    return false;
  }
  EXPECT_EQ(opened.code(), StatusCode::kDamaged);
  EXPECT_THAT(opened.message(), HasSubstr(path.substr(path.rfind('/') + 1)));
  return true;
}

void see_damage(const std::string& kind, const Damage& damage, std::uint64_t rounds) {
  std::uint64_t noticed = 0;
  for (const std::uint64_t seed : tests::seeds(rounds)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    noticed += damaged_is_noticed(seed, kind, damage) ? 1 : 0;
    if (testing::Test::HasFailure()) return;
  }
  if (all_seeds()) {
    EXPECT_GT(noticed, rounds / 10);
  }
}

void flip_a_bit(base::Random& random, std::string& bytes) {
  bytes[random.below(bytes.size())] ^= static_cast<char>(1u << random.below(8));
}

void zero_a_sector(base::Random& random, std::string& bytes) {
  const std::size_t sector = random.below(bytes.size()) / 512 * 512;
  for (std::size_t i = sector; i < sector + 512 && i < bytes.size(); ++i) bytes[i] = '\0';
}

/// Takes one of the log segments away from a database whose power failed; true if opening noticed.
bool missing_is_noticed(std::uint64_t seed) {
  CrashRig rig(seed);
  EXPECT_TRUE(rig.open().ok());
  rig.act(3000);
  rig.crash(CrashRig::Crash::kPowerLoss);
  rig.look_ahead();
  std::vector<std::string> segments = rig.files().paths();
  std::erase_if(segments, [](const std::string& path) { return path.find("/log-g") == std::string::npos; });
  const std::string path = segments[rig.random().below(segments.size())];
  EXPECT_TRUE(rig.files().remove(path).ok());
  const Status opened = rig.open();
  if (opened.ok()) {
    EXPECT_EQ(rig.verify(), "") << "without " << path;
    return false;
  }
  EXPECT_EQ(opened.code(), StatusCode::kDamaged);
  EXPECT_THAT(opened.message(), HasSubstr(path.substr(path.rfind('/') + 1)));
  return true;
}

/// Whichever it is: the first of those that a checkpoint has left, the last, the only one of a logger.
TEST(Damage, AMissingSegment) {
  std::uint64_t noticed = 0;
  const std::uint64_t rounds = sampled(150);
  for (std::uint64_t seed = 1; seed <= rounds && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    noticed += missing_is_noticed(seed) ? 1 : 0;
  }
  EXPECT_GT(noticed, rounds / 2);
}

constexpr const char* kFormerLogs = "log-g00000001";

TEST(Damage, AFlippedBitOfALog) { see_damage(kFormerLogs, flip_a_bit, scaled(120)); }
TEST(Damage, AZeroedSectorOfALog) { see_damage(kFormerLogs, zero_a_sector, scaled(60)); }
TEST(Damage, AFlippedBitOfACheckpoint) { see_damage(".gckpt", flip_a_bit, scaled(60)); }
TEST(Damage, AFlippedBitOfTheManifest) { see_damage("MANIFEST", flip_a_bit, scaled(60)); }

/// Options::small_log_records: nothing is lost without a word where there is nothing to recover.
TEST(Damage, ALogThatLacksWhatWasWritten) {
  const TemporaryDirectory directory;
  const RingDirectory rings;
  Options options = manual_options();
  options.directory = directory.path() + "/db";
  options.reliable_directory = rings.path();
  options.small_log_records = true;
  {
    ManualDatabase database(1, options);
    database.put(database.table("t"), "key", "value");
  }
  options.small_log_records = false;
  const Status opened = Database::open(options).status();
  EXPECT_EQ(opened.code(), StatusCode::kDamaged);
  EXPECT_THAT(opened.message(), AllOf(HasSubstr("log-g00000001"), HasSubstr("small_log_records")));
}

/// The copy is of the first opening, which had not come to its end. The log is not thrown away for it.
TEST(Damage, AManifestOfBeforeTheFirstGeneration) {
  const TemporaryDirectory directory;
  RingDirectory rings;
  Options options = manual_options();
  options.directory = directory.path() + "/db";
  options.reliable_directory = rings.path();
  {
    auto database = Database::open(options).value();
    const Table table = database->create_table("t").value();
    const auto write = [&](Transaction& t) { EXPECT_EQ(t.put(table, "key", "value"), Outcome::kOk); };
    ASSERT_TRUE(database->register_worker().value().run(write));
    ASSERT_TRUE(database->close().ok());
  }
  base::FileSystem& files = base::system_files();
  const recovery::Manifest newest = recovery::read_manifest(files, options.directory).value();
  recovery::Manifest former = newest;
  former.generations.clear();
  ASSERT_TRUE(recovery::write_manifest(files, options.directory, former).ok());
  for (const bool salvage : {false, true}) {
    options.salvage = salvage;
    const auto opened = Database::open(options);
    EXPECT_EQ(opened.status().code(), StatusCode::kDamaged);
    EXPECT_THAT(opened.status().message(), HasSubstr("generation 1, which the manifest does not know"));
  }
  options.salvage = false;
  ASSERT_TRUE(recovery::write_manifest(files, options.directory, newest).ok());
  const auto reopened = Database::open(options);
  ASSERT_TRUE(reopened.ok()) << reopened.status().message();
  Worker worker = (*reopened)->register_worker().value();
  Transaction t = worker.begin();
  EXPECT_EQ(scan_text(t, (*reopened)->table("t").value()), "key=value ");
}

}  // namespace
}  // namespace granary::tests
