// What a benchmark's flags are on a cluster. That they are asked for is tested through the program itself, in
// tests/cli.

#include "bench/harness/cluster_flags.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "bench/harness/command.h"
#include "bench/harness/flag_effects.h"
#include "tests/support/temporary_directory.h"

namespace granary::bench {
namespace {

/// The flags of a benchmark that runs on nodes, as nobody gives them, with this cluster file.
FlagValues flags_on(const std::string& cluster) {
  FlagValues flags;
  for (const Flag& flag : common_flags({.name = "bank", .on_nodes = true}))
    flags.set(flag.name, {.kind = flag.kind, .text = flag.initial});
  flags.set("cluster", {.kind = FlagKind::kText, .given = !cluster.empty(), .text = cluster});
  return flags;
}

FlagValues with(FlagValues flags, const std::string& name) {
  EXPECT_TRUE(flags.declared(name)) << name;
  FlagValues::Entry entry = flags.all().find(name)->second;
  entry.given = true;
  flags.set(name, entry);
  return flags;
}

TEST(ClusterFlags, WhatTheFileHasTheSayOfIsRefused) {
  const struct {
    const char* flag;
    const char* says;
  } kCases[] = {{"durability", "'data_directory' in [defaults] or [[node]]"},
                {"directory", "'data_directory' in [defaults] or [[node]]"},
                {"log_dirs", "'log_directories' in [defaults] or [[node]]"},
                {"memory_limit", "'memory' in [defaults] or [[node]]"},
                {"pin", "'cpus' in [defaults] or [[node]]"},
                {"epoch_ms", "'epoch_ms' in [cluster]"},
                {"snapshot_epochs", "'snapshot_epochs' in [cluster]"},
                {"release", "'release' in [cluster]"}};
  for (const auto& [flag, says] : kCases) {
    const Status status = check_cluster_flags(with(flags_on("c.toml"), flag));
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << flag;
    EXPECT_EQ(status.message(), std::string("--") + flag + ": on a cluster its file says so; leave it out, and set " +
                                    says + " of 'c.toml'");
    EXPECT_TRUE(check_cluster_flags(with(flags_on(""), flag)).ok()) << flag;
  }
}

TEST(ClusterFlags, AllOthersAreFollowed) {
  EXPECT_TRUE(check_cluster_flags(flags_on("c.toml")).ok());
  for (const char* flag : {"workers", "seconds", "htm", "huge_pages", "loggers", "checkpoint_interval"})
    EXPECT_TRUE(check_cluster_flags(with(flags_on("c.toml"), flag)).ok()) << flag;
}

TEST(ClusterFlags, DataOfNodesAreCheckedUnlessToldOtherwise) {
  FlagValues alone = flags_on(""), nodes = flags_on("c.toml"), told = with(flags_on("c.toml"), "verify");
  for (FlagValues* flags : {&alone, &nodes, &told}) set_cluster_defaults({}, *flags);
  EXPECT_FALSE(alone.enabled("verify"));
  EXPECT_TRUE(nodes.enabled("verify"));
  EXPECT_FALSE(told.enabled("verify"));
}

TEST(ClusterFlags, NoNodeHasMoreWorkersThanItsFileSaysUnlessToldOtherwise) {
  const tests::TemporaryDirectory directory;
  const std::string file = directory / "c.toml";
  std::ofstream(file) << "[cluster]\nname = \"c\"\nrun_directory = \"run\"\n"
                         "[[node]]\nid = 1\nworkers = 3\n[[node]]\nid = 2\nworkers = 1\n";
  FlagValues nodes = flags_on(file), told = with(flags_on(file), "workers"), wrong = flags_on(file + ".none");
  for (FlagValues* flags : {&nodes, &told, &wrong}) {
    FlagValues::Entry entry = flags->all().find("workers")->second;
    entry.whole = 2;
    flags->set("workers", entry);
    set_cluster_defaults({}, *flags);
  }
  EXPECT_EQ(nodes.integer("workers"), 1u);
  EXPECT_EQ(nodes.all().find("workers")->second.text, "1");
  EXPECT_EQ(told.integer("workers"), 2u);
  EXPECT_EQ(wrong.integer("workers"), 2u);
}

/// Reports have these flags, and tell by them what the nodes had.
TEST(ClusterFlags, EpochsAndDurabilityAreThoseOfTheFile) {
  const tests::TemporaryDirectory directory;
  const std::string file = directory / "c.toml";
  const std::string cluster = "[cluster]\nname = \"c\"\nrun_directory = \"run\"\n";
  std::ofstream(file) << cluster << "epoch_ms = 7\nsnapshot_epochs = 3\nrelease = \"commit\"\n[[node]]\nid = 1\n";
  FlagValues flags = flags_on(file);
  set_cluster_defaults({}, flags);
  EXPECT_EQ(flags.integer("epoch_ms"), 7u);
  EXPECT_EQ(flags.integer("snapshot_epochs"), 3u);
  EXPECT_EQ(flags.text("release"), "commit");
  EXPECT_EQ(flags.text("durability"), "none");
  EXPECT_TRUE(check_cluster_flags(flags).ok()) << "nobody has given them";
  std::ofstream(file) << cluster << "[[node]]\nid = 1\ndata_directory = \"data\"\n";
  set_cluster_defaults({}, flags);
  EXPECT_EQ(flags.text("durability"), "disk");
}

TEST(ClusterFlags, TheIndexIsTheOneThatNodesHaveUnlessToldOtherwise) {
  const BenchCommand command{.name = "bank", .index_on_nodes = "hash"};
  FlagValues nodes = flags_on("c.toml");
  nodes.set("index", {.kind = FlagKind::kChoice, .text = "ordered"});
  FlagValues told = with(nodes, "index"), alone = flags_on("");
  alone.set("index", {.kind = FlagKind::kChoice, .text = "ordered"});
  for (FlagValues* flags : {&nodes, &told, &alone}) set_cluster_defaults(command, *flags);
  EXPECT_EQ(nodes.text("index"), "hash");
  EXPECT_EQ(told.text("index"), "ordered");
  EXPECT_EQ(alone.text("index"), "ordered");
}

/// A run without regions would be refused: settings_from() turns them on.
TEST(ImpliedValues, OfAProtocolInRegionsTellThemUnlessToldOtherwise) {
  FlagValues silo = flags_on(""), drtm = flags_on(""), told = with(flags_on(""), "htm");
  for (FlagValues* flags : {&drtm, &told})
    flags->set("protocol", {.kind = FlagKind::kChoice, .given = true, .text = "drtm"});
  for (FlagValues* flags : {&silo, &drtm, &told}) set_implied_values({.name = "bank"}, *flags);
  EXPECT_EQ(silo.text("htm"), "off");
  EXPECT_EQ(drtm.text("htm"), "auto");
  EXPECT_EQ(told.text("htm"), "off");
}

}  // namespace
}  // namespace granary::bench
