// Flag tables, sizes and variants. Parsing of command lines is tested through the program itself, in tests/cli.

#include "bench/harness/flags.h"

#include <gtest/gtest.h>

#include "bench/harness/command.h"
#include "bench/harness/variant.h"
#include "src/base/byte_size.h"

namespace granary::bench {
namespace {

TEST(Flags, SizesHaveUnits) {
  std::uint64_t bytes = 0;
  EXPECT_TRUE(base::parse_bytes("4096", bytes));
  EXPECT_EQ(bytes, 4096u);
  EXPECT_TRUE(base::parse_bytes("8GiB", bytes));
  EXPECT_EQ(bytes, std::uint64_t{8} << 30);
  EXPECT_TRUE(base::parse_bytes("1TiB", bytes));
  EXPECT_EQ(bytes, std::uint64_t{1} << 40);
  EXPECT_TRUE(base::parse_bytes("512MiB", bytes));
  EXPECT_EQ(bytes, std::uint64_t{512} << 20);
  for (const char* wrong : {"", "GiB", "8Gb", "-1", "8 GiB", "99999999999GiB", "99999999TiB", "1.5GiB"})
    EXPECT_FALSE(base::parse_bytes(wrong, bytes)) << wrong;
}

TEST(Flags, SayWhatTheyAllow) {
  EXPECT_EQ(allowed_values(integer_flag("workers", 2, 1, 256, "threads", "")), "1 to 256");
  EXPECT_EQ(allowed_values(choice_flag("mix", "silo", {"silo", "a"}, "")), "silo, a");
  EXPECT_EQ(allowed_values(bytes_flag("memory", "0", 0, std::uint64_t{1} << 30, "")), "0 to 1GiB");
}

Result<Protocol> protocol(std::vector<Protocol> of_command, const std::string& cluster, const std::string& text) {
  FlagValues flags;
  flags.set("cluster", {.kind = FlagKind::kText, .text = cluster});
  flags.set("protocol", {.kind = FlagKind::kChoice, .given = !text.empty(), .text = text.empty() ? "silo" : text});
  return protocol_from({.name = "bank", .protocols = std::move(of_command)}, flags);
}

TEST(Protocols, AreThoseOfTheCommand) {
  EXPECT_EQ(protocol({Protocol::kOcc}, "", "").value(), Protocol::kOcc);
  EXPECT_EQ(protocol({Protocol::kOcc, Protocol::kLease2pl}, "c.toml", "lease_2pl").value(), Protocol::kLease2pl);
  const auto refused = protocol({Protocol::kOcc}, "c.toml", "lease_2pl");
  EXPECT_EQ(refused.status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(refused.status().message(),
            "--protocol=lease_2pl: bank cannot run it; expected one of silo, tictoc, drtm, occ");
}

TEST(Protocols, AreForOtherNodes) {
  EXPECT_EQ(protocol({Protocol::kOcc, Protocol::kLease2pl}, "", "lease_2pl").status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(protocol({Protocol::kOcc}, "", "tictoc").value(), Protocol::kOcc) << "which is the database's";
  EXPECT_EQ(protocol({Protocol::kOcc}, "c.toml", "tictoc").value(), Protocol::kOcc) << "the databases' as well";
  EXPECT_EQ(protocol({Protocol::kOcc}, "c.toml", "no_wait").status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(protocol_from({.name = "kv"}, FlagValues()).value(), Protocol::kOcc);
}

TEST(Variants, CombineAndApply) {
  const auto variants = parse_variants("no-snapshots,no-gc", VariantSet::engine());
  ASSERT_TRUE(variants.ok());
  Options options;
  apply(*variants, options);
  EXPECT_FALSE(options.snapshots);
  EXPECT_FALSE(options.garbage_collection);
  EXPECT_TRUE(options.overwrite_in_place);
}

TEST(Variants, EveryNameParses) {
  for (const Variant variant : VariantSet::all().list()) {
    const auto parsed = parse_variants(name(variant), VariantSet::all());
    ASSERT_TRUE(parsed.ok()) << name(variant);
    EXPECT_TRUE(parsed->has(variant));
  }
}

TEST(Variants, RefuseWhatMakesNoSense) {
  EXPECT_FALSE(parse_variants("no-such-thing", VariantSet::all()).ok());
  EXPECT_FALSE(parse_variants("split", VariantSet::engine()).ok()) << "not for this workload";
  EXPECT_FALSE(parse_variants("key-value,global-tid", VariantSet::all()).ok()) << "no TIDs in the bare index";
  EXPECT_TRUE(parse_variants("", VariantSet::engine())->empty());
}

}  // namespace
}  // namespace granary::bench
