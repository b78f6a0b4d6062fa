// `granary doctor` as a user runs it. What it makes of hosts and peers is tested in tests/cli/doctor.

#include <chrono>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "tests/cli/cluster_check/port.h"
#include "tests/cli/command_line.h"
#include "tests/support/crash_child.h"
#include "tests/support/temporary_directory.h"

namespace granary::cli {
namespace {

using testing::HasSubstr;

TEST(Doctor, LooksAtThisHost) {
  const Ran table = granary("doctor");
  const bool bad = table.out.find("\n  bad ") != std::string::npos;
  EXPECT_EQ(table.exit_code, bad ? 1 : 0) << table.out << table.err;
  for (const char* subject : {"kernel", "processor", "shared huge pages", "locked memory", "/dev/shm", "swap"})
    EXPECT_THAT(table.out, HasSubstr(subject));
  const Ran as_json = granary("doctor --json");
  const auto json = nlohmann::json::parse(as_json.out);
  EXPECT_EQ(json["ok"], !bad);
  EXPECT_EQ(json["findings"]["host"][0]["check"], "kernel");
  EXPECT_THAT(table.out, HasSubstr(json["findings"]["host"][0]["found"].get<std::string>()));
}

TEST(Doctor, LooksAtWhatTheNodesOfAClusterFileNeed) {
  const tests::TemporaryDirectory directory;
  const std::string path = directory / "c.toml";
  std::ofstream(path) << "[cluster]\nname = \"a\"\nrun_directory = \"run\"\nkey_file = \"key\"\n"
                      << "[[node]]\nid = 1\ndata_directory = \"data\"\n";
  const Ran without_key = granary("doctor --cluster=" + path);
  EXPECT_EQ(without_key.exit_code, 1);
  EXPECT_THAT(without_key.out, HasSubstr("granary cluster key " + directory / "key"));
  EXPECT_EQ(granary("cluster key " + directory / "key").exit_code, 0);
  const auto json = nlohmann::json::parse(granary("doctor --json --id=1 --cluster=" + path).out);
  for (const auto& finding : json["findings"]["cluster"]) EXPECT_NE(finding["verdict"], "bad") << finding;
  EXPECT_EQ(granary("doctor --id=2 --cluster=" + path).exit_code, 2);
  EXPECT_EQ(granary("doctor --cluster=" + directory / "none.toml").exit_code, 2);
}

TEST(Doctor, TwoOfThemMeasureWhatIsBetweenThem) {
  const std::string begin = "listening at port ";
  tests::CrashChild listening({GRANARY_COMMAND, "doctor", "--listen", "--port=0", "--timeout=20", "--once"});
  ASSERT_TRUE(listening.run_until_beginning(begin, std::chrono::seconds(20)));
  const std::string port = std::to_string(std::stoi(listening.lines().front().substr(begin.size())));
  const auto json = nlohmann::json::parse(granary("doctor --json --peer=127.0.0.1:" + port).out);
  for (const auto& finding : json["findings"]["peer"]) EXPECT_NE(finding["verdict"], "bad") << finding;
  EXPECT_EQ(json["findings"]["peer"].size(), 5u);
  EXPECT_EQ(listening.wait().exit_code, 0);
  EXPECT_EQ(listening.lines().back(), "127.0.0.1: 100 echoes");
}

TEST(Doctor, APeerThatIsNoneIsExitCodeOne) {
  const tests::Port nobody(""), mail("220 mail.example.org\r\n");
  for (const std::string& place : {nobody.place(), mail.place()}) {
    const Ran ran = granary("doctor --peer=" + place);
    EXPECT_EQ(ran.exit_code, 1);
    EXPECT_THAT(ran.out, HasSubstr("granary doctor --listen"));
  }
}

TEST(Doctor, AListenerToWhomNobodyComesSaysSo) {
  const Ran ran = granary("doctor --listen --port=0 --timeout=1");
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_THAT(ran.err, HasSubstr("no doctor came to port "));
}

TEST(Doctor, APeerWhoseNameNobodyKnowsHasNoFirewall) {
  const Ran ran = granary("doctor --peer=nohost.invalid");
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_THAT(ran.out, HasSubstr("nohost.invalid: no such host"));
  EXPECT_THAT(ran.out, testing::Not(HasSubstr("firewall")));
}

TEST(Doctor, FlagsThatDoNotGoTogetherAreRefused) {
  for (const char* flags : {"--peer=host:0", "--id=1", "--once", "--port=1", "--listen --json", "--listen --peer=a",
                            "--listen --timeout=0", "word"}) {
    const Ran ran = granary(std::string("doctor ") + flags);
    EXPECT_EQ(ran.exit_code, 2) << flags;
    EXPECT_NE(ran.err, "") << flags;
  }
  const tests::Port taken("anything");
  const Ran ran = granary("doctor --listen --port=" + taken.place().substr(taken.place().find(':') + 1));
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_THAT(ran.err, HasSubstr("Address already in use"));
}

}  // namespace
}  // namespace granary::cli
