// Bad input to set-up and administration: options, names, indexes, workers, procedures. Each gets a code and a message
// that names what was wrong.

#include <csignal>

#include "tests/support/manual_database.h"

namespace granary::tests {
namespace {

template <typename T>
void expect_error(const Result<T>& result, StatusCode code, std::string_view named) {
  ASSERT_FALSE(result.ok()) << named;
  EXPECT_EQ(result.status().code(), code) << result.status().message();
  EXPECT_NE(result.status().message().find(named), std::string::npos) << result.status().message();
}

TEST(BadOptions, EachIsRefusedByName) {
  const auto open = [](auto&& change) {
    Options options = manual_options();
    change(options);
    return Database::open(options);
  };
  constexpr auto kInvalid = StatusCode::kInvalidArgument;
  // All ranges: tests/base/options_table_test.cc.
  expect_error(open([](Options& o) { o.epoch_ms = 0; }), kInvalid, "Options::epoch_ms is 0; expected 1 to 10000");
  expect_error(open([](Options& o) { o.numa_node = 64; }), kInvalid, "numa_node is 64; expected 0 to 63, or -1 (any)");
  expect_error(open([](Options& o) { o.memory_limit_bytes = std::uint64_t{1} << 50; }), StatusCode::kResourceExhausted,
               "memory_limit_bytes");
  expect_error(open([](Options& o) { o.prefault_bytes = std::uint64_t{1} << 50; }), StatusCode::kResourceExhausted,
               "prefault_bytes");
  expect_error(open([](Options& o) { o.protocol = "two_pl"; }), kInvalid,
               "Options::protocol is 'two_pl'; expected silo or tictoc or no_wait or dl_detect");
  expect_error(open([](Options& o) { o.log_directories = {"/tmp"}; }), kInvalid, "need Options::directory");
  expect_error(open([](Options& o) { o.directory = std::string("/tmp/a\0b", 8); }), kInvalid,
               "Options::directory is '/tmp/a\\0b'; expected a path without NUL bytes");
}

/// The workers would go on to use memory that is gone.
TEST(DatabaseDeathTest, ThatGoesBeforeItsWorkersNamesThem) {
  const auto end_early = [](bool both) {
    Worker one, two;
    const auto database = Database::open(manual_options()).value();
    one = database->register_worker().value();
    two = database->register_worker().value();
    if (!both) one = {};
  };
  EXPECT_EXIT(end_early(true), testing::KilledBySignal(SIGABRT),
              "granary: a Database is destroyed too early: workers 0, 1 are still registered");
  EXPECT_EXIT(end_early(false), testing::KilledBySignal(SIGABRT), "worker 1 is still registered");
}

TEST(Closing, WithWorkersIsRefusedAndDoesNothing) {
  const auto database = Database::open(manual_options()).value();
  const Table table = database->create_table("t").value();
  Worker worker = database->register_worker().value();
  const Status refused = database->close();
  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(refused.message().find("worker 0"), std::string::npos) << refused.message();
  EXPECT_TRUE(worker.run([&](Transaction& t) { EXPECT_EQ(t.put(table, "k", "v"), Outcome::kOk); }).committed());
  worker = {};
  EXPECT_TRUE(database->close().ok());
}

/// Dropping them later touches nothing of the database (AddressSanitizer would tell).
TEST(Handles, ThatHaveEndedMayOutliveTheirDatabase) {
  Transaction committed, aborted;
  Snapshot finished;
  {
    const auto database = Database::open(manual_options()).value();
    const Table table = database->create_table("t").value();
    Worker worker = database->register_worker().value();
    committed = worker.begin();
    EXPECT_EQ(committed.put(table, "k", "v"), Outcome::kOk);
    EXPECT_TRUE(committed.commit().committed());
    aborted = worker.begin();
    aborted.abort();
    finished = worker.snapshot();
    finished.finish();
  }
  EXPECT_FALSE(aborted.open());
  EXPECT_EQ(aborted.aborted(), AbortReason::kUser);
  EXPECT_EQ(finished.epoch(), 0u);
}

TEST(BadOptions, EdgesAreAccepted) {
  for (const std::uint32_t value : {1u, 10000u}) {
    Options options = manual_options();
    options.epoch_ms = value;
    options.snapshot_epochs = value;
    options.max_open_epochs = value;
    options.max_workers = value == 1 ? 1 : kMaxWorkers;
    EXPECT_TRUE(Database::open(options).ok());
  }
}

TEST(BadSchema, Names) {
  ManualDatabase db(1);
  expect_error(db->create_table(""), StatusCode::kInvalidArgument, "name");
  expect_error(db->create_table(std::string(kMaxNameBytes + 1, 'n')), StatusCode::kInvalidArgument, "name");
  EXPECT_TRUE(db->create_table(std::string(kMaxNameBytes, 'n')).ok());
  const Table table = db.table("accounts");
  expect_error(db->create_table("accounts"), StatusCode::kAlreadyExists, "accounts");
  expect_error(db->table("nobody"), StatusCode::kNotFound, "nobody");
  expect_error(db->index("accounts"), StatusCode::kNotFound, "accounts");
  EXPECT_EQ(db->table("accounts")->id(), table.id());
  db.put(table, "k", "v");
  EXPECT_EQ(db.value(*db->table("accounts"), "k"), "v") << "the refused ones changed nothing";
}

TEST(BadSchema, TooManyTables) {
  ManualDatabase db(1);
  for (std::uint32_t i = 0; i < kMaxTables; ++i) ASSERT_TRUE(db->create_table("t" + std::to_string(i)).ok()) << i;
  expect_error(db->create_table("one more"), StatusCode::kResourceExhausted, std::to_string(kMaxTables));
}

TEST(BadSchema, TooLargeAMaximum) {
  ManualDatabase db(1);
  expect_error(db->create_table("t", {.max_value_bytes = kMaxValueBytes + 1}), StatusCode::kInvalidArgument,
               "max_value_bytes");
  EXPECT_TRUE(db->create_table("t", {.max_value_bytes = kMaxValueBytes}).ok()) << "the name is still free";
}

TEST(BadSchema, SharedTables) {
  constexpr auto kInvalid = StatusCode::kInvalidArgument;
  const auto create = [](std::uint32_t max_value_bytes, const Options& options = manual_options()) {
    ManualDatabase db(1, options);
    auto made = db->create_table("t", {.max_value_bytes = max_value_bytes, .shared = true});
    if (!made.ok()) {
      EXPECT_FALSE(db->table("t").ok());
    }
    return made.ok() ? Result<bool>(true) : Result<bool>(made.status());
  };
  expect_error(create(0), kInvalid, "max_value_bytes");
  expect_error(create(kMaxSharedValueBytes + 1), kInvalid, "max_value_bytes");
  EXPECT_TRUE(create(1).ok());
  EXPECT_TRUE(create(kMaxSharedValueBytes).ok());
  Options options = manual_options();
  options.simple_allocator = true;
  expect_error(create(8, options), kInvalid, "simple_allocator");
  options = manual_options();
  options.overwrite_in_place = false;
  expect_error(create(8, options), kInvalid, "overwrite_in_place");
}

TEST(BadSchema, TheGreatestSharedRecordFitsItsBlock) {
  ManualDatabase db(1);
  const Table table = db.table("t", {.max_value_bytes = kMaxSharedValueBytes, .shared = true});
  const std::string key(kMaxKeyBytes, 'k'), value(kMaxSharedValueBytes, 'v');
  db.put(table, key, value);
  EXPECT_EQ(db.value(table, key), value);
}

TEST(BadSchema, HashTables) {
  ManualDatabase db(1);
  const auto create = [&](const TableOptions& options) { return db->create_table("t", options); };
  constexpr auto kInvalid = StatusCode::kInvalidArgument;
  expect_error(create({.index = IndexKind::kHash, .expected_keys = 0}), kInvalid, "expected_keys");
  expect_error(create({.index = IndexKind::kHash, .expected_keys = (std::uint64_t{1} << 36) + 1}), kInvalid,
               "expected_keys");
  expect_error(create({.index = IndexKind::kHash, .expected_keys = 1u << 30}), StatusCode::kResourceExhausted,
               "memory_limit_bytes");
  expect_error(create({.max_value_bytes = kMaxValueBytes + 1, .index = IndexKind::kHash}), kInvalid, "max_value_bytes");
  expect_error(create({.index = static_cast<IndexKind>(7)}), kInvalid, "table 't': index is 7; expected ordered, hash");
  EXPECT_TRUE(create({.index = IndexKind::kHash}).ok()) << "the name is still free";
  expect_error(create({.index = IndexKind::kHash}), StatusCode::kAlreadyExists, "'t'");
}

TEST(BadSchema, Indexes) {
  ManualDatabase db(1), other(1);
  const Table table = db.table("t");
  const IndexOptions good{.parts = {{.offset = 0, .length = 4}}};
  constexpr auto kInvalid = StatusCode::kInvalidArgument;
  expect_error(db->create_index(Table(), "i", good), kInvalid, "'i'");
  expect_error(db->create_index(other.table("foreign"), "i", good), kInvalid, "'i'");
  expect_error(db->create_index(table, "i", {}), kInvalid, "part");
  expect_error(db->create_index(table, "i", {.parts = {{.offset = 0, .length = 0}}}), kInvalid, "length");
  expect_error(
      db->create_index(table, "i", {.parts = {{.offset = 0, .length = 3, .encoding = IndexEncoding::kUnsigned}}}),
      kInvalid, "3");
  expect_error(db->create_index(table, "i", {.parts = {{.offset = 0, .length = 1u << 30}}}), kInvalid, "bytes");
  for (const int wrong : {4, 9, 255}) {
    expect_error(
        db->create_index(table, "i", {.parts = {{.length = 1, .encoding = static_cast<IndexEncoding>(wrong)}}}),
        kInvalid, "'i': IndexPart::encoding is " + std::to_string(wrong));
  }
  expect_error(db->create_index(table, "i", {.parts = {{.source = static_cast<IndexPart::Source>(2), .length = 1}}}),
               kInvalid, "'i': IndexPart::source is 2");
  expect_error(db->create_index(table, "", good), kInvalid, "name");
  expect_error(db->create_index(table, "t", good), StatusCode::kAlreadyExists, "'t'");
  EXPECT_TRUE(db->create_index(table, "i", good).ok());
  expect_error(db->create_index(table, "i", good), StatusCode::kAlreadyExists, "'i'");
  db.put(table, "k", "some value");
  expect_error(db->create_index(table, "late", good), StatusCode::kFailedPrecondition, "late");
  EXPECT_TRUE(db->index("i").ok());
  expect_error(db->table("i"), StatusCode::kNotFound, "'i'");
}

TEST(BadSchema, RecordsShorterThanAnIndexPartReadAsZeros) {
  ManualDatabase db(1);
  const Table table = db.table("t");
  const Index index = db->create_index(table, "i", {.parts = {{.offset = 2, .length = 2}}}).value();
  db.put(table, "short", "x");
  db.put(table, "half", "xyz");
  db.put(table, "empty", "");
  Transaction t = db.begin();
  EXPECT_EQ(scan_text(t, index), "empty= short=x half=xyz ");
  EXPECT_TRUE(t.commit().committed());
}

TEST(BadSchema, MoreWorkersThanAllowed) {
  Options options = manual_options();
  options.max_workers = 2;
  auto database = Database::open(options).value();
  const Worker first = database->register_worker().value();
  {
    const Worker second = database->register_worker().value();
    EXPECT_NE(first.id(), second.id());
    EXPECT_LT(second.id(), 2u);
    expect_error(database->register_worker(), StatusCode::kResourceExhausted, "2");
  }
  EXPECT_TRUE(database->register_worker().ok()) << "the second one has left";
}

TEST(BadSchema, SnapshotsThatAreOff) {
  Options options = manual_options();
  options.snapshots = false;
  ManualDatabase db(1, options);
  const Table table = db.table("t");
  Snapshot snapshot = db.snapshot();
  std::string value;
  EXPECT_EQ(snapshot.get(table, "k", value), Outcome::kFinished);
}

TEST(BadSchema, Procedures) {
  ManualDatabase db(1);
  const auto counters = db->create_table<std::uint32_t, std::uint64_t>("counters").value();
  Procedures procedures;
  const auto add = procedures.add<std::uint32_t, std::uint64_t>(
      "add", [&](Transaction& t, const std::uint32_t& id, std::uint64_t& reply) {
        reply = t.get(counters, id).value_or(0) + 1;
        (void)t.put(counters, id, reply);
      });
  ASSERT_TRUE(add.ok());
  expect_error(procedures.add<int, int>("add", [](Transaction&, const int&, int&) {}), StatusCode::kAlreadyExists,
               "add");
  expect_error(procedures.add<int, int>("none", nullptr), StatusCode::kInvalidArgument,
               "procedure 'none': the body of piece 0 is an empty function");
  expect_error(procedures.add_chain<int, int>("half", {{{}, [](Transaction&, const int&, int&) {}}, {{}, nullptr}}),
               StatusCode::kInvalidArgument, "the body of piece 1");
  std::string reply = "untouched";
  expect_error(procedures.call(db.worker(), "subtract", "", reply), StatusCode::kNotFound, "subtract");
  const std::string long_name(1'000'000, 'n');
  const Status unknown = procedures.call(db.worker(), long_name, "", reply).status();
  EXPECT_EQ(unknown.message(), "no procedure is named '" + std::string(100, 'n') + "...' (1000000 bytes)");
  expect_error(procedures.call(db.worker(), "add", "12345", reply), StatusCode::kInvalidArgument, "5");
  EXPECT_EQ(reply, "untouched");
  std::uint64_t value = 0;
  EXPECT_TRUE(procedures.call(db.worker(), *add, 7u, value).committed());
  EXPECT_EQ(value, 1u);
  EXPECT_EQ(procedures.call(db.worker(), Procedures::Handle<std::uint32_t, std::uint64_t>(), 7u, value).reason,
            AbortReason::kMisuse);
  Worker empty;
  EXPECT_EQ(procedures.call(empty, *add, 7u, value).reason, AbortReason::kMisuse);
  EXPECT_EQ(procedures.call(empty, "add", std::string(4, '\0'), reply)->reason, AbortReason::kMisuse);
  expect_error(procedures.keep_chains(*db, empty), StatusCode::kInvalidArgument, "empty worker");
}

}  // namespace
}  // namespace granary::tests
