#include "tests/cli/file_cells.h"

#include <filesystem>

#include <gmock/gmock.h>

#include "tests/cli/command_line.h"

namespace granary::cli {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

constexpr std::array<const char*, kColumns> kColumnNames = {"missing", "older",     "other",
                                                            "copy",    "truncated", "flipped"};

/// The middle of its content.
std::size_t middle_of(const std::string& bytes) { return (bytes.find_last_not_of('\0') + 1) / 2; }

}  // namespace

int code_of(const Status& status) {
  constexpr int kDamagedData = 4, kEnvironment = 3;
  if (status.ok()) return 0;
  return status.code() == StatusCode::kDamaged ? kDamagedData : kEnvironment;
}

Answer FileCells::tool(const std::string& words) const {
  const Ran ran = granary(words + " " + home().directory());
  return {ran.exit_code, ran.out + ran.err, 0};
}

Answer FileCells::open_alone(const Options& options) {
  auto database = Database::open(options);
  if (!database.ok()) return {code_of(database.status()), database.status().message(), 0};
  std::string notes;
  for (const std::string& note : (*database)->recovery_report().notes) notes += note + "\n";
  return {0, notes, count_rows(**database)};
}

Answer FileCells::check_backup() const {
  const std::string to = states().path("backup");
  std::filesystem::remove_all(to);
  const Answer made = tool("backup --to=" + to);
  if (made.code != 0) {
    EXPECT_FALSE(std::filesystem::exists(to)) << made.words;
    return made;
  }
  Options options = home().options();
  options.directory = to;
  options.log_directories.clear();
  const Answer opened = open_alone(options);
  EXPECT_EQ(opened.code, 0) << "backup said: " << made.words << "\nopening the backup says: " << opened.words;
  EXPECT_EQ(opened.rows, Rows::kAll);
  return made;
}

void FileCells::change(const Row& row, Column column, std::size_t place, Image& image) const {
  const FileStates& all = states();
  auto changes = row.changes;
  if (changes.empty()) changes.emplace_back(row.file, row.file);
  for (const auto& [file, changed] : changes) {
    std::string bytes = image.at(file);
    switch (column) {
      case kOlder: bytes = row.older->at(row.older_file.empty() ? file : row.older_file); break;
      case kOther: bytes = all.other.at(file); break;
      case kCopy: bytes = all.copy.at(file); break;
      case kTruncated: bytes.resize(place); break;
      case kFlipped: bytes[place] = static_cast<char>(bytes[place] ^ 0x10); break;
      case kMissing:
      case kColumns: break;
    }
    column == kMissing ? static_cast<void>(image.erase(changed)) : static_cast<void>(image[changed] = bytes);
  }
}

void FileCells::check_changed(const Subject& subject, std::string_view expected, const Image& changed,
                              bool with_tools) const {
  home().restore(changed);
  const bool opening_refuses = expected == kRefused || expected == kFatal || expected == kTaken || expected == kForeign;
  const bool tools_refuse = opening_refuses && expected != kForeign;
  const auto check_answer = [&](const Answer& answer, bool refuses) {
    EXPECT_EQ(answer.code != 0, refuses) << answer.words;
    if (refuses) {
      EXPECT_THAT(answer.words, ContainsRegex(subject.named));
    }
    if (expected == kDurable) {
      EXPECT_THAT(answer.words, HasSubstr("recovered to the durable epoch only"));
    }
  };
  std::vector<Answer> looked;
  if (with_tools) {
    looked = {tool("log verify"), tool("recover --dry-run")};
    if (subject.file.ends_with(".gckpt")) looked.push_back(tool("checkpoint verify"));
  }
  if (with_tools && tools_refuse) {
    const Answer planned = tool("recover --dry-run --salvage");
    EXPECT_EQ(planned.code != 0, expected == kFatal || expected == kForeign) << planned.words;
  }
  if (const Answer backup = check_backup(); tools_refuse) {
    EXPECT_NE(backup.code, 0) << backup.words;
  }
  EXPECT_TRUE(home().image() == changed) << "looking changes nothing";
  const Answer opened = open(/*salvage=*/false);
  check_answer(opened, opening_refuses);
  for (const Answer& answer : looked) {
    check_answer(answer, tools_refuse);
    if (tools_refuse == opening_refuses) {
      EXPECT_EQ(answer.code, opened.code) << answer.words << "\nopening says: " << opened.words;
    }
  }
  if (expected == kWhole) {
    EXPECT_EQ(opened.rows, Rows::kAll);
  }
  if (expected == kDurable) {
    EXPECT_EQ(opened.rows, Rows::kLogged);
  }
  if (expected == kMemory) {
    EXPECT_GE(opened.rows, Rows::kLogged);
  }
  home().restore(changed);
  check_salvage(subject, expected, opened);
}

void FileCells::check_salvage(const Subject& subject, std::string_view expected, const Answer& opened) const {
  const Answer salvaged = open(/*salvage=*/true);
  EXPECT_EQ(salvaged.code != 0, expected == kFatal || expected == kForeign) << salvaged.words;
  if (opened.code != 0 && expected != kTaken) {
    EXPECT_THAT(salvaged.words, ContainsRegex(subject.named));
  }
  if (expected == kRefused) {
    EXPECT_THAT(salvaged.words, HasSubstr("LOST"));
  }
  if (expected == kTaken) {
    EXPECT_EQ(salvaged.rows, Rows::kAll);
  }
  if (opened.code == 0) {
    EXPECT_EQ(salvaged.rows, opened.rows);
  }
}

void FileCells::check(const Row& row, Column column) const {
  const std::string_view expected = row.cells[column];
  if (expected == kNone) return;
  const Image& whole = states().whole;
  std::vector<std::size_t> places{0};
  if (column == kFlipped) places = row.flips;
  if (column == kTruncated) places = row.cuts.empty() ? std::vector{middle_of(whole.at(row.file))} : row.cuts;
  for (const std::size_t place : places) {
    SCOPED_TRACE(std::string(row.name) + ", " + kColumnNames[column] + ", offset " + std::to_string(place));
    Image changed = whole;
    change(row, column, place, changed);
    EXPECT_EQ(changed == whole, expected == kSame);
    if (expected != kSame) check_changed(row, expected, changed, /*with_tools=*/place == places.front());
  }
}

void FileCells::check_table(CellTable table, std::vector<Subject> subjects) const {
  ASSERT_EQ(table.size(), subjects.size());
  for (std::size_t i = 0; i < table.size(); ++i) {
    const auto& [name, cells] = table[i];
    const Row row{std::move(subjects[i]), name, cells};
    for (int column = 0; column < kColumns; ++column) check(row, static_cast<Column>(column));
  }
}

void FileCells::check_documented(CellTable table) {
  const std::string document = contents(std::string(DOCUMENTS) + "/testing.md");
  for (const auto& [name, cells] : table) {
    std::string line = std::string("| ") + name + " |";
    for (const std::string_view cell : cells) line += " " + std::string(cell) + " |";
    EXPECT_NE(document.find(line + "\n"), std::string::npos) << line;
  }
}

}  // namespace granary::cli
