// Words, flags and exit codes of the `granary` command: every mistake gets one clear line and exit code 2.

#include <algorithm>

#include "src/base/build_info.h"
#include "tests/cli/command_line.h"

namespace granary::cli {
namespace {

struct Mistake {
  const char* arguments;
  const char* line;
};

void PrintTo(const Mistake& mistake, std::ostream* out) { *out << "granary " << mistake.arguments; }

class Mistakes : public testing::TestWithParam<Mistake> {};

TEST_P(Mistakes, GetOneLineAndExitCodeTwo) {
  const Ran ran = granary(GetParam().arguments);
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(ran.err, std::string("granary: ") + GetParam().line + "\n");
}

INSTANTIATE_TEST_SUITE_P(Words, Mistakes,
                         testing::Values(Mistake{"", "no command; see 'granary help'"},
                                         Mistake{"bnech", "'bnech': no such command; did you mean bench?"},
                                         Mistake{"bench ycbs", "'ycbs': no such benchmark; did you mean ycsb?"},
                                         Mistake{"help benhc", "'benhc': no such topic; did you mean bench?"},
                                         Mistake{"help option", "'option': no such topic; did you mean options?"},
                                         Mistake{"help bench ycsb now", "help: 'now' is one word too many"},
                                         Mistake{"--version now", "--version: 'now' is one word too many"},
                                         Mistake{"bench ycsb fast",
                                                 "'fast': expected a flag; see 'granary bench ycsb --help'"}));

INSTANTIATE_TEST_SUITE_P(
    Tools, Mistakes,
    testing::Values(Mistake{"log", "log: what of it? expected stat, dump, verify"},
                    Mistake{"log sat db", "'sat': no such log command; did you mean stat?"},
                    Mistake{"recovr db", "'recovr': no such command; did you mean recover?"},
                    Mistake{"help recovre", "'recovre': no such topic; did you mean recover?"},
                    Mistake{"help log stat now", "help: 'now' is one word too many"},
                    Mistake{"log stat", "log stat: expected a directory"},
                    Mistake{"log stat one two", "log stat: 'two' is one word too many"},
                    Mistake{"checkpoint verify", "checkpoint verify: expected a directory"},
                    Mistake{"cluster", "cluster: what of it? expected check, key, run, merge"},
                    Mistake{"cluster chekc c.toml", "'chekc': no such cluster command; did you mean check?"},
                    Mistake{"cluster rum tpcc", "'rum': no such cluster command; did you mean run?"},
                    Mistake{"cluster check", "cluster check: expected a file"},
                    Mistake{"help cluster rum", "'rum': no such cluster command; did you mean run?"},
                    Mistake{"help cluster run tcpp", "'tcpp': no such benchmark; did you mean tpcc?"},
                    Mistake{"help cluster run tpcc now", "help: 'now' is one word too many"},
                    Mistake{"cluster check none.toml", "there is no cluster file 'none.toml'"},
                    Mistake{"node", "node: --cluster is missing"},
                    Mistake{"node --cluster=c.toml", "node: --id is missing"},
                    Mistake{"node --cluster=c.toml --id=0", "--id=0: expected 1 to 4095"},
                    Mistake{"node c.toml", "node: 'c.toml' is one word too many"},
                    Mistake{"node --cluster=none.toml --id=1", "there is no cluster file 'none.toml'"},
                    Mistake{"cluster check c.toml --id=4096", "--id=4096: expected 0 to 4095"},
                    Mistake{"recover db --dry_rum", "--dry_rum: 'recover' has no such flag; did you mean --dry_run?"},
                    Mistake{"log dump db --limit=few", "--limit=few: expected a whole number, 0 or more"},
                    Mistake{"log verify db --json",
                            "--json: 'log verify' has no such flag; see 'granary log verify --help'"}));

INSTANTIATE_TEST_SUITE_P(
    Flags, Mistakes,
    testing::Values(
        Mistake{"bench ycsb --worker=2", "--worker: 'bench ycsb' has no such flag; did you mean --workers?"},
        Mistake{"bench ycsb --frobnicate",
                "--frobnicate: 'bench ycsb' has no such flag; see 'granary bench ycsb --help'"},
        Mistake{"bench ycsb --workers=0", "--workers=0: expected 1 to 256"},
        Mistake{"bench ycsb --workers=257", "--workers=257: expected 1 to 256"},
        Mistake{"bench ycsb --workers=-1", "--workers=-1: expected 1 to 256"},
        Mistake{"bench ycsb --workers=two", "--workers=two: expected 1 to 256"},
        Mistake{"bench ycsb --workers=", "--workers: a value is missing; expected 1 to 256"},
        Mistake{"bench ycsb --workers", "--workers: a value is missing; expected 1 to 256"},
        Mistake{"bench ycsb --workers=2 --workers=2", "--workers: given twice"},
        Mistake{"bench ycsb --verify --noverify", "--verify: given twice"},
        Mistake{"bench ycsb --seconds=nan", "--seconds=nan: expected 0.01 to 1000000"},
        Mistake{"bench ycsb --theta=1", "--theta=1: expected 0 to 0.999"},
        Mistake{"bench ycsb --mix=z",
                "--mix=z: expected silo, changes, few_changes, a, b, c, d, e, f, read_only, medium, high"},
        Mistake{"bench ycsb --verify=perhaps", "--verify=perhaps: expected true or false"},
        Mistake{"bench ycsb --memory_limit=8Gb",
                "--memory_limit=8Gb: expected a size such as 512MiB or 8GiB, 0 to 1024TiB"},
        Mistake{"bench ycsb --durability=paper", "--durability=paper: expected none, tmpfs, disk"},
        Mistake{"bench ycsb --loggers=65", "--loggers=65: expected 1 to 64"},
        Mistake{"bench ycsb --ring_bytes=1KiB",
                "--ring_bytes=1KiB: expected a size such as 512MiB or 8GiB, 64KiB to 1GiB"},
        Mistake{"bench ycsb --variant=split",
                "--variant=split: makes no sense for this workload; expected some of key-value, dta, dta-bound, "
                "hekaton, memsilo, global-tid, no-snapshots, no-gc, no-overwrites, simple-allocator, small-records, "
                "compress, tictoc-no-wait, tictoc-preempt, tictoc-history, tictoc-session-order"},
        Mistake{"bench ycsb --variant=no-gc,no-gc", "--variant=no-gc,no-gc: 'no-gc' is named twice"},
        Mistake{"bench ycsb --variant=no-gc,", "--variant=no-gc,: a name is missing beside a comma"},
        Mistake{"bench ycsb --durability=disk --log_dirs=/no/such/place",
                "--log_dirs: '/no/such/place' is no directory"},
        Mistake{"bench ycsb --durability=disk --log_dirs=/tmp,/tmp", "--log_dirs=/tmp,/tmp: '/tmp' is named twice"},
        Mistake{"bench ycsb --durability=disk --directory=", "--directory: a value is missing; expected DIR"},
        Mistake{"bench ycsb --directory=/tmp",
                "--directory=/tmp: it is where --durability=disk puts logs, but --durability is none; expected both or "
                "neither"},
        Mistake{"bench tpcc --durability=tmpfs --log_dirs=/tmp",
                "--log_dirs=/tmp: it is where --durability=disk puts logs, but --durability is tmpfs; expected both or "
                "neither"},
        Mistake{
            "bench recovery --durability=tmpfs --directory=/tmp",
            "--directory=/tmp: it is where --durability=disk puts logs, but --durability is tmpfs; expected both or "
            "neither"},
        Mistake{"bench hash --directory=/tmp", "--directory=/tmp: hash logs nothing; leave it out"},
        Mistake{"bench kv --durability=disk", "--durability=disk: kv logs nothing; leave it out"},
        Mistake{"bench ycsb --variant=key-value --durability=disk",
                "--durability=disk: --variant=key-value has no log; leave one of them out"},
        Mistake{"bench ycsb --json=", "--json: a value is missing; expected FILE"},
        Mistake{"bench ycsb --variant=", "--variant: a value is missing; expected a,b"},
        Mistake{"node --cluster= --id=1", "--cluster: a value is missing; expected FILE"},
        Mistake{"bench ycsb --seed=18446744073709551616",
                "--seed=18446744073709551616: expected a whole number, 0 or more"},
        Mistake{"bench ycsb --workers=2x", "--workers=2x: expected 1 to 256"},
        Mistake{"bench ycsb --workers=+2", "--workers=+2: expected 1 to 256"},
        Mistake{"bench ycsb --workers=0x2", "--workers=0x2: expected 1 to 256"},
        Mistake{"bench ycsb '--workers= 2'", "--workers= 2: expected 1 to 256"},
        Mistake{"bench ycsb --seconds=inf", "--seconds=inf: expected 0.01 to 1000000"},
        Mistake{"bench ycsb --seconds=0x10", "--seconds=0x10: expected 0.01 to 1000000"},
        Mistake{"bench ycsb --seconds=1s", "--seconds=1s: expected 0.01 to 1000000"},
        Mistake{"bench ycsb --seconds=1e400", "--seconds=1e400: expected 0.01 to 1000000"},
        Mistake{"bench ycsb --memory_limit=-1",
                "--memory_limit=-1: expected a size such as 512MiB or 8GiB, 0 to 1024TiB"},
        Mistake{"bench ycsb --memory_limit=99999999999GiB",
                "--memory_limit=99999999999GiB: expected a size such as 512MiB or 8GiB, 0 to 1024TiB"},
        Mistake{
            "bench append --outcomes=released",
            "bench append: --outcomes=released: there is no log to release anything; add --durability=disk or tmpfs"},
        Mistake{"bench append --outcomes=released --durability=tmpfs --release=commit",
                "bench append: --outcomes=released: with --release=commit results are released at commit; leave one of "
                "them out"},
        Mistake{"bench append --serializable", "bench append: --serializable goes with --check"},
        Mistake{"cluster run append --cluster=c.toml --check=h.edn",
                "cluster run append: --check runs nothing on nodes; use it with 'granary bench append'"},
        Mistake{"bench ycsb --variant=key-value,no-gc", "--variant=key-value,no-gc: the two exclude each other"},
        Mistake{"bench ycsb --shares=", "--shares: a value is missing; expected KIND=PERCENT,..."},
        Mistake{"bench ycsb --shares=read=50,update=40",
                "--shares=read=50,update=40: the percentages add up to 90, expected 100"},
        Mistake{"bench kv --shares=read=50,write=50",
                "--shares=read=50,write=50: 'write': expected one of read, update, put, rmw, insert, scan"},
        Mistake{"bench ycsb --shares=read=half",
                "--shares=read=half: 'read=half': expected a percentage of 0 to 100, such as read=50"},
        Mistake{"bench ycsb --shares=read=100 --mix=a", "--shares and --mix exclude each other"},
        Mistake{"bench ycsb --shares=read=95,insert=5 --variant=hekaton",
                "--variant=hekaton: --shares=read=95,insert=5 inserts or scans, which it cannot; use other shares"},
        Mistake{"bench ycsb --shares=read=95,scan=5 --index=hash",
                "--index=hash: --shares=read=95,scan=5 scans, which a hash index cannot; use --index=ordered"},
        Mistake{"bench ycsb --shares=put=100 --scan_length=5",
                "--scan_length: --shares=put=100 does not scan; use a share of scan"},
        Mistake{"bench ycsb --parts",
                "--parts: with --fields=1 and --value_bytes=100 there are no fields of at least 16 bytes in a value"},
        Mistake{"bench ycsb --parts --fields=10 --value_bytes=100",
                "--parts: with --fields=10 and --value_bytes=100 there are no fields of at least 16 bytes in a value"},
        Mistake{"bench kv --parts --fields=2 --mix=f",
                "--parts: only Granary's transactions read and write parts of values"},
        Mistake{"bench ycsb --preset=quick",
                "--preset=quick: expected none, ccbench, ccbench_skewed, dbx1000_medium, dbx1000_high, cicada_uniform, "
                "cicada_reads"},
        Mistake{"bench ycsb --fields=7",
                "--fields=7: a value of 100 bytes is not divided into so many fields of equal size"},
        Mistake{"bench ycsb --mix=high --keys=50",
                "--keys=50: transactions of 16 operations on distinct keys need at least 64"},
        Mistake{"bench ycsb --variant=dta-bound",
                "--variant=dta-bound: it is made of tictoc on one node; add --protocol=tictoc"},
        Mistake{"bench ycsb --variant=dta,dta-bound", "--variant=dta,dta-bound: the two exclude each other"},
        Mistake{"bench ycsb --variant=dta --isolation=snapshot",
                "--isolation=snapshot: with --variant=dta every transaction is serializable; leave the flag out"},
        Mistake{"bench ycsb --variant=dta --mix=e",
                "--variant=dta: mix e inserts or scans, which it cannot; use another mix"},
        Mistake{"bench ycsb --variant=dta --mix=a --multi_get --ops=4",
                "--multi_get: only Granary's transactions read several records in one go"},
        Mistake{"bench ycsb --breakdown --variant=dta", "--breakdown: --variant=dta has no transactions of the engine"},
        Mistake{"bench ycsb --variant=hekaton --mix=d",
                "--variant=hekaton: mix d inserts or scans, which it cannot; use another mix"},
        Mistake{"bench ycsb --timestamps=mutex",
                "--timestamps: only --variant=hekaton takes timestamps from one place; add it, or leave the flag out"},
        Mistake{"bench ycsb --breakdown --variant=key-value",
                "--breakdown: --variant=key-value has no transactions of the engine"},
        Mistake{"bench ycsb --batch=4 --variant=key-value",
                "--batch: --variant=key-value has no transactions of the engine"},
        Mistake{"bench ycsb --batch=4 --breakdown",
                "--batch: the time of transactions that take turns has no parts to tell"},
        Mistake{"bench ycsb --batch=4 --protocol=drtm",
                "--batch: transactions of --protocol=drtm run in hardware regions, which cannot take turns"},
        Mistake{"bench ycsb --multi_get", "--multi_get: a transaction of one operation reads one record; add --ops"},
        Mistake{"bench ycsb --ops=4 --multi_get --variant=key-value",
                "--multi_get: only Granary's transactions read several records in one go"},
        Mistake{"bench ycsb --batch=17", "--batch=17: expected 1 to 16"},
        Mistake{"bench kv --isolation=snapshot",
                "--isolation=snapshot: the bare index has no transactions; leave the flag out"},
        Mistake{"bench ycsb --scan_length=5", "--scan_length: mix silo does not scan; use --mix=e"},
        Mistake{"bench tatp --distributed_percent=5",
                "--distributed_percent: one partition has no others; use --partitions=2 or more"},
        Mistake{"bench tatp --index=hash --variant=partitioned-store",
                "--index=hash: the partitioned store has ordered tables only"},
        Mistake{"bench tatp --variant=split --partitions=1000",
                "--variant=split: 1000 partitions need 5000 tables, at most 4096 are possible"},
        Mistake{"bench tpcc --partitions=1",
                "--partitions: only --variant=partitioned-store and --variant=split have partitions"},
        Mistake{"bench tpcc --variant=split --warehouses=2 --partitions=3",
                "--partitions=3: there are 2 warehouses, and each is in one partition"},
        Mistake{"bench tpcc --index=mixed --variant=partitioned-store",
                "--index=mixed: the partitioned store has ordered tables only; use --index=ordered"},
        Mistake{"bench tpcc --variant=hekaton",
                "--variant=hekaton: runs new-orders and payments only, as in TicToc's evaluation; use "
                "--mix=50,50,0,0,0"},
        Mistake{"bench tpcc --variant=hekaton,split", "--variant=hekaton,split: the two exclude each other"},
        Mistake{"bench ycsb --index=hash --mix=e",
                "--index=hash: mix e scans, which a hash index cannot; use --index=ordered"}));

TEST(Usage, WhatDoesNotFitIntoMemoryIsRefusedBeforeLoading) {
  const Ran ran = granary("bench ycsb --keys=10000000000");
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_NE(ran.err.find("of this size needs about"), std::string::npos) << ran.err;
  EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
  EXPECT_EQ(granary("bench ycsb --keys=1000000 --memory_limit=64MiB").exit_code, 2);
}

/// What was measured is not what was asked for.
TEST(Usage, MemoryThatRunsOutIsTheEnvironmentsFault) {
  const Ran ran = granary(
      "bench ycsb --keys=1000 --mix=d --value_bytes=1000 --workers=1 --seconds=1 --warmup=0 --repeat=1 --noprogress "
      "--memory_limit=18MiB");
  EXPECT_EQ(ran.exit_code, 3) << ran.out << ran.err;
  EXPECT_NE(ran.out.find("RAN OUT"), std::string::npos) << ran.out;
  EXPECT_NE(ran.err.find("were given up for want of memory"), std::string::npos) << ran.err;
}

TEST(Usage, AFileThatCannotBeWrittenIsTheEnvironmentsFault) {
  const Ran ran = granary("bench ycsb --keys=1000 --json=/nonexistent/x.json");
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_EQ(ran.err, "granary: --json=/nonexistent/x.json: cannot write: No such file or directory\n");
}

TEST(Usage, VersionNamesTheCommit) {
  const Ran ran = granary("--version");
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.out, "granary " + base::version_text() + "\n");
}

TEST(Usage, HelpTeaches) {
  const Ran general = granary("help");
  EXPECT_EQ(general.exit_code, 0);
  EXPECT_NE(general.out.find("granary help bench"), std::string::npos);
  for (const char* tool : {"granary log stat DIR", "granary checkpoint verify DIR", "granary recover DIR"})
    EXPECT_NE(general.out.find(tool), std::string::npos) << tool;
  EXPECT_EQ(granary("--help").out, general.out);
  const Ran list = granary("help bench");
  EXPECT_EQ(list.exit_code, 0);
  for (const char* name : {"ycsb", "kv", "tatp", "soak", "factor"})
    EXPECT_NE(list.out.find(name), std::string::npos) << name;
}

TEST(Usage, HelpOfToolsTeaches) {
  const Ran log = granary("help log");
  EXPECT_EQ(log.exit_code, 0);
  for (const char* name : {"stat", "dump", "verify"}) EXPECT_NE(log.out.find(name), std::string::npos) << name;
  EXPECT_EQ(granary("log --help").out, log.out);
  const Ran dump = granary("help log dump");
  EXPECT_NE(dump.out.find("--from_epoch"), std::string::npos) << dump.out;
  EXPECT_EQ(granary("log dump --help").out, dump.out);
  EXPECT_EQ(granary("recover --help").out, granary("help recover").out);
}

TEST(Usage, HelpOfTheClusterNamesAllItsCommands) {
  const Ran cluster = granary("cluster --help");
  EXPECT_EQ(cluster.exit_code, 0);
  for (const char* command : {"check FILE", "key FILE", "run NAME", "merge NAME"})
    EXPECT_NE(cluster.out.find(command), std::string::npos) << command << " missing in\n" << cluster.out;
  EXPECT_EQ(granary("help cluster").out, cluster.out);
  for (const std::string command : {"run", "merge"}) {
    const Ran overview = granary("help cluster " + command);
    EXPECT_EQ(overview.exit_code, 0) << overview.err;
    EXPECT_TRUE(overview.out.starts_with("granary cluster " + command + " NAME --cluster=FILE")) << overview.out;
    EXPECT_EQ(granary("cluster " + command + " --help").out, overview.out);
    EXPECT_EQ(granary("help cluster " + command + " tpcc").out, granary("bench tpcc --help").out);
  }
  EXPECT_EQ(granary("help cluster check").out, granary("cluster check --help").out);
}

/// A benchmark that has no use for --protocol tells why.
TEST(Usage, ABenchmarkWithoutProtocolsSaysWhy) {
  for (const auto& [name, why] : {std::pair{"kv", "accesses the bare index, without transactions"},
                                  {"hash", "it runs no transactions"},
                                  {"fabric", "it runs no transactions"},
                                  {"remote", "it runs no transactions"},
                                  {"predict", "reads reports of runs"},
                                  {"timestamps", "it runs no transactions"},
                                  {"recovery", "writes its log with the default one"}}) {
    for (const char* given : {" --protocol=silo", " --protocol tictoc"}) {
      const Ran refused = granary(std::string("bench ") + name + given);
      EXPECT_EQ(refused.exit_code, 2) << name;
      EXPECT_NE(refused.err.find(std::string("--protocol: 'bench ") + name + "' "), std::string::npos) << refused.err;
      EXPECT_NE(refused.err.find(why), std::string::npos) << refused.err;
    }
  }
}

/// Each with name, range, unit, default and what it is, as the tables of rows have them (src/base/option.h).
TEST(Usage, HelpOfOptionsTellsAll) {
  const Ran protocols = granary("help protocols");
  EXPECT_EQ(protocols.exit_code, 0);
  EXPECT_NE(protocols.out.find("tictoc"), std::string::npos);
  const Ran options = granary("help options");
  EXPECT_EQ(options.exit_code, 0) << options.err;
  for (const char* told :
       {"\n  epoch_ms   1 to 10000 milliseconds; default 40\n      time between epochs\n",
        "\n  ring_bytes   64KiB to 1GiB; default 8MiB\n", "\n  snapshots   true, false; default true\n",
        "\n  directory   a path; in memory only\n", "\n  ways   1 to 64 lines; default 8\n",
        "\n  max_open_epochs   a whole number of epochs, 0 or more; default 10\n",
        "\n  expected_keys   1 to 68719476736 keys; default 65536\n",
        "\n  start_timeout_ms   1 to 86400000 milliseconds; default 60000\n",
        "\n  read_lock   lease, exclusive; default lease\n", "\n  provider   shm, verbs; default shm\n",
        "\n  id   1 to 4095; required\n", "\n  location_cache   1MiB to 1TiB; default 64MiB\n"})
    EXPECT_NE(options.out.find(told), std::string::npos) << told << " missing in\n" << options.out;
}

/// As bench/harness/exit_code.h has them.
TEST(Usage, HelpNamesAllExitCodes) {
  const Ran general = granary("help");
  for (const char* code : {"0 ok", "1 a check", "2 wrong", "3 the machine", "4 damaged", "5 disk", "6 no longer"})
    EXPECT_NE(general.out.find(code), std::string::npos) << code << " missing in\n" << general.out;
}

TEST(Usage, HelpOfACommandListsItsFlagsOnly) {
  const Ran ycsb = granary("bench ycsb --help");
  EXPECT_EQ(ycsb.exit_code, 0);
  EXPECT_EQ(ycsb.err, "");
  EXPECT_NE(ycsb.out.find("--theta=N   0 to 0.999; default 0"), std::string::npos) << ycsb.out;
  EXPECT_NE(ycsb.out.find("--workers=N   1 to 256 threads; default 2"), std::string::npos) << ycsb.out;
  for (const char* told : {"--epoch_ms=N   1 to 10000 milliseconds; default 40\n      Time between epochs.\n",
                           "--memory_limit=SIZE   0 to 1024TiB; default 0\n",
                           "--compress=WORD   none, lz4, zstd; default none\n      Compression of log files.\n",
                           "--checkpoint_interval=N   0 to 1000000 seconds; default 0\n"})
    EXPECT_NE(ycsb.out.find(told), std::string::npos) << told << " missing in\n" << ycsb.out;
  EXPECT_NE(ycsb.out.find("Examples:"), std::string::npos);
  for (const char* told :
       {"\n  --cluster=FILE   default none\n      The cluster file, the same on all hosts. The benchmark",
        "\n  --node=N   0 to 4095; default 0\n", "\n  --seed=N   a whole number, 0 or more; default 1\n",
        "\n  --start_timeout=N   1 to 86400 seconds; default 60\n",
        "\n  --read_lock=WORD   lease, exclusive; default lease\n"})
    EXPECT_NE(ycsb.out.find(told), std::string::npos) << told << " missing in\n" << ycsb.out;
  EXPECT_EQ(ycsb.out.find("queue_length"), std::string::npos) << "a flag of soak";
  EXPECT_EQ(granary("help bench ycsb").out, ycsb.out);
  EXPECT_EQ(granary("help ycsb").out, ycsb.out);
  EXPECT_NE(ycsb.out.find("--fields=10"), std::string::npos) << "what presets stand for";
  EXPECT_EQ(granary("bench soak --help").out.find("--theta"), std::string::npos) << "a flag of ycsb";
}

TEST(Usage, HelpTellsWhatIsInTheJson) {
  for (const char* bench : {"fabric", "remote", "append", "predict", "hash", "recovery"}) {
    const std::string out = granary(std::string("bench ") + bench + " --help").out;
    EXPECT_NE(out.find("as JSON, with few of BenchBase's top-level keys."), std::string::npos) << out;
  }
  for (const char* bench : {"ycsb", "factor"}) {
    const std::string out = granary(std::string("bench ") + bench + " --help").out;
    EXPECT_NE(out.find("as JSON with BenchBase's top-level keys."), std::string::npos) << out;
  }
}

/// They touch all of it before they measure, so a machine that has less would be full.
TEST(Usage, MemoryThatIsNotThereIsRefused) {
  for (const std::string run :
       {"fabric --region=1TiB", "remote --keys=1000000000 --value_bytes=65536", "remote --keys=1 --location_cache=1TiB",
        "smallbank --accounts=1000000000 --partitions=1000"}) {
    const Ran ran = granary("bench " + run, "timeout -s KILL 10");
    EXPECT_EQ(ran.exit_code, 2) << run << ran.err;
    EXPECT_NE(ran.err.find(" of this size needs about "), std::string::npos) << ran.err;
    EXPECT_NE(ran.err.find(" are available\n"), std::string::npos) << ran.err;
  }
}

}  // namespace
}  // namespace granary::cli
