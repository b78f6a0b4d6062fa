#include "tests/durability/crash_rig.h"

#include <algorithm>
#include <utility>

#include <gtest/gtest.h>

#include "tests/support/manual_database.h"

namespace granary::tests {
namespace {

constexpr std::size_t kWorkers = 3;
constexpr std::uint64_t kFewKeys = 60;  // overwritten, removed and born again all the time
constexpr std::uint64_t kSmallest = std::uint64_t{64} << 10;
constexpr std::size_t kIndexedBytes = 8;  // of the value
constexpr std::uint32_t kGreatestValue = 8010;
constexpr const char* kTheOne = "the one";

bool changes_files(FileCall call) {
  return call != FileCall::kRead && call != FileCall::kOpen && call != FileCall::kList;
}

std::string key_name(std::uint64_t number) { return "key " + std::to_string(number); }

/// Hash tables with few buckets or enough; local or shared.
TableOptions random_table(base::Random& random) {
  TableOptions options;
  if (random.below(2) == 0) options.index = IndexKind::kHash;
  options.expected_keys = random.below(2) == 0 ? 1 : kFewKeys;
  options.shared = random.below(2) == 0;
  if (options.shared) options.max_value_bytes = kGreatestValue;
  return options;
}

Options random_options(base::Random& random, base::Random protocols, const std::string& rings) {
  Options options = manual_options();
  options.directory = CrashRig::kDirectory;
  options.reliable_directory = rings;
  options.loggers = static_cast<std::uint32_t>(1 + random.below(3));
  options.ring_bytes = kSmallest;
  options.log_segment_bytes = kSmallest;
  options.log_reserve_bytes = random.below(3) * kSmallest;
  options.snapshot_epochs = static_cast<std::uint32_t>(2 + random.below(3));
  options.log_compression = static_cast<LogCompression>(random.below(3));
  options.memory_limit_bytes = std::uint64_t{64} << 20;
  if (random.below(3) == 0) options.log_directories = {"/log-a", "/log-b"};
  // Both write parts of values.
  if (options.htm == Htm::kOff && protocols.below(2) == 0) options.protocol = "tictoc";
  return options;
}

}  // namespace

CrashRig::CrashRig(std::uint64_t seed)
    : random_(seed),
      options_(random_options(random_, base::Random(seed, 3), rings_.path())),
      files_(std::make_unique<FaultFiles>()),
      image_random_(seed, 1) {
  base::Random tables(seed, 2);
  for (TableOptions& options : table_options_) options = random_table(tables);
  files_->set_observer([this](FileCall call, const std::string&) { on_call(call); });
}

CrashRig::~CrashRig() {
  files_->clear_plan();
  release_database();
}

Status CrashRig::open() {
  auto opened = Database::open(options_, *files_);
  if (!opened.ok()) return opened.status();
  const RecoveryReport& report = (*opened)->recovery_report();
  EXPECT_GE(report.durable_epoch, must_) << "released transactions are gone";
  if (report.recovered) {
    model_.settle(report.durable_epoch);
    const std::lock_guard lock(arming_);
    if (image_ && !report.rings) image_->model = model_;  // what this opening dropped stays dropped
  }
  must_ = 0;
  database_ = std::move(*opened);
  tables_.clear();
  for (std::size_t i = 0; i < kModelTables; ++i) {
    const auto table = database_->create_table("table " + std::to_string(i), table_options_[i]);
    if (!table.ok()) return release_database(), table.status();
    tables_.push_back(*table);
    if (i != 0) continue;
    const auto index = database_->create_index(
        *table, "index", {.parts = {{.length = kIndexedBytes, .encoding = IndexEncoding::kBytes}}, .unique = false});
    if (!index.ok()) return release_database(), index.status();
    index_ = *index;
  }
  for (std::size_t i = 0; i < kWorkers; ++i) {
    auto worker = database_->register_worker();
    if (!worker.ok()) return release_database(), worker.status();
    workers_.push_back(std::move(*worker));
  }
  open_.resize(kWorkers);
  return {};
}

void CrashRig::release_database() {
  if (database_ != nullptr) released_ = database_->released_epoch();
  open_.clear();
  workers_.clear();
  if (database_ != nullptr) static_cast<void>(database_->close());
  database_.reset();
}

void CrashRig::act(int actions) {
  for (int i = 0; i < actions && database_ != nullptr; ++i) {
    const std::size_t worker = random_.below(kWorkers);
    const std::uint64_t dice = random_.below(100);
    if (dice < 60) {
      if (!open_[worker]) open_[worker] = Open{workers_[worker].begin(), {}};
      operate(*open_[worker]);
    } else if (dice < 80) {
      if (open_[worker]) static_cast<void>(commit(worker));
    } else if (dice < 83) {
      open_[worker].reset();
    } else if (dice < 97) {
      database_->step();
    } else if (dice < 98) {
      resize();
    } else {
      static_cast<void>(checkpoint());
    }
  }
}

/// Ends all transactions. What cannot be done, as the table is an ordered one, or stored, is left.
void CrashRig::resize() {
  for (std::optional<Open>& open : open_) open.reset();
  static_cast<void>(database_->resize(tables_[random_.below(kModelTables)], 1 + random_.below(2 * kFewKeys)));
}

AbortReason CrashRig::commit_one() {
  open_[0] = Open{workers_[0].begin(), {}};
  operate(*open_[0]);
  const std::string value = random_value();
  EXPECT_EQ(open_[0]->transaction.put(tables_[1], kTheOne, value), Outcome::kOk);
  open_[0]->done.writes.push_back({1, kTheOne, value});
  return commit(0);
}

Status CrashRig::checkpoint() {
  const bool has_snapshot = database_->current_epoch() >= 2 * std::uint64_t{options_.snapshot_epochs};
  const Status done = database_->checkpoint();
  return has_snapshot || done.code() != StatusCode::kUnavailable ? done : Status();
}

std::string CrashRig::random_value() {
  const std::uint64_t bytes = random_.below(8) == 0 ? 4000 + random_.below(4000) : random_.below(200);
  return std::string(bytes, static_cast<char>('a' + random_.below(26))) + std::to_string(random_.below(1000));
}

/// One operation; the transaction may be doomed by it, and then does not commit.
void CrashRig::operate(Open& open) {
  const std::size_t table = random_.below(kModelTables);
  const std::string key = key_name(random_.below(kFewKeys));
  std::string value = random_value();
  Outcome done = Outcome::kNotFound;
  switch (random_.below(8)) {
    case 0:
    case 1: done = open.transaction.put(tables_[table], key, value); break;
    case 2: done = open.transaction.update(tables_[table], key, value); break;
    case 3: done = open.transaction.insert(tables_[table], key, value); break;
    case 4:
    case 5:
    case 6: done = update_part(open, table, key, value); break;
    default:
      if (open.transaction.remove(tables_[table], key) == Outcome::kOk)
        open.done.writes.push_back({table, key, std::nullopt});
      return;
  }
  if (done == Outcome::kOk) open.done.writes.push_back({table, key, std::move(value)});
}

/// Overwrites bytes of what is there. `value` becomes all of it.
Outcome CrashRig::update_part(Open& open, std::size_t table, const std::string& key, std::string& value) {
  const auto& writes = open.done.writes;
  const auto own = std::find_if(writes.rbegin(), writes.rend(),
                                [&](const ModelWrite& write) { return write.table == table && write.key == key; });
  // A value that is read is no part any more, so what the transaction has written itself is not read.
  if (own != writes.rend()) value = own->value.value_or("");
  const Outcome there = own != writes.rend() ? own->value ? Outcome::kOk : Outcome::kNotFound
                                             : open.transaction.get(tables_[table], key, value);
  if (there != Outcome::kOk) return there;
  const std::uint64_t from = random_.below(value.size());
  const std::string bytes(1 + random_.below(std::min<std::uint64_t>(value.size() - from, 100)),
                          static_cast<char>('A' + random_.below(26)));
  value.replace(from, bytes.size(), bytes);
  return open.transaction.update_part(tables_[table], key, from, bytes);
}

AbortReason CrashRig::commit(std::size_t worker) {
  Open open = std::move(*open_[worker]);
  open_[worker].reset();
  const CommitResult committed = open.transaction.commit();
  if (!committed.committed()) return committed.reason;
  open.done.epoch = committed.ticket.epoch;
  last_ticket_ = committed.ticket;
  const std::lock_guard lock(arming_);
  if (!open.done.writes.empty()) model_.add(std::move(open.done));
  return AbortReason::kNone;
}

void CrashRig::arm(Crash crash, std::uint64_t nth) {
  const std::lock_guard lock(arming_);
  armed_ = crash;
  calls_left_ = nth;
}

void CrashRig::on_call(FileCall call) {
  if (!changes_files(call)) return;
  const std::lock_guard lock(arming_);
  if (calls_left_ == 0 || --calls_left_ != 0) return;
  take_image(armed_);
}

/// With arming_ locked.
void CrashRig::take_image(Crash crash) {
  Image image;
  const auto survives = static_cast<Survives>(image_random_.below(3));
  image.files = crash == Crash::kProcess ? files_->process_crash_image()
                                         : files_->power_loss_image(survives, image_random_.next());
  if (crash != Crash::kPowerLoss) image.rings = rings_.contents();
  image.released = database_ != nullptr ? database_->released_epoch() : released_;
  image.model = model_;
  const std::uint64_t durable = model_.must_survive(image.released);
  if (database_ != nullptr) {
    image.must = crash == Crash::kPowerLoss ? durable : model_.last_epoch();
  } else {
    image.must = crash == Crash::kPowerLoss ? std::min(must_, durable) : must_;
  }
  image_ = std::move(image);
}

void CrashRig::crash(Crash crash) {
  {
    const std::lock_guard lock(arming_);
    calls_left_ = 0;
    if (!image_) take_image(crash);
  }
  files_->clear_plan();
  release_database();
  rings_.replace(image_->rings);
  files_ = std::move(image_->files);
  model_ = std::move(image_->model);
  released_ = image_->released;
  must_ = image_->must;
  image_.reset();
  files_->set_observer([this](FileCall call, const std::string&) { on_call(call); });
}

void CrashRig::look_ahead() {
  const auto copy = files_->process_crash_image();
  const auto opened = Database::open(options_, *copy);
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  EXPECT_GE((*opened)->recovery_report().durable_epoch, must_) << "released transactions are gone";
  if ((*opened)->recovery_report().recovered) model_.settle((*opened)->recovery_report().durable_epoch);
  must_ = 0;
}

/// A hash table: of the keys that there can be.
void CrashRig::read_by_key(Transaction& t, std::size_t table, std::map<std::string, std::string>& records) {
  const auto read = [&](const std::string& key) {
    std::string value;
    const Outcome outcome = t.get(tables_[table], key, value);
    EXPECT_TRUE(outcome == Outcome::kOk || outcome == Outcome::kNotFound) << name(outcome);
    if (outcome == Outcome::kOk) records.emplace(key, std::move(value));
  };
  for (std::uint64_t i = 0; i < kFewKeys; ++i) read(key_name(i));
  read(kTheOne);
}

State CrashRig::read_all() {
  State state;
  Transaction t = workers_[0].begin();
  for (std::size_t table = 0; table < kModelTables; ++table) {
    if (table_options_[table].index == IndexKind::kHash) {
      read_by_key(t, table, state[table]);
      continue;
    }
    const ScanResult scanned = t.scan(tables_[table], {}, [&](std::string_view key, std::string_view value) {
      state[table].emplace(key, value);
      return true;
    });
    EXPECT_TRUE(scanned) << name(scanned.outcome);
  }
  EXPECT_TRUE(t.commit().committed());
  return state;
}

std::string CrashRig::verify() {
  if (const std::string wrong = difference(model_.all(), read_all()); !wrong.empty()) return wrong;
  return check_index();
}

/// By the index, the table's records, each once, in the order of what is indexed.
std::string CrashRig::check_index() {
  std::map<std::string, std::string> found;
  std::string last;
  std::string wrong;
  Transaction t = workers_[0].begin();
  const ScanResult scanned = t.scan(index_, {}, [&](std::string_view key, std::string_view value) {
    std::string indexed(value.substr(0, kIndexedBytes));
    indexed.resize(kIndexedBytes, '\0');
    if (indexed < last) wrong = "the index is out of order at '" + std::string(key) + "'";
    last = std::move(indexed);
    if (!found.emplace(key, value).second) wrong = "the index has '" + std::string(key) + "' twice";
    return true;
  });
  EXPECT_TRUE(scanned) << name(scanned.outcome);
  EXPECT_TRUE(t.commit().committed());
  if (!wrong.empty()) return wrong;
  State expected;
  expected[0] = model_.all()[0];
  State by_index;
  by_index[0] = std::move(found);
  const std::string differs = difference(expected, by_index);
  return differs.empty() ? "" : "by the index: " + differs;
}

}  // namespace granary::tests
