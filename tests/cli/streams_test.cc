// Standard streams that cannot be written, signals that end other programs, and little stack. Not here: nodes
// (cluster_test.cc).

#include <filesystem>
#include <fstream>

#include "tests/cli/command_line.h"

namespace granary::cli {
namespace {

/// The exit code of a shell's script; `$granary` is the command.
int run_script(const std::string& script) {
  const int status = std::system(("granary=" GRANARY_COMMAND "; " + script).c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

constexpr const char* kRun = "bench ycsb --keys=1000 --seconds=0.1 --warmup=0 --repeat=1 ";

class Output : public testing::Test {
 protected:
  /// What was said on standard error, of a script that directs it to `$err`.
  std::string said() {
    std::string text = contents(err_);
    std::remove(err_.c_str());
    return text;
  }
  const std::string err_ = scratch(".said");
  const std::string to_err_ = "err=" + err_ + "; ";
};

TEST_F(Output, OfAFullDiskIsNoSuccess) {
  for (const std::string command : {"help", "--version", "bench tpcc --help", "help log", kRun}) {
    EXPECT_EQ(run_script(to_err_ + "$granary " + command + " >/dev/full 2>$err"), 3) << command;
    EXPECT_NE(said().find("standard output could not be written"), std::string::npos) << command;
  }
  EXPECT_EQ(run_script("$granary bnech >/dev/full 2>/dev/null"), 2) << "what went wrong first counts";
}

/// The list is longer than the stream's buffer, so that the printing itself fails.
TEST_F(Output, OfAListThatAFullDiskCutsIsNoSuccess) {
  const std::string directory = scratch(".rings");
  run_script("for i in $(seq 100); do mkdir -p $(printf " + directory + "/granary-%032x $i); done");
  for (const std::string flags : {"", "--json "}) {
    EXPECT_EQ(run_script(to_err_ + "$granary rings " + flags + "--directory=" + directory + " >/dev/full 2>$err"), 3);
    EXPECT_NE(said().find("standard output could not be written"), std::string::npos) << flags;
  }
  std::filesystem::remove_all(directory);
}

/// The list is flushed before anything is removed, and nobody reads what is said of each removal.
TEST_F(Output, ThatNobodyReadsKeepsNoOrphan) {
  const std::string directory = scratch(".rings");
  run_script("for i in 1 2 3; do mkdir -m 700 -p $(printf " + directory + "/granary-%032x $i); done");
  EXPECT_EQ(run_script("$granary rings --remove_orphans --directory=" + directory + " >/dev/null 2>/dev/full"), 0);
  EXPECT_TRUE(std::filesystem::is_empty(directory));
  std::filesystem::remove_all(directory);
}

/// Nobody answers, which is shown again and again until the output fails. Before, it went on for ever.
TEST_F(Output, OfTopEndsWithItsReader) {
  const std::string file = scratch(".toml");
  std::ofstream(file) << "[cluster]\nname = \"top\"\nrun_directory = \"run\"\n[[node]]\nid = 1\n"
                         "http = \"127.0.0.1:1\"\n";
  const std::string top = "timeout -s KILL 20 $granary top --interval=0.1 --cluster=" + file;
  for (const std::string flags : {"", " --json"}) {
    EXPECT_EQ(run_script(to_err_ + top + flags + " >/dev/full 2>$err"), 3);
    EXPECT_NE(said().find("standard output could not be written"), std::string::npos) << flags;
  }
  const std::string code = scratch(".code");
  run_script("{ " + top + " 2>/dev/null; echo $? >" + code + "; } | head -1 >/dev/null");
  EXPECT_EQ(contents(code), "3\n");
  std::remove(code.c_str());
  std::remove(file.c_str());
}

TEST_F(Output, ThatIsClosedIsRefusedAtOnce) {
  for (const std::string command : {"help", kRun}) {
    EXPECT_EQ(run_script(to_err_ + "$granary " + command + " >&- 2>$err"), 3) << command;
    EXPECT_EQ(said(),
              "granary: standard output is closed, so nothing could be reported; direct it to a file, or to "
              "/dev/null\n");
  }
}

/// The command begins once its reader has gone, which the shell notices when it writes.
TEST_F(Output, WhoseReaderHasGoneIsNoSuccess) {
  const std::string code = scratch(".code");
  run_script("{ while (printf x) 2>/dev/null; do sleep 0.01; done; $granary help 2>/dev/null; echo $? >" + code +
             "; } | true");
  EXPECT_EQ(contents(code), "3\n");
  std::remove(code.c_str());
}

/// Nobody reads what it says meanwhile; the report is there all the same.
TEST_F(Output, OfErrorsMayBeLost) {
  for (const char* where : {"2>/dev/full", "2>&-", "2>&- <&-"})
    EXPECT_EQ(run_script(std::string("$granary ") + kRun + "--durability=tmpfs >/dev/null " + where), 0) << where;
}

/// Threads' stacks are as small as the limit says, so what is large has to be elsewhere.
TEST(Stack, MayBeSmall) {
  for (const std::string command : {"tpcc --warehouses=1", "smallbank --accounts=1000"}) {
    EXPECT_EQ(run_script("ulimit -s 256; $granary bench " + command +
                         " --seconds=0.1 --warmup=0 --repeat=1 --noprogress >/dev/null"),
              0)
        << command;
  }
}

}  // namespace
}  // namespace granary::cli
