// Garbage that a database has left on its own disk. It goes before an opening asks for room, it is no reason to refuse
// the opening, and an opening that fails adds nothing to it.

#include <algorithm>
#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/log/format.h"
#include "src/log/segment_space.h"
#include "src/base/file.h"
#include "tests/durability/ringed_directory.h"

namespace granary::tests {
namespace {

using testing::HasSubstr;

constexpr const char* kStale = "/db/checkpoint-000000000001";

class OwnGarbage : public RingedDirectory {
 protected:
  Options by_hand() const {
    Options options = RingedDirectory::options();
    options.background = Background::kManual;
    return options;
  }
  /// Makes a database with a row and closes it.
  void make(FaultFiles& files) const {
    const auto opened = open(files, by_hand());
    ASSERT_NE(opened, nullptr);
    const Table table = opened->create_table("t").value();
    Worker worker = opened->register_worker().value();
    ASSERT_TRUE(worker.run([&](Transaction& t) { static_cast<void>(t.put(table, "key", "value")); }));
  }
  static void add(FaultFiles& files, const std::string& path, std::size_t bytes = 1) {
    ASSERT_TRUE(files.make_directory(path.substr(0, path.rfind('/'))).ok());
    ASSERT_TRUE((*files.create(path))->append(std::string(bytes, 'g')).ok());
  }
  static bool has(FaultFiles& files, std::string_view part) {
    const auto paths = files.paths();
    return std::any_of(paths.begin(), paths.end(),
                       [&](const std::string& path) { return path.find(part) != std::string::npos; });
  }
};

TEST_F(OwnGarbage, GoesWhenTheDiskIsFull) {
  for (const std::string& path : {std::string(kStale) + "/part-0000.gckpt", "/db/" + log::spare_name(0, 7),
                                  "/db/" + log::segment_name(1, 0, 1) + std::string(base::kAsideSuffix)}) {
    SCOPED_TRACE(path);
    rings_.empty();
    const auto files = new_files();
    ASSERT_NO_FATAL_FAILURE(make(*files));
    ASSERT_NO_FATAL_FAILURE(add(*files, path, 200'000));
    std::uint64_t used = 0;
    for (const std::string& each : files->paths()) used += files->contents(each).size();
    files->set_capacity(used);
    const auto opened = open(*files, by_hand());
    ASSERT_NE(opened, nullptr);
    EXPECT_EQ(files->contents(path), "");
    EXPECT_EQ(rows(*opened, opened->table("t").value()), "key=value ");
  }
}

/// The process died between a checkpoint's manifest and the sync of its directory: the next one sees a manifest that a
/// power loss may still take back, to one that names the former checkpoint.
TEST_F(OwnGarbage, IsNoCheckpointThatTheManifestOnTheDeviceMayName) {
  const auto files = new_files();
  std::unique_ptr<FaultFiles> died;
  RingDirectory::Contents rings;
  bool renamed = false;
  {
    const auto opened = open(*files, by_hand());
    const Table table = opened->create_table("t").value();
    for (int i = 0; i < 2; ++i) {
      Worker worker = opened->register_worker().value();
      ASSERT_TRUE(worker.run([&](Transaction& t) { static_cast<void>(t.put(table, "key", "value")); }));
      for (int j = 0; j < 20; ++j) ASSERT_TRUE(opened->step());
      if (i == 1) {
        files->set_observer([&](FileCall call, const std::string& path) {
          renamed = renamed || (call == FileCall::kRename && path == "/db/MANIFEST");
          if (!renamed || call != FileCall::kSyncDirectory || died != nullptr) return;
          died = files->process_crash_image();
          rings = rings_.contents();
        });
      }
      ASSERT_TRUE(opened->checkpoint().ok());
    }
    files->set_observer({});
  }
  ASSERT_NE(died, nullptr);
  rings_.replace(rings);
  std::vector<std::unique_ptr<FaultFiles>> left;
  died->set_observer([&](FileCall call, const std::string&) {
    if (call != FileCall::kRemove && call != FileCall::kSyncDirectory) return;
    for (std::uint64_t seed = 0; seed < 16; ++seed) left.push_back(died->power_loss_image(Survives::kRandom, seed));
  });
  ASSERT_NE(open(*died, by_hand()), nullptr);
  died->set_observer({});
  EXPECT_GT(left.size(), 50u);
  for (const auto& each : left) {
    rings_.empty();
    const auto again = open(*each, by_hand());
    ASSERT_NE(again, nullptr);
    EXPECT_EQ(rows(*again, again->table("t").value()), "key=value ");
  }
}

/// The sync behind a checkpoint's manifest failed, and the system does not write that manifest's name any more. Later
/// syncs succeed.
TEST_F(OwnGarbage, IsNoCheckpointThatAFailedSyncHasLeftInForce) {
  const auto files = new_files();
  std::unique_ptr<FaultFiles> died;
  RingDirectory::Contents rings;
  {
    const auto opened = open(*files, by_hand());
    const Table table = opened->create_table("t").value();
    for (const bool fails : {false, true}) {
      Worker worker = opened->register_worker().value();
      ASSERT_TRUE(worker.run([&](Transaction& t) { static_cast<void>(t.put(table, "key", "value")); }));
      for (int i = 0; i < 20; ++i) ASSERT_TRUE(opened->step());
      if (fails) {
        files->set_observer([&](FileCall call, const std::string& path) {
          if (call != FileCall::kRename || path != "/db/MANIFEST") return;
          files->plan({.call = FileCall::kSyncDirectory, .path = "/db", .pages_lost = true});
        });
      }
      EXPECT_EQ(opened->checkpoint().code(), fails ? StatusCode::kIoError : StatusCode::kOk);
    }
    files->set_observer({});
    died = files->process_crash_image();
    rings = rings_.contents();
  }
  rings_.replace(rings);
  std::vector<std::unique_ptr<FaultFiles>> left;
  died->set_observer([&](FileCall call, const std::string&) {
    if (call != FileCall::kRemove && call != FileCall::kSyncDirectory) return;
    for (const Survives survives : {Survives::kSynced, Survives::kAll, Survives::kRandom})
      left.push_back(died->power_loss_image(survives, left.size()));
  });
  ASSERT_NE(open(*died, by_hand()), nullptr);
  died->set_observer({});
  EXPECT_GT(left.size(), 20u);
  for (const auto& each : left) {
    rings_.empty();
    const auto again = open(*each, by_hand());
    ASSERT_NE(again, nullptr);
    EXPECT_EQ(rows(*again, again->table("t").value()), "key=value ");
  }
}

TEST_F(OwnGarbage, ACheckpointsDirectoryWithSomethingElseInItStays) {
  const auto files = new_files();
  ASSERT_NO_FATAL_FAILURE(make(*files));
  ASSERT_NO_FATAL_FAILURE(add(*files, std::string(kStale) + "/part-0000.gckpt"));
  ASSERT_NO_FATAL_FAILURE(add(*files, std::string(kStale) + "/notes"));
  const auto opened = open(*files, by_hand());
  ASSERT_NE(opened, nullptr);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(opened->step());
  const Status taken = opened->checkpoint();
  EXPECT_TRUE(taken.ok()) << taken.message();
  EXPECT_TRUE(has(*files, "/notes"));
  EXPECT_FALSE(has(*files, "000001/part-"));
}

TEST_F(OwnGarbage, ADirectoryThatOnlyBeginsLikeACheckpointStays) {
  const auto files = new_files();
  ASSERT_NO_FATAL_FAILURE(make(*files));
  const std::vector<std::string> others = {std::string(kStale) + ".safe", "/db/checkpoint-1", "/db/checkpoint-"};
  for (const std::string& directory : others) ASSERT_NO_FATAL_FAILURE(add(*files, directory + "/part-0000.gckpt"));
  const auto opened = open(*files, by_hand());
  ASSERT_NE(opened, nullptr);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(opened->step());
  const Status taken = opened->checkpoint();
  EXPECT_TRUE(taken.ok()) << taken.message();
  for (const std::string& directory : others) EXPECT_TRUE(has(*files, directory + "/part-0000.gckpt")) << directory;
}

/// NFS gives a file that somebody has open another name when it is removed.
TEST_F(OwnGarbage, ACheckpointsFileThatSomebodyReadsIsNoReasonToRefuse) {
  const auto files = new_files();
  ASSERT_NO_FATAL_FAILURE(make(*files));
  ASSERT_NO_FATAL_FAILURE(add(*files, std::string(kStale) + "/part-0000.gckpt"));
  files->set_observer([&files](FileCall call, const std::string& path) {
    if (call == FileCall::kRemove && path.ends_with(".gckpt")) files->put(std::string(kStale) + "/.nfs0001", "g");
  });
  EXPECT_NE(open(*files, by_hand()), nullptr);
  EXPECT_TRUE(has(*files, "/.nfs0001"));
}

TEST_F(OwnGarbage, ACheckpointThatCannotBeRemovedIsNoReasonToRefuse) {
  const auto files = new_files();
  ASSERT_NO_FATAL_FAILURE(make(*files));
  ASSERT_NO_FATAL_FAILURE(add(*files, std::string(kStale) + "/part-0000.gckpt"));
  files->plan({.call = FileCall::kRemove, .path = "checkpoint-", .from_then_on = true});
  const auto opened = open(*files, by_hand());
  ASSERT_NE(opened, nullptr);
  EXPECT_THAT(opened->recovery_report().notes, testing::Contains(HasSubstr(kStale)));
}

TEST_F(OwnGarbage, AnOpeningThatFailsLeavesNoSpareSegments) {
  const auto files = new_files();
  ASSERT_NO_FATAL_FAILURE(make(*files));
  Options options = RingedDirectory::options();
  options.log_reserve_bytes = 4 * options.log_segment_bytes;
  for (const FileCall call : {FileCall::kRename, FileCall::kSyncDirectory}) {
    // The manifest is written twice, the first time as it was. Before its second rename is synced, its directory is
    // three times: for the first one, for removals, and for the new segment.
    files->plan({.call = call,
                 .nth = call == FileCall::kRename ? 1U : 3U,
                 .path = call == FileCall::kRename ? "MANIFEST" : "/db"});
    EXPECT_EQ(Database::open(options, *files).status().code(), StatusCode::kIoError);
    EXPECT_FALSE(has(*files, "spare-"));
    files->clear_plan();
  }
  // The manifest of the second attempt was renamed, and names a segment that must be there.
  EXPECT_NE(open(*files, by_hand()), nullptr);
}

}  // namespace
}  // namespace granary::tests
