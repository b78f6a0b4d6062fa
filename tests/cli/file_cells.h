#pragma once
// The tables of docs/testing.md that say what becomes of a database when one of its files is missing or wrong: the
// words of their cells, the states of their columns, and the check of a cell. A row is a file, and the test that has
// the row says how to open.

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <granary/status.h>
#include <gtest/gtest.h>

#include "tests/cli/file_histories.h"

namespace granary::cli {

/// What a cell says; docs/testing.md has the legend.
inline constexpr std::string_view kRefused = "refused", kFatal = "fatal", kTaken = "taken", kForeign = "foreign",
                                  kWhole = "whole", kDurable = "durable", kMemory = "memory", kSame = "same",
                                  kNone = "-";

enum Column { kMissing, kOlder, kOther, kCopy, kTruncated, kFlipped, kColumns };

using Cells = std::array<std::string_view, kColumns>;
using CellTable = std::span<const std::pair<const char*, Cells>>;

/// The file of a row.
struct Subject {
  std::string file;   ///< in an image
  std::string named;  ///< a regular expression of what the messages name
  const Image* older = nullptr;
  std::string older_file = {};          ///< its name then, if another
  std::vector<std::size_t> flips = {};  ///< offsets
  std::vector<std::size_t> cuts = {};   ///< offsets; none: in the middle of the content
  /// The files that are brought into the column's state, and as which: beside them if the names differ. None: `file`
  /// alone.
  std::vector<std::pair<std::string, std::string>> changes = {};
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
int code_of(const Status& status);

class FileCells : public testing::Test {
 protected:
  virtual const FileStates& states() const = 0;
  virtual Answer open(bool salvage) const = 0;

  const Home& home() const { return states().home; }
  Answer tool(const std::string& words) const;
  /// Opens a database that is no node's by the library, and returns what that says.
  static Answer open_alone(const Options& options);
  /// Each cell of the table, whose rows are about these subjects.
  void check_table(CellTable table, std::vector<Subject> subjects) const;
  /// How everybody answers to `changed`. `with_tools`: also the tools, which cost a process each.
  void check_changed(const Subject& subject, std::string_view expected, const Image& changed, bool with_tools) const;
  /// The documentation has the same table.
  static void check_documented(CellTable table);

 private:
  void check(const Row& row, Column column) const;
  /// The files as the column says; none if they are gone. `place` is the offset of a bit or of a cut.
  void change(const Row& row, Column column, std::size_t place, Image& image) const;
  void check_salvage(const Subject& subject, std::string_view expected, const Answer& opened) const;
  /// `granary backup` refuses, or the backup holds all that the database does. Returns what it said.
  Answer check_backup() const;
};

}  // namespace granary::cli
