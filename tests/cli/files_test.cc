// Each file that a database has, when it is missing, from an earlier time, of another database, of a copy that went on
// by itself, truncated, or has a flipped bit: what opening, `log verify`, `recover --dry-run` and salvage make of it.
// The table below is that of docs/testing.md. Either all that was acknowledged is there, or whoever looks is told by
// name what is wrong. Not here: several such files at once; every bit of a file (tests/recovery); copies as a whole
// (copies_test.cc).

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>

#include <gmock/gmock.h>
#include <granary/granary.h>
#include <gtest/gtest.h>

#include "src/log/format.h"
#include "tests/cli/file_cells.h"

namespace granary::cli {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

/// The table; the documentation has the same lines.
constexpr std::pair<const char*, Cells> kFiles[] = {
    {"`MANIFEST`", {kFatal, kFatal, kFatal, kFatal, kFatal, kFatal}},
    {"first segment, running generation", {kRefused, kRefused, kRefused, kRefused, kRefused, kRefused}},
    {"middle segment, running generation", {kRefused, kRefused, kRefused, kRefused, kRefused, kRefused}},
    {"last segment, running generation", {kRefused, kRefused, kRefused, kRefused, kRefused, kRefused}},
    {"first segment, generation that is over", {kRefused, kRefused, kRefused, kRefused, kRefused, kRefused}},
    {"last, empty segment of it", {kRefused, kSame, kRefused, kRefused, kRefused, kRefused}},
    {"part of the checkpoint", {kFatal, kFatal, kFatal, kFatal, kFatal, kFatal}},
    {"ring (its header)", {kDurable, kMemory, kRefused, kRefused, kRefused, kRefused}},
    {"ring (a length in an entry)", {kNone, kNone, kNone, kNone, kNone, kRefused}},
    {"ring (a value in an entry)", {kNone, kNone, kNone, kNone, kNone, kMemory}},
    {"`OWNER` of a log directory", {kWhole, kSame, kFatal, kFatal, kFatal, kFatal}},
    {"`OWNER` of the rings", {kWhole, kSame, kFatal, kFatal, kFatal, kFatal}},
    {"`LOCK`, of each directory", {kWhole, kSame, kSame, kSame, kNone, kNone}},
};

/// What a database may find and does not need.
constexpr std::pair<const char*, Cells> kNeedless[] = {
    {"`.new`: replacing a file was cut short", {kNone, kWhole, kWhole, kWhole, kWhole, kWhole}},
    {"`spare-...`: set aside for a segment", {kNone, kWhole, kWhole, kWhole, kWhole, kWhole}},
    {"part of a checkpoint that the manifest does not name", {kNone, kWhole, kWhole, kWhole, kWhole, kWhole}},
};

class Files : public FileCells {
 protected:
  static void SetUpTestSuite() { histories_ = std::make_unique<Histories>(); }
  static void TearDownTestSuite() { histories_.reset(); }

  const FileStates& states() const override { return *histories_; }
  Answer open(bool salvage) const override {
    Options options = home().options();
    options.salvage = salvage;
    return open_alone(options);
  }
  /// The only segment names with these numbers.
  static std::string segment(int generation, int sequence) {
    return "logs/" +
           fs::path("log-g0000000" + std::to_string(generation) + "-l00-s0000000" + std::to_string(sequence) + ".glog")
               .string();
  }
  static std::string checkpoint_in(const Image& image) {
    for (const auto& [name, bytes] : image) {
      if (name.ends_with("part-0000.gckpt")) return name;
    }
    return "no checkpoint";
  }

  /// The rows of the table above that are not about memory.
  static std::vector<Subject> subjects_on_disk(const Histories& all);
  std::vector<Subject> subjects() const;
  std::vector<Subject> needless() const;

  static std::unique_ptr<Histories> histories_;
};

std::unique_ptr<Histories> Files::histories_;

std::vector<Subject> Files::subjects_on_disk(const Histories& all) {
  const std::string part = checkpoint_in(all.whole);
  const auto of_log = [&](int generation, int sequence, const Image& older) {
    const std::string file = segment(generation, sequence);
    const std::size_t end = all.whole.at(file).find_last_not_of('\0');
    return Subject{file, file, &older, {}, {20, 34, 64 + 9, end / 2, end}};
  };
  return {
      {"db/MANIFEST", "MANIFEST|the manifest", &all.second_life, {}, {5, 200}},
      of_log(3, 0, all.moments[0]),
      of_log(3, 1, all.moments[1]),
      of_log(3, 2, all.moments[2]),
      of_log(2, 0, all.ends[0]),
      of_log(2, 1, all.ends[1]),
      {part, "part-0000.gckpt", &all.first_life, checkpoint_in(all.first_life), {20, 42, 100, 4095}},
      {"logs/OWNER", "'" + all.home.logs(), &all.second_life, {}, {3, 60}},
  };
}

/// In the order of the table.
std::vector<Subject> Files::subjects() const {
  const Histories& all = *histories_;
  const std::string owner_of_rings = fs::path(home().path("rings/OWNER")).parent_path();
  // The entry of the last row, which is in no log.
  const std::string last = "row " + std::to_string(1000 + Rows::kAll - 1);
  const bool in_first = all.whole.at("rings/ring-0000").find(last) != std::string::npos;
  const std::string ring = in_first ? "rings/ring-0000" : "rings/ring-0001";
  const std::size_t key = all.whole.at(ring).rfind(last);
  const std::vector<Subject> in_memory = {
      {"rings/ring-0000", "ring-0000|log rings are", &all.moments[2], {}, {8, 20, 40, 60}},
      {ring, ring.substr(6), nullptr, {}, {key - 8}},
      {ring, ring.substr(6), nullptr, {}, {key + 100}},
      {"rings/OWNER", owner_of_rings, &all.moments[0], {}, {3, 60}},
      {"db/LOCK",
       "LOCK",
       &all.moments[0],
       {},
       {},
       {},
       {{"db/LOCK", "db/LOCK"}, {"logs/LOCK", "logs/LOCK"}, {"rings/LOCK", "rings/LOCK"}}},
  };
  std::vector<Subject> subjects = subjects_on_disk(all);
  subjects.insert(subjects.end() - 1, in_memory.begin(), in_memory.begin() + 3);
  subjects.insert(subjects.end(), in_memory.begin() + 3, in_memory.end());
  return subjects;
}

std::vector<Subject> Files::needless() const {
  const Histories& all = *histories_;
  const std::string last = segment(3, 2), part = checkpoint_in(all.whole);
  const auto beside = [&](const std::vector<std::pair<std::string, std::string>>& copies) {
    return Subject{last, "", &all.moments[2], {}, {20}, {100}, copies};
  };
  std::vector<std::pair<std::string, std::string>> unfinished;
  for (const std::string& file : {std::string("db/MANIFEST"), std::string("logs/OWNER"), last,
                                  std::string("rings/OWNER"), std::string("rings/ring-0000")})
    unfinished.emplace_back(file, file + ".new");
  return {beside(unfinished), beside({{last, "logs/spare-l00-00000007.glog"}}),
          beside({{part, "db/checkpoint-0000000000000001/part-0000.gckpt"}})};
}

TEST_F(Files, WholeOnesHoldAllThatWasAcknowledged) {
  home().restore(histories_->whole);
  for (const char* const words : {"log verify", "checkpoint verify", "recover --dry-run"})
    EXPECT_EQ(tool(words).code, 0) << words;
  const Answer opened = open(/*salvage=*/false);
  EXPECT_EQ(opened.code, 0) << opened.words;
  EXPECT_EQ(opened.rows, Rows::kAll);
}

/// The database has ended in order here. Only then does `granary backup` have anything to copy: it refuses one that
/// died.
class FilesAtRest : public Files {
 protected:
  static void SetUpTestSuite() { histories_ = std::make_unique<Histories>(LastLife::kEndsInOrder); }
};

TEST_F(FilesAtRest, WholeOnesAreBackedUp) {
  home().restore(histories_->whole);
  const Answer made = tool("backup --to=" + histories_->path("copied"));
  EXPECT_EQ(made.code, 0) << made.words;
}

TEST_F(FilesAtRest, EachCellOfTheTableThatIsOnDisk) {
  std::vector<std::pair<const char*, Cells>> rows(std::begin(kFiles), std::begin(kFiles) + 7);
  rows.push_back(kFiles[10]);
  check_table(rows, subjects_on_disk(*histories_));
}

/// The parts fit together then, and only the manifest tells that they are not its own.
TEST_F(FilesAtRest, AWholeCheckpointOfACopyIsRefused) {
  Image changed = histories_->whole;
  for (auto& [name, bytes] : changed) {
    if (name.ends_with(".gckpt")) bytes = histories_->copy.at(name);
  }
  ASSERT_FALSE(changed == histories_->whole);
  check_changed({"part.gckpt", "part-0000.gckpt"}, kFatal, changed, /*with_tools=*/true);
}

TEST_F(Files, EachCellOfTheTable) { check_table(kFiles, subjects()); }

TEST_F(Files, WhatNobodyNeedsDoesNoHarm) { check_table(kNeedless, needless()); }

/// All rings of a process that died, or their whole directory: memory that was lost without a restart.
TEST_F(Files, RingsThatAreAllGoneAreMissed) {
  for (const bool owner_stays : {true, false}) {
    Image changed = histories_->whole;
    std::erase_if(changed, [&](const auto& file) {
      return file.first.starts_with("rings/ring-") || (!owner_stays && file.first.starts_with("rings/"));
    });
    check_changed({"rings/", ""}, kDurable, changed, /*with_tools=*/true);
  }
}

/// An entry whose TID is not greater than the one before was not written by the worker (I1).
TEST_F(Files, TheTidsInARingAscend) {
  const Subject row = subjects()[8];
  Image changed = histories_->whole;
  const std::size_t tid = row.flips.front() - offsetof(log::WriteHeader, key_bytes) - sizeof(std::uint64_t);
  std::fill_n(changed.at(row.file).begin() + static_cast<std::ptrdiff_t>(tid) + 1, 7, '\0');  // not what it is
  check_changed(row, kRefused, changed, /*with_tools=*/true);
  home().restore(changed);
  EXPECT_THAT(open(/*salvage=*/false).words, HasSubstr("its TID is not greater than the one before"));
}

/// Something else in the place of a LOCK is refused by everybody who would lock it, and at once: nobody waits for the
/// other end of a pipe.
TEST_F(Files, ALockThatIsNoFileIsRefused) {
  const auto make_pipe = [](const std::string& path) { ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0); };
  const auto make_directory = [](const std::string& path) { fs::create_directory(path); };
  const auto link_to_nothing = [](const std::string& path) { fs::create_symlink("nothing", path); };
  const auto link_to_device = [](const std::string& path) { fs::create_symlink("/dev/null", path); };
  const std::function<void(const std::string&)> kinds[] = {make_pipe, make_directory, link_to_nothing, link_to_device};
  for (const char* const name : {"db/LOCK", "logs/LOCK", "rings/LOCK"}) {
    for (const auto& make : kinds) {
      home().restore(histories_->whole);
      const std::string lock = home().path(name);
      fs::remove(lock);
      make(lock);
      const auto expect_refused = [&](const std::string& who, const Answer& answer) {
        EXPECT_EQ(answer.code, 3) << who << ", " << name << ": " << answer.words;
        EXPECT_THAT(answer.words, HasSubstr("'" + lock + "' is to be the lock")) << who;
      };
      for (const char* const words : {"log verify", "recover --dry-run", "recover"}) expect_refused(words, tool(words));
      expect_refused("opening", open(/*salvage=*/false));
      if (name == std::string("db/LOCK")) expect_refused("checkpoint verify", tool("checkpoint verify"));
    }
  }
  home().restore(histories_->whole);
}

TEST_F(Files, ADamagedRingSaysHowToGoOn) {
  Image changed = histories_->whole;
  changed.at("rings/ring-0000").clear();
  home().restore(changed);
  EXPECT_THAT(open(/*salvage=*/false).words,
              testing::AllOf(HasSubstr("ring-0000' is no log ring of this database: it has 0 bytes"),
                             HasSubstr("open with --salvage (Options::salvage)")));
  EXPECT_THAT(open(/*salvage=*/true).words, testing::Not(HasSubstr("--salvage")));
  home().restore(histories_->whole);
}

TEST_F(Files, TheTablesAreDocumented) {
  check_documented(kFiles);
  check_documented(kNeedless);
}

}  // namespace
}  // namespace granary::cli
