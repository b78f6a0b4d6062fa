#include <granary/database.h>

#include "src/base/build_info.h"
#include "src/base/check.h"
#include "src/base/process_mark.h"
#include "src/base/threads.h"
#include "src/base/with_memory.h"
#include "src/db/engine.h"

namespace granary {

Result<std::unique_ptr<Database>> Database::open(const Options& options) { return open(options, base::system_files()); }

Result<std::unique_ptr<Database>> Database::open(const Options& options, base::FileSystem& files) {
  const auto open_one = [&]() -> Result<std::unique_ptr<Database>> {
    auto engine = db::Engine::open(options, files);
    if (!engine.ok()) return engine.status();
    return std::unique_ptr<Database>(new Database(std::move(*engine)));
  };
  return base::with_threads([&] { return base::with_memory(open_one); });
}

Database::Database(std::unique_ptr<db::Engine> engine) : engine_(std::move(engine)) {}
Database::~Database() {
  if (engine_->inherited()) {
    base::keep_for_good(std::move(engine_));
    return;
  }
  const Status alone = engine_->workers().check_none_taken();
  if (!alone.ok()) base::abort_misuse("a Database is destroyed too early: " + alone.message());
}

Result<Table> Database::create_table(std::string_view name, const TableOptions& options) {
  return base::with_memory([&]() -> Result<Table> {
    if (Status usable = engine_->check_usable(); !usable.ok()) return usable;
    const auto core = engine_->schema().create_table(name, options);
    if (!core.ok()) return core.status();
    return Table(*core);
  });
}

Result<Index> Database::create_index(const Table& table, std::string_view name, const IndexOptions& options) {
  return base::with_memory([&]() -> Result<Index> {
    if (Status usable = engine_->check_usable(); !usable.ok()) return usable;
    const auto core = engine_->schema().create_index(table.core(), name, options);
    if (!core.ok()) return core.status();
    return Index(*core);
  });
}

Status Database::seal(const Table& table, std::uint64_t timeout_us) {
  return base::with_memory([&] {
    const Status usable = engine_->check_usable();
    return usable.ok() ? engine_->seal(table.core(), timeout_us) : usable;
  });
}
Status Database::resize(const Table& table, std::uint64_t expected_keys) {
  return base::with_memory([&] {
    const Status usable = engine_->check_usable();
    return usable.ok() ? engine_->resize(table.core(), expected_keys) : usable;
  });
}

Result<Table> Database::table(std::string_view name) const {
  if (Status own = engine_->check_own(); !own.ok()) return own;
  const auto core = engine_->schema().find(name, false);
  if (!core.ok()) return core.status();
  return Table(*core);
}

Result<Index> Database::index(std::string_view name) const {
  if (Status own = engine_->check_own(); !own.ok()) return own;
  const auto core = engine_->schema().find(name, true);
  if (!core.ok()) return core.status();
  return Index(*core);
}

Result<Worker> Database::register_worker() {
  return base::with_memory([&]() -> Result<Worker> {
    if (Status usable = engine_->check_usable(); !usable.ok()) return usable;
    const auto core = engine_->workers().take();
    if (!core.ok()) return core.status();
    (*core)->lending().allow(true);
    return Worker(*core, engine_.get());
  });
}

std::uint64_t Database::current_epoch() const { return engine_->epochs().current(); }
std::uint64_t Database::released_epoch() const { return engine_->released_epoch(); }
Status Database::wait_released(const Ticket& ticket, std::uint64_t timeout_us) const {
  if (Status own = engine_->check_own(); !own.ok()) return own;
  return engine_->wait_released(ticket.epoch, timeout_us);
}
Status Database::log_status() const {
  if (Status own = engine_->check_own(); !own.ok()) return own;
  return engine_->log_status();
}
Status Database::checkpoint() {
  if (Status usable = engine_->check_usable(); !usable.ok()) return usable;
  return engine_->checkpoint();
}
const RecoveryReport& Database::recovery_report() const { return engine_->recovery_report(); }
Status Database::close() {
  return base::with_memory([&] {
    if (Status own = engine_->check_own(); !own.ok()) return own;
    const Status alone = engine_->workers().check_none_taken();
    return alone.ok() ? engine_->close() : alone;
  });
}

Statistics Database::statistics() const { return engine_->inherited() ? Statistics() : engine_->statistics(); }
const Options& Database::options() const { return engine_->options(); }
std::string Database::page_kind() const { return engine_->region().page_kind(); }
bool Database::step() {
  return options().background == Background::kManual && engine_->check_usable().ok() && engine_->step();
}

std::uint32_t Table::id() const { return core_ == nullptr ? ~std::uint32_t{0} : core_->id(); }
bool Table::sealed() const { return core_ != nullptr && core_->sealed_from() != txn::kNotSealed; }
std::string_view Table::name() const { return core_ == nullptr ? std::string_view{} : std::string_view(core_->name()); }
std::string_view Index::name() const { return core_ == nullptr ? std::string_view{} : std::string_view(core_->name()); }

std::string version() { return base::version_text(); }

}  // namespace granary
