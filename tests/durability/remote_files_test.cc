// What a node reads of another one's directory, and what it does not.

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recovery/manifest.h"
#include "recovery/owner.h"
#include "src/log/format.h"
#include "tests/durability/read_by_messages.h"
#include "tests/support/temporary_directory.h"

namespace granary::tests {
namespace {

class RemoteFiles : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(data_);
    std::filesystem::create_directories(log_);
    recovery::Manifest manifest;
    manifest.log_directories = {log_};
    ASSERT_TRUE(recovery::write_manifest(base::system_files(), data_, manifest).ok());
  }
  static void write(const std::string& path, std::string_view content) { std::ofstream(path) << content; }
  std::string segment(std::uint64_t number) const { return log_ + "/" + log::segment_name(1, 0, number); }

  TemporaryDirectory directory_;
  const std::string data_ = directory_ / "data";
  const std::string log_ = directory_ / "log";
  ReadByMessages node_{2, data_};
  base::FileSystem& files_ = node_.files();
};

TEST_F(RemoteFiles, AFileIsReadWholeOrInParts) {
  std::string content;
  for (int i = 0; i < 100'000; ++i) content += std::to_string(i);
  write(segment(0), content);
  EXPECT_EQ(base::read_file(files_, segment(0)).value(), content);
  EXPECT_GT(node_.questions(), 3u) << "more than a message holds";
  const auto file = files_.open(segment(0)).value();
  EXPECT_EQ(file->size().value(), content.size());
  for (const std::size_t offset :
       {std::size_t{0}, std::size_t{5000}, content.size() - 10, content.size(), content.size() + 9}) {
    std::string part(7000, ' ');
    const std::size_t got = file->read_at(offset, part).value();
    const std::string expected = offset < content.size() ? content.substr(offset, part.size()) : "";
    EXPECT_EQ(part.substr(0, got), expected) << offset;
  }
}

TEST_F(RemoteFiles, TheManifestIsInTheDataDirectoryWhereverThatIs) {
  const auto manifest = recovery::read_manifest(files_, db::RemoteFiles::kDirectory);
  ASSERT_TRUE(manifest.ok()) << manifest.status().message();
  EXPECT_THAT(manifest->log_directories, testing::ElementsAre(log_));
}

TEST_F(RemoteFiles, ListsHoldSegmentsHoweverManyThereAre) {
  constexpr std::uint64_t kSegments = 2500;
  for (std::uint64_t i = 0; i < kSegments; ++i) write(segment(i), "");
  write(log_ + "/notes", "mine");
  const auto names = files_.list(log_);
  ASSERT_TRUE(names.ok()) << names.status().message();
  EXPECT_EQ(names->size(), kSegments);
  EXPECT_TRUE(std::is_sorted(names->begin(), names->end()));
}

TEST_F(RemoteFiles, NothingElseIsShown) {
  write(data_ + "/secret", "key");
  write(data_ + "/" + log::segment_name(1, 0, 0), "of no log directory");
  std::filesystem::create_directories(log_ + "/below");
  write(log_ + "/below/" + log::segment_name(1, 0, 0), "");
  for (const std::string& path :
       {data_ + "/secret", data_ + "/MANIFEST", std::string("./secret"), std::string("./LOCK"), std::string("secret"),
        data_ + "/" + log::segment_name(1, 0, 0), log_ + "/../data/secret",
        log_ + "/../log/" + log::segment_name(1, 0, 0), log_ + "/below/" + log::segment_name(1, 0, 0),
        std::string("/etc/passwd"), std::string()}) {
    const auto file = files_.open(path);
    ASSERT_FALSE(file.ok()) << path;
    EXPECT_THAT(file.status().message(), testing::HasSubstr("node 2: '")) << path;
  }
  for (const std::string& path : {data_, std::string("."), std::string("/"), log_ + "/below"})
    EXPECT_FALSE(files_.list(path).ok()) << path;
}

/// The directory may have been mounted in the place of this node's.
TEST_F(RemoteFiles, ALogDirectoryOfAnotherDatabaseIsNotShown) {
  write(segment(0), "theirs");
  ASSERT_TRUE(
      recovery::write_owner(base::system_files(), {recovery::new_id(), recovery::new_id(), directory_ / "other", log_})
          .ok());
  const std::string told = "'" + log_ + "' belongs to the database in '" + directory_ / "other" + "'";
  EXPECT_THAT(files_.open(segment(0)).status().message(), testing::HasSubstr(told));
  EXPECT_THAT(files_.list(log_).status().message(), testing::HasSubstr(told));
  write(log_ + "/OWNER", "nonsense");
  EXPECT_THAT(files_.list(log_).status().message(), testing::HasSubstr("does not say whose the directory is"));
}

TEST_F(RemoteFiles, WhatIsMissingIsSoForTheReader) {
  EXPECT_EQ(files_.open(segment(7)).status().code(), StatusCode::kNotFound);
  std::filesystem::remove(data_ + "/MANIFEST");
  EXPECT_EQ(recovery::read_manifest(files_, db::RemoteFiles::kDirectory).status().code(), StatusCode::kNotFound);
}

TEST_F(RemoteFiles, NothingIsWritten) {
  write(segment(0), "kept");
  EXPECT_FALSE(files_.create(segment(1)).ok());
  EXPECT_FALSE(files_.remove(segment(0)).ok());
  EXPECT_FALSE(files_.rename(segment(0), segment(1)).ok());
  EXPECT_FALSE(files_.open(segment(0)).value()->append(std::string("more")).ok());
  EXPECT_EQ(base::read_file(files_, segment(0)).value(), "kept");
}

}  // namespace
}  // namespace granary::tests
