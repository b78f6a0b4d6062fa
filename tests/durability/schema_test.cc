// What a directory keeps beside data: tables and indexes; and what opening refuses: another schema, a directory in use,
// one that cannot be written.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/directory.h"
#include "tests/support/fault_files.h"
#include "tests/support/manual_database.h"
#include "tests/support/ring_directory.h"
#include "tests/support/temporary_directory.h"

namespace granary::tests {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const IndexOptions kByFirstByte = {.parts = {{.length = 1, .encoding = IndexEncoding::kBytes}}, .unique = false};

class DurableSchema : public testing::Test {
 protected:
  Options options() const {
    Options options = manual_options();
    options.directory = directory_.path() + "/db";
    options.reliable_directory = rings_.path();
    options.ring_bytes = options.log_segment_bytes = std::uint64_t{64} << 10;
    return options;
  }
  std::unique_ptr<Database> open() {
    auto opened = Database::open(options());
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    return opened.ok() ? std::move(*opened) : nullptr;
  }
  Status refused() { return Database::open(options()).status(); }

  /// With one record, closed.
  void make_database() {
    const auto database = open();
    const Table table = database->create_table("people", {.max_value_bytes = 100}).value();
    ASSERT_TRUE(database->create_index(table, "by letter", kByFirstByte).ok());
    Worker worker = database->register_worker().value();
    ASSERT_TRUE(worker.run([&](Transaction& t) { static_cast<void>(t.put(table, "1", "ada")); }));
  }

  TemporaryDirectory directory_;
  RingDirectory rings_;
};

TEST_F(DurableSchema, IsThereWithoutBeingDeclared) {
  make_database();
  const auto database = open();
  const Table table = database->table("people").value();
  const Index index = database->index("by letter").value();
  Worker worker = database->register_worker().value();
  Transaction t = worker.begin();
  EXPECT_EQ(scan_text(t, table), "1=ada ");
  EXPECT_EQ(scan_text(t, index), "1=ada ");
  EXPECT_EQ(t.put(table, "2", std::string(101, 'x')), Outcome::kValueTooLarge);  // the limit is kept, too
  EXPECT_EQ(t.put(table, "2", "aaron"), Outcome::kOk);
  EXPECT_EQ(scan_text(t, index), "1=ada 2=aaron ");
  EXPECT_TRUE(t.commit().committed());
}

TEST_F(DurableSchema, IsTakenByWhoDeclaresTheSame) {
  make_database();
  const auto database = open();
  const auto table = database->create_table("people", {.max_value_bytes = 100});
  ASSERT_TRUE(table.ok()) << table.status().message();
  const auto index = database->create_index(*table, "by letter", kByFirstByte);  // although there are records
  ASSERT_TRUE(index.ok()) << index.status().message();
  EXPECT_EQ(index->core(), database->index("by letter")->core());
  EXPECT_EQ(database->create_table("people", {.max_value_bytes = 100}).status().code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(database->create_index(*table, "by letter", kByFirstByte).status().code(), StatusCode::kFailedPrecondition);
}

TEST_F(DurableSchema, RefusesAnother) {
  make_database();
  const auto database = open();
  const Status table = database->create_table("people", {.max_value_bytes = 99}).status();
  EXPECT_EQ(table.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(table.message(), AllOf(HasSubstr("'people'"), HasSubstr("100"), HasSubstr("99")));
  const Table people = database->table("people").value();
  IndexOptions other = kByFirstByte;
  other.unique = true;
  const Status index = database->create_index(people, "by letter", other).status();
  EXPECT_EQ(index.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(index.message(), AllOf(HasSubstr("'by letter'"), HasSubstr("unique")));
  other = kByFirstByte;
  other.parts[0].length = 2;
  EXPECT_EQ(database->create_index(people, "by letter", other).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(database->create_table("by letter").status().code(), StatusCode::kFailedPrecondition);
  EXPECT_TRUE(database->create_index(people, "by letter", kByFirstByte).ok());  // a refusal does not use it up
}

TEST_F(DurableSchema, KeepsTheKindOfAnIndex) {
  const TableOptions hash{.index = IndexKind::kHash, .expected_keys = 1000};
  {
    const auto database = open();
    const Table table = database->create_table("hashed", hash).value();
    ASSERT_TRUE(database->create_table("ordered").ok());
    ASSERT_TRUE(database->create_index(table, "by letter", kByFirstByte).ok());
    Worker worker = database->register_worker().value();
    ASSERT_TRUE(worker.run([&](Transaction& t) { static_cast<void>(t.put(table, "1", "ada")); }));
  }
  const auto database = open();
  const Status ordered = database->create_table("hashed").status();
  EXPECT_EQ(ordered.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(ordered.message(), AllOf(HasSubstr("'hashed'"), HasSubstr("a hash table, not ordered")));
  EXPECT_THAT(database->create_table("ordered", hash).status().message(), HasSubstr("ordered, not a hash table"));
  const Table table = database->create_table("hashed", {.index = IndexKind::kHash, .expected_keys = 7}).value();
  ASSERT_TRUE(database->create_index(table, "by letter", kByFirstByte).ok());
  Worker worker = database->register_worker().value();
  Transaction t = worker.begin();
  std::string value;
  EXPECT_EQ(t.get(table, "1", value), Outcome::kOk);
  EXPECT_EQ(scan_text(t, table), "(" + std::string(name(Outcome::kUnordered)) + ")");
  EXPECT_EQ(scan_text(t, database->index("by letter").value()), "1=ada ");
}

TEST_F(DurableSchema, KeepsWhichTablesAreShared) {
  const TableOptions shared{.max_value_bytes = 8, .shared = true}, local{.max_value_bytes = 8};
  {
    const auto database = open();
    const Table table = database->create_table("shared", shared).value();
    ASSERT_TRUE(database->create_table("local", local).ok());
    Worker worker = database->register_worker().value();
    ASSERT_TRUE(worker.run([&](Transaction& t) { static_cast<void>(t.put(table, "1", "ada")); }));
  }
  const auto database = open();
  EXPECT_THAT(database->create_table("shared", local).status().message(), HasSubstr("it was shared, not local"));
  EXPECT_THAT(database->create_table("local", shared).status().message(), HasSubstr("it was local, not shared"));
  const Table table = database->create_table("shared", shared).value();
  Worker worker = database->register_worker().value();
  Transaction t = worker.begin();
  EXPECT_EQ(scan_text(t, table), "1=ada ");
}

TEST_F(DurableSchema, IndexesAreSharedAsTheirTablesAre) {
  const IndexOptions by_letter{.parts = {{.length = 1}}};
  const auto check = [&](Database& database, const Table& table) {
    Worker worker = database.register_worker().value();
    Transaction t = worker.begin();
    EXPECT_EQ(t.put(table, std::string(kMaxIndexedSharedKeyBytes, 'k'), "ada"), Outcome::kOk);
    EXPECT_EQ(t.put(table, std::string(kMaxIndexedSharedKeyBytes + 1, 'k'), "ada"), Outcome::kKeyTooLong);
    EXPECT_TRUE(t.commit().committed());
    Transaction again = worker.begin();
    EXPECT_EQ(scan_text(again, database.index("by letter").value()),
              std::string(kMaxIndexedSharedKeyBytes, 'k') + "=ada ");
  };
  const TableOptions shared{.max_value_bytes = 8, .shared = true};
  {
    const auto database = open();
    const Table table = database->create_table("shared", shared).value();
    ASSERT_TRUE(database->create_index(table, "by letter", by_letter).ok());
    check(*database, table);
  }
  const auto database = open();
  const Table table = database->create_table("shared", shared).value();
  ASSERT_TRUE(database->create_index(table, "by letter", by_letter).ok());
  check(*database, table);
}

TEST_F(DurableSchema, OneOpeningAtATime) {
  const auto database = open();
  const Status second = refused();
  EXPECT_EQ(second.code(), StatusCode::kUnavailable);
  EXPECT_THAT(second.message(), HasSubstr("LOCK"));
  const pid_t child = ::fork();  // manual: there are no other threads
  if (child == 0) ::_exit(Database::open(options()).status().code() == StatusCode::kUnavailable ? 0 : 1);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(DurableSchema, TheLockGoesWithTheDatabaseAndWithAFailedOpening) {
  make_database();
  const std::string manifest = options().directory + "/MANIFEST";
  std::filesystem::rename(manifest, manifest + ".kept");
  std::ofstream(manifest) << "nonsense";
  const Status damaged = refused();
  EXPECT_EQ(damaged.code(), StatusCode::kDamaged);
  EXPECT_THAT(damaged.message(), HasSubstr("MANIFEST"));
  std::filesystem::rename(manifest + ".kept", manifest);
  EXPECT_NE(open(), nullptr);
}

TEST_F(DurableSchema, AManifestThatIsGoneIsNoNewDatabase) {
  make_database();
  std::filesystem::remove(options().directory + "/MANIFEST");
  const Status gone = refused();
  EXPECT_EQ(gone.code(), StatusCode::kDamaged);
  EXPECT_THAT(gone.message(), AllOf(HasSubstr("MANIFEST"), HasSubstr(options().directory)));
}

TEST_F(DurableSchema, ADirectoryThatCannotBeMadeOrWritten) {
  std::ofstream(directory_ / "file") << "in the way";
  Options options = this->options();
  options.directory = directory_ / "file/db";
  const Status in_the_way = Database::open(options).status();
  EXPECT_FALSE(in_the_way.ok());
  EXPECT_THAT(in_the_way.message(), HasSubstr(options.directory));
  options.directory = this->options().directory;
  options.reliable_directory = directory_ / "file/rings";
  const Status no_rings = Database::open(options).status();
  EXPECT_FALSE(no_rings.ok());
  EXPECT_THAT(no_rings.message(), HasSubstr(options.reliable_directory));
  if (::geteuid() == 0) return;  // who may write everywhere
  std::filesystem::create_directory(directory_ / "closed");
  ::chmod((directory_ / "closed").c_str(), 0555);
  options.directory = directory_ / "closed";
  EXPECT_EQ(Database::open(options).status().code(), StatusCode::kUnavailable);
}

TEST_F(DurableSchema, AClosedDatabaseLeavesNoRingsAndNothingToNote) {
  make_database();
  EXPECT_TRUE(std::filesystem::is_empty(rings_.path()));
  const auto database = open();
  EXPECT_TRUE(database->recovery_report().recovered);
  EXPECT_THAT(database->recovery_report().notes, testing::IsEmpty());
}

TEST_F(DurableSchema, TwoDatabasesMayShareThePlaceOfTheirRings) {
  Options other = options();
  other.directory = directory_ / "other";
  RingDirectory::Contents left;
  FaultFiles files;
  std::unique_ptr<FaultFiles> crashed;
  {
    const auto database = Database::open(options(), files);
    ASSERT_TRUE(database.ok()) << database.status().message();
    const Table table = (*database)->create_table("t").value();
    const auto second = Database::open(other, files);
    ASSERT_TRUE(second.ok()) << second.status().message();
    Worker worker = (*database)->register_worker().value();
    ASSERT_TRUE(worker.run([&](Transaction& t) { static_cast<void>(t.put(table, "in the ring", "1")); }));
    crashed = files.process_crash_image();
    left = rings_.contents();
  }
  rings_.replace(left);
  for (const Options& each : {other, options()}) {
    const auto database = Database::open(each, *crashed);
    ASSERT_TRUE(database.ok()) << database.status().message();
    EXPECT_TRUE((*database)->recovery_report().rings);
    EXPECT_EQ((*database)->recovery_report().transactions, each.directory == other.directory ? 0u : 1u);
  }
}

TEST(FailedCreation, OfAHashTableGivesItsMemoryBack) {
  const RingDirectory rings;
  FaultFiles files;
  files.pass_through(rings.path());
  Options options = manual_options();
  options.directory = "/db";
  options.reliable_directory = rings.path();
  options.ring_bytes = options.log_segment_bytes = std::uint64_t{64} << 10;
  const auto database = Database::open(options, files).value();
  const TableOptions large = {.max_value_bytes = 8, .index = IndexKind::kHash, .expected_keys = 3'000'000};
  for (int i = 0; i < 5; ++i) {
    files.plan({.call = FileCall::kRename});
    EXPECT_EQ(database->create_table("t", large).status().code(), StatusCode::kIoError);
    EXPECT_EQ(database->statistics().index_bytes, 0u);
  }
  EXPECT_TRUE(database->create_table("t", large).ok());
}

/// Space for the log is set aside while the database is open. The next opening removes that of a process that died.
TEST(LogReserve, LastsAsLongAsTheDatabase) {
  FaultFiles files;
  TemporaryDirectory rings;
  Options options = manual_options();
  options.directory = "/db";
  options.reliable_directory = rings.path();
  options.log_segment_bytes = std::uint64_t{64} << 10;
  options.log_reserve_bytes = 3 * options.log_segment_bytes;
  const auto spares = [](const FaultFiles& disk) {
    const auto paths = disk.paths();
    return std::count_if(paths.begin(), paths.end(),
                         [](const std::string& path) { return path.starts_with("/db/spare-"); });
  };
  auto database = Database::open(options, files);
  ASSERT_TRUE(database.ok()) << database.status().message();
  EXPECT_EQ(spares(files), 2) << "the first segment took one";
  const auto dead = files.process_crash_image();
  ASSERT_TRUE((*database)->close().ok());
  EXPECT_EQ(spares(files), 0);
  database->reset();
  options.log_reserve_bytes = options.log_segment_bytes;
  database = Database::open(options, *dead);
  ASSERT_TRUE(database.ok()) << database.status().message();
  EXPECT_EQ(spares(*dead), 0) << "the first segment took the only one";
  database->reset();  // before the files
}

TEST(LogDirectories, OfAnotherDatabaseAreRefusedByName) {
  const TemporaryDirectory directory;
  const RingDirectory rings;
  Options other = manual_options();
  other.reliable_directory = rings.path();
  other.directory = directory / "other";
  ASSERT_TRUE(Database::open(other).value()->close().ok());
  Options options = other;
  options.directory = directory / "db";
  options.log_directories = {other.directory};
  const Status refused = Database::open(options).status();
  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(refused.message(),
              AllOf(HasSubstr("Options::log_directories names '" + other.directory + "'"),
                    HasSubstr("the directory of another database"), HasSubstr("choose an empty directory")));
  options.log_directories = {directory / "logs"};
  EXPECT_TRUE(Database::open(options).ok()) << "the refused one has left nothing in the way";
  EXPECT_TRUE(Database::open(other).ok());
}

/// More than the disk has: refused before any of it is taken, and the database opens with less.
TEST(LogReserve, MoreThanTheDiskHasIsRefusedAndLeavesNothing) {
  TemporaryDirectory directory;
  Options options = manual_options();
  options.directory = directory / "db";
  options.log_directories = {directory / "a", directory / "b"};
  options.reliable_directory = directory / "rings";
  options.loggers = 2;
  const std::uint64_t free = base::free_bytes(base::system_files(), directory.path()).value();
  options.log_segment_bytes = std::uint64_t{1} << 30;
  options.log_reserve_bytes = free + options.log_segment_bytes;
  const Status refused = Database::open(options).status();
  EXPECT_EQ(refused.code(), StatusCode::kDiskFull);
  EXPECT_NE(refused.message().find("bytes free"), std::string::npos) << refused.message();
  EXPECT_NE(refused.message().find(directory.path()), std::string::npos) << refused.message();
  std::uint64_t left = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory.path())) {
    if (entry.is_regular_file()) left += entry.file_size();
    EXPECT_FALSE(entry.path().string().ends_with(".glog")) << entry.path();
  }
  EXPECT_LT(left, std::uint64_t{64} << 10);
  options.log_reserve_bytes = ~std::uint64_t{0};
  EXPECT_EQ(Database::open(options).status().code(), StatusCode::kInvalidArgument) << "no disk has so much";
  options.log_reserve_bytes = 0;
  EXPECT_TRUE(Database::open(options).ok());
}

/// The disk fills up, or fails, while the second logger sets its files aside: those of the first go, too.
TEST(LogReserve, AnOpeningThatFailsHalfWayLeavesNothingSetAside) {
  TemporaryDirectory rings;
  Options options = manual_options();
  options.directory = "/db";
  options.reliable_directory = rings.path();
  options.loggers = 2;
  options.log_segment_bytes = std::uint64_t{64} << 10;
  options.log_reserve_bytes = 6 * options.log_segment_bytes;
  for (const char* const path : {"spare-l01-00000001", "log-g00000001-l01"}) {
    FaultFiles files;
    files.plan({.call = FileCall::kAppend, .code = StatusCode::kDiskFull, .path = path});
    EXPECT_EQ(Database::open(options, files).status().code(), StatusCode::kDiskFull) << path;
    for (const std::string& left : files.paths()) EXPECT_FALSE(left.ends_with(".glog")) << left;
    EXPECT_TRUE(Database::open(options, files).ok()) << path;
  }
}

/// After a restart of the system: same files, no rings, not even their directory.
TEST(LostRings, RecoverToTheDurableEpoch) {
  FaultFiles files;
  std::unique_ptr<FaultFiles> image;
  TemporaryDirectory memory;
  Options options = manual_options();
  options.directory = "/db";
  options.reliable_directory = memory / "rings";
  auto opened = Database::open(options, files);
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  const Table table = (*opened)->create_table("t").value();
  Ticket durable;
  {
    Worker worker = (*opened)->register_worker().value();
    durable = worker.run([&](Transaction& t) { static_cast<void>(t.put(table, "durable", "1")); }).ticket;
    for (int i = 0; i < 3; ++i) (*opened)->step();
    ASSERT_GE((*opened)->released_epoch(), durable.epoch);
    ASSERT_TRUE(worker.run([&](Transaction& t) { static_cast<void>(t.put(table, "in the ring", "1")); }));
    image = files.process_crash_image();
  }
  opened->reset();
  std::filesystem::remove_all(options.reliable_directory);
  opened = Database::open(options, *image);
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  EXPECT_FALSE((*opened)->recovery_report().rings);
  EXPECT_GE((*opened)->recovery_report().durable_epoch, durable.epoch);
  Worker worker = (*opened)->register_worker().value();
  Transaction t = worker.begin();
  EXPECT_EQ(scan_text(t, (*opened)->table("t").value()), "durable=1 ");
}

}  // namespace
}  // namespace granary::tests
