// Each file that a database has, when it is missing, from an earlier time, of another database, of a copy that went on by itself,
// truncated, or has a flipped bit: what opening, `log verify`, `recover --dry-run` and salvage make of it. The table below is that of
// docs/testing.md. Either all that was acknowledged is there, or whoever looks is told by name what is wrong.
// Not here: several such files at once; every bit of a file (tests/recovery); copies as a whole (copies_test.cc).

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include <gmock/gmock.h>
#include <granary/granary.h>
#include <gtest/gtest.h>

#include "src/log/format.h"
#include "tests/cli/command_line.h"
#include "tests/cli/file_histories.h"

namespace granary::cli {
namespace {

namespace fs = std::filesystem;
using testing::AnyOf;
using testing::ContainsRegex;
using testing::HasSubstr;

/// What a cell says; docs/testing.md has the legend.
constexpr std::string_view kRefused = "refused", kFatal = "fatal", kWhole = "whole", kDurable = "durable",
                           kMemory = "memory", kSame = "same", kNone = "-";

enum Column { kMissing, kOlder, kOther, kCopy, kTruncated, kFlipped, kColumns };
constexpr std::array<const char*, kColumns> kColumnNames = {"missing", "older",     "other",
                                                            "copy",    "truncated", "flipped"};

using Cells = std::array<std::string_view, kColumns>;

/// The table; the documentation has the same lines.
constexpr std::pair<const char*, Cells> kTable[] = {
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
    {"`LOCK`", {kWhole, kSame, kSame, kSame, kNone, kNone}},
};

/// The file of a row.
struct Subject {
  std::string file;   ///< in an image
  std::string named;  ///< a regular expression of what the messages name
  const Image* older = nullptr;
  std::string older_file = {};          ///< its name then, if another
  std::vector<std::size_t> flips = {};  ///< offsets
};

struct Row : Subject {
  const char* name;
  Cells cells;
};

/// What somebody who looked at the database says, and ends with.
struct Answer {
  int code = 0;
  std::string words;
  int rows = 0;  ///< of those that opened it
};

/// The exit code that a tool would end with (docs/operations.md).
int code_of(const Status& status) {
  constexpr int kDamagedData = 4, kEnvironment = 3;
  if (status.ok()) return 0;
  return status.code() == StatusCode::kDamaged ? kDamagedData : kEnvironment;
}

class Files : public testing::Test {
 protected:
  static void SetUpTestSuite() { histories_ = std::make_unique<Histories>(); }
  static void TearDownTestSuite() { histories_.reset(); }

  static const Home& home() { return histories_->home; }
  static Answer open(bool salvage) {
    Options options = home().options();
    options.salvage = salvage;
    auto database = Database::open(options);
    if (!database.ok()) return {code_of(database.status()), database.status().message(), 0};
    std::string notes;
    for (const std::string& note : (*database)->recovery_report().notes) notes += note + "\n";
    return {0, notes, count_rows(**database)};
  }
  static Answer tool(const std::string& words) {
    const Ran ran = granary(words + " " + home().directory());
    return {ran.exit_code, ran.out + ran.err, 0};
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

  static std::vector<Subject> subjects();
  static std::vector<Row> rows();
  /// The file as the column says; none if it is gone. False if the cell means nothing.
  static bool change(const Row& row, Column column, std::size_t flip, Image& image);
  static void check(const Row& row, Column column);
  static void check_changed(const Row& row, std::string_view expected, const Image& changed, bool with_tools);

  static std::unique_ptr<Histories> histories_;
};

std::unique_ptr<Histories> Files::histories_;

/// In the order of the table.
std::vector<Subject> Files::subjects() {
  const Histories& all = *histories_;
  const std::string part = checkpoint_in(all.whole);
  const auto of_log = [&](int generation, int sequence, const Image& older) {
    const std::string file = segment(generation, sequence);
    const std::size_t end = all.whole.at(file).find_last_not_of('\0');
    return Subject{file, file, &older, {}, {20, 34, 64 + 9, end / 2, end}};
  };
  const std::string owner_of_rings = fs::path(home().path("rings/OWNER")).parent_path();
  // The entry of the last row, which is in no log.
  const std::string last = "row " + std::to_string(1000 + Rows::kAll - 1);
  const bool in_first = all.whole.at("rings/ring-0000").find(last) != std::string::npos;
  const std::string ring = in_first ? "rings/ring-0000" : "rings/ring-0001";
  const std::size_t key = all.whole.at(ring).rfind(last);
  return {
      {"db/MANIFEST", "MANIFEST|the manifest", &all.second_life, {}, {5, 200}},
      of_log(3, 0, all.moments[0]),
      of_log(3, 1, all.moments[1]),
      of_log(3, 2, all.moments[2]),
      of_log(2, 0, all.ends[0]),
      of_log(2, 1, all.ends[1]),
      {part, "part-0000.gckpt", &all.first_life, checkpoint_in(all.first_life), {20, 42, 100, 4095}},
      {"rings/ring-0000", "ring-0000|log rings are", &all.moments[2], {}, {8, 20, 40, 60}},
      {ring, ring.substr(6), nullptr, {}, {key - 8}},
      {ring, ring.substr(6), nullptr, {}, {key + 100}},
      {"logs/OWNER", "'" + home().logs(), &all.second_life, {}, {3, 60}},
      {"rings/OWNER", owner_of_rings, &all.moments[0], {}, {3, 60}},
      {"db/LOCK", "LOCK", &all.first_life},
  };
}

std::vector<Row> Files::rows() {
  std::vector<Row> rows;
  for (Subject& subject : subjects()) {
    const auto& [name, cells] = kTable[rows.size()];
    rows.push_back({std::move(subject), name, cells});
  }
  return rows;
}

bool Files::change(const Row& row, Column column, std::size_t flip, Image& image) {
  const auto from = [&](const Image& source, const std::string& name) {
    const auto found = source.find(name);
    EXPECT_NE(found, source.end()) << name;
    if (found != source.end()) image[row.file] = found->second;
    return found != source.end();
  };
  std::string& bytes = image.at(row.file);
  switch (column) {
    case kMissing: return image.erase(row.file) == 1;
    case kOlder: return from(*row.older, row.older_file.empty() ? row.file : row.older_file);
    case kOther: return from(histories_->other, row.file);
    case kCopy: return from(histories_->copy, row.file);
    case kTruncated: bytes.resize((bytes.find_last_not_of('\0') + 1) / 2); return true;
    case kFlipped: bytes[flip] = static_cast<char>(bytes[flip] ^ 0x10); return true;
    case kColumns: break;
  }
  return false;
}

void Files::check_changed(const Row& row, std::string_view expected, const Image& changed, bool with_tools) {
  home().restore(changed);
  std::vector<Answer> answers;
  if (with_tools) {
    answers = {tool("log verify"), tool("recover --dry-run")};
    if (row.file.ends_with(".gckpt")) answers.push_back(tool("checkpoint verify"));
  }
  EXPECT_TRUE(home().image() == changed) << "looking changes nothing";
  answers.push_back(open(/*salvage=*/false));
  const bool refuses = expected == kRefused || expected == kFatal;
  for (const Answer& answer : answers) {
    EXPECT_EQ(answer.code != 0, refuses) << answer.words;
    EXPECT_EQ(answer.code, answers.back().code) << answer.words << "\nopening says: " << answers.back().words;
    if (refuses) {
      EXPECT_THAT(answer.words, ContainsRegex(row.named));
    }
    if (expected == kDurable) {
      EXPECT_THAT(answer.words, HasSubstr("recovered to the durable epoch only"));
    }
  }
  const int rows = answers.back().rows;
  if (expected == kWhole) {
    EXPECT_EQ(rows, Rows::kAll);
  }
  if (expected == kDurable) {
    EXPECT_EQ(rows, Rows::kLogged);
  }
  if (expected == kMemory) {
    EXPECT_GE(rows, Rows::kLogged);
  }
  home().restore(changed);
  const Answer salvaged = open(/*salvage=*/true);
  EXPECT_EQ(salvaged.code != 0, expected == kFatal) << salvaged.words;
  if (refuses) {
    EXPECT_THAT(salvaged.words, ContainsRegex(row.named));
  }
  if (expected == kRefused) {
    EXPECT_THAT(salvaged.words, HasSubstr("LOST"));
  }
  if (!refuses) {
    EXPECT_EQ(salvaged.rows, rows);
  }
}

void Files::check(const Row& row, Column column) {
  const std::string_view expected = row.cells[column];
  if (expected == kNone) return;
  const std::vector<std::size_t> flips = column == kFlipped ? row.flips : std::vector<std::size_t>{0};
  for (const std::size_t flip : flips) {
    SCOPED_TRACE(std::string(row.name) + ", " + kColumnNames[column] + ", offset " + std::to_string(flip));
    Image changed = histories_->whole;
    if (!change(row, column, flip, changed)) continue;
    EXPECT_EQ(changed == histories_->whole, expected == kSame);
    if (expected != kSame) check_changed(row, expected, changed, /*with_tools=*/flip == flips.front());
  }
}

TEST_F(Files, WholeOnesHoldAllThatWasAcknowledged) {
  home().restore(histories_->whole);
  for (const char* const words : {"log verify", "checkpoint verify", "recover --dry-run"})
    EXPECT_EQ(tool(words).code, 0) << words;
  const Answer opened = open(/*salvage=*/false);
  EXPECT_EQ(opened.code, 0) << opened.words;
  EXPECT_EQ(opened.rows, Rows::kAll);
}

TEST_F(Files, EachCellOfTheTable) {
  for (const Row& row : rows()) {
    for (int column = 0; column < kColumns; ++column) check(row, static_cast<Column>(column));
  }
}

/// All rings of a process that died, or their whole directory: memory that was lost without a restart.
TEST_F(Files, RingsThatAreAllGoneAreMissed) {
  for (const bool owner_stays : {true, false}) {
    Image changed = histories_->whole;
    std::erase_if(changed, [&](const auto& file) {
      return file.first.starts_with("rings/ring-") || (!owner_stays && file.first.starts_with("rings/"));
    });
    check_changed({{"rings/", ""}, "rings", {}}, kDurable, changed,
                  /*with_tools=*/true);
  }
}

/// An entry whose TID is not greater than the one before was not written by the worker (I1).
TEST_F(Files, TheTidsInARingAscend) {
  const Row row = rows()[8];
  Image changed = histories_->whole;
  const std::size_t tid = row.flips.front() - offsetof(log::WriteHeader, key_bytes) - sizeof(std::uint64_t);
  std::fill_n(changed.at(row.file).begin() + static_cast<std::ptrdiff_t>(tid) + 1, 7, '\0');  // not what it is
  check_changed(row, kRefused, changed, /*with_tools=*/true);
  home().restore(changed);
  EXPECT_THAT(open(/*salvage=*/false).words, HasSubstr("its TID is not greater than the one before"));
}

/// The documentation has the same table.
TEST_F(Files, TheTableIsDocumented) {
  const std::string document = contents(std::string(DOCUMENTS) + "/testing.md");
  for (const auto& [name, cells] : kTable) {
    std::string line = std::string("| ") + name + " |";
    for (const std::string_view cell : cells) line += " " + std::string(cell) + " |";
    EXPECT_THAT(document, HasSubstr(line + "\n"));
  }
}

}  // namespace
}  // namespace granary::cli
