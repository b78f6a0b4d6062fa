// The table of providers: each enumerator has a row, by which a cluster file may name it. That each has an opener is in
// tests/node/opener_test.cc.

#include "cluster_config/provider.h"

#include <fstream>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cluster_config/load.h"
#include "tests/support/temporary_directory.h"

namespace granary::cluster_config {
namespace {

std::string file_of(const ProviderTraits& row, bool with_needs, const std::string& nodes) {
  std::string text = fmt::format("[cluster]\nname = \"a\"\nrun_directory = \"run\"\nprovider = \"{}\"\n", row.name);
  if (with_needs && row.needs_key) text += "key_file = \"key\"\n";
  text += "[membership]\nkind = \"zookeeper\"\nservers = [\"z:1\"]\n[clock]\nkind = \"none\"\n";
  return text + nodes;
}

struct Examined {
  ClusterConfig config;
  std::string problems;  ///< all of them
};

Examined examined(const std::string& text) {
  const tests::TemporaryDirectory directory;
  const std::string path = directory / "c.toml";
  std::ofstream(path, std::ios::binary) << text;
  Problems problems(path);
  Examined found{.config = examine(path, problems).value(), .problems = {}};
  for (const std::string& line : problems.lines()) found.problems += line + "\n";
  return found;
}

TEST(Providers, EachEnumeratorHasItsRow) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i <= static_cast<std::size_t>(Provider::kLast); ++i) {
    const auto provider = static_cast<Provider>(i);
    EXPECT_EQ(traits(provider).provider, provider);
    EXPECT_EQ(find_provider(name(provider)), &traits(provider));
    EXPECT_TRUE(names.insert(name(provider)).second) << name(provider);
  }
  EXPECT_EQ(names.size(), kProviders.size());
  EXPECT_EQ(find_provider("tcp"), nullptr);
  EXPECT_EQ(find_provider(""), nullptr);
}

TEST(Providers, AFileMayNameEach) {
  for (const ProviderTraits& row : kProviders) {
    const Examined found = examined(file_of(row, true, "[[node]]\nid = 1\naddress = \"10.0.0.1\"\n"));
    EXPECT_EQ(found.problems, "");
    EXPECT_EQ(found.config.provider, row.provider);
  }
}

TEST(Providers, WhatARowNeedsIsAskedFor) {
  for (const ProviderTraits& row : kProviders) {
    const std::string problems = examined(file_of(row, false, "[[node]]\nid = 1\n")).problems;
    EXPECT_EQ(problems.find("has no key_file") != std::string::npos, row.needs_key) << row.name << ": " << problems;
    EXPECT_EQ(problems.find("has no address") != std::string::npos, row.addresses) << row.name << ": " << problems;
  }
}

TEST(Providers, OnlySomeReachOtherHosts) {
  const std::string nodes =
      "[[node]]\nid = 1\nhost = \"a\"\naddress = \"10.0.0.1\"\n[[node]]\nid = 2\nhost = \"b\"\naddress = "
      "\"10.0.0.2\"\n";
  for (const ProviderTraits& row : kProviders) {
    const std::string problems = examined(file_of(row, true, nodes)).problems;
    const bool refused = problems.find("serves one host; use provider \"verbs\"") != std::string::npos;
    EXPECT_EQ(refused, row.one_host) << row.name << ": " << problems;
    EXPECT_EQ(problems.empty(), !row.one_host) << row.name << ": " << problems;
  }
}

}  // namespace
}  // namespace granary::cluster_config
