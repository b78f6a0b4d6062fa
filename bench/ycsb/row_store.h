#pragma once
// The YCSB operations as transactions of a baseline that keeps its rows in records of the bare index (bench/hekaton,
// bench/dta).
//
// An `Engine` is what all sessions of a store share. It is constructed from the parameters, and has
//   Row                       with bytes_for(), make() and newest_value()
//   Transaction               with begin(), read(), claim(), write() and commit()
//   take_session()            returns a number for a session, or nothing if none is left
//   give_session(number)      takes the number back
//   transaction(number)       returns the object that runs a session's transactions, one after the other
//   extra_figures()           may be there: returns more figures for the report

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/harness/attempts.h"
#include "bench/harness/command.h"
#include "bench/harness/workload.h"
#include "bench/kv/store.h"
#include "bench/ycsb/parameters.h"
#include "bench/ycsb/requests.h"

namespace granary::bench::ycsb {

template <typename Engine>
class RowStore {
 public:
  using Row = typename Engine::Row;

  class Session {
   public:
    Session(kv::Store& store, Engine& engine, std::uint32_t number, std::size_t value_bytes, base::Random random)
        : store_(store),
          access_(*store.take_access()),
          engine_(engine),
          number_(number),
          transaction_(engine.transaction(number)),
          random_(random),
          value_bytes_(value_bytes),
          row_bytes_(Row::bytes_for(value_bytes)) {}
    ~Session() {
      engine_.give_session(number_);
      store_.give_access(&access_);
    }
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    Ending read(std::string_view key, std::span<char> buffer, AbortCounts& aborts) {
      return run(aborts, [&] { return transaction_.read(row(key), buffer); });
    }
    Ending find(std::string_view key, std::span<char> buffer, bool& found, AbortCounts& aborts) {
      found = access_.locate(key) != nullptr;
      return found ? read(key, buffer, aborts) : Ending::kCommitted;
    }
    Ending update(std::string_view key, std::string_view value, AbortCounts& aborts) {
      return run(aborts, [&] { return change_row(key, {}, [&](std::span<char>) { return value; }); });
    }
    Ending put(std::string_view key, std::string_view value, AbortCounts& aborts) { return update(key, value, aborts); }
    template <typename Change>
    Ending modify(std::string_view key, std::span<char> buffer, Change&& change, AbortCounts& aborts) {
      return run(aborts, [&] { return change_row(key, buffer, change); });
    }
    /// Runs the steps as one transaction. Precondition: none of them inserts or scans.
    template <typename Change>
    Ending run_all(std::span<const Step> steps, std::uint32_t fields, std::span<char> buffer, Change&& change,
                   AbortCounts& aborts) {
      return run(aborts, [&] {
        return std::all_of(steps.begin(), steps.end(), [&](const Step& step) {
          const std::string_view key = step.key.view();
          if (!step.writes()) return transaction_.read(row(key), buffer);
          const std::span<char> read = step.reads(fields) ? buffer : std::span<char>();
          return change_row(key, read, [&](std::span<char>) { return change(step); });
        });
      });
    }
    /// Makes a row without a transaction; only the loader calls it.
    Ending insert(std::string_view key, std::string_view value, AbortCounts& aborts) {
      Row::make(row_bytes_, value);
      if (access_.insert(key, {row_bytes_.data(), row_bytes_.size()})) return Ending::kCommitted;
      ++aborts[static_cast<std::size_t>(AbortReason::kOutOfMemory)];
      return Ending::kGaveUp;
    }
    /// Visits the newest versions without a transaction; only the check at the end calls it.
    template <typename Restart, typename Visit>
    Ending scan(std::string_view from, std::size_t limit, std::span<char>, Restart&& restart, Visit&& visit,
                AbortCounts&) {
      restart();
      access_.scan(from, limit, row_bytes_, [&](std::string_view key, std::string_view bytes) {
        const auto& row = *reinterpret_cast<const Row*>(bytes.data());
        return visit(key, std::string_view(row.newest_value(value_bytes_), value_bytes_));
      });
      return Ending::kCommitted;
    }
    void collect() { access_.collect(); }

   private:
    /// Returns the row of a key. Precondition: the key is there. A record's value is on a word's boundary, which is the
    /// alignment that a row needs.
    Row& row(std::string_view key) { return *reinterpret_cast<Row*>(access_.locate(key)->value_words()); }
    template <typename Change>
    bool change_row(std::string_view key, std::span<char> buffer, Change&& change) {
      Row& changed = row(key);
      if (!transaction_.claim(changed, buffer)) return false;
      transaction_.write(changed, change(buffer));
      return true;
    }
    template <typename Body>
    Ending run(AbortCounts& aborts, Body&& body) {
      for (std::uint32_t attempt = 0;; ++attempt) {
        transaction_.begin();
        static_cast<void>(body());  // if it fails, commit() returns the reason
        const AbortReason reason = transaction_.commit();
        if (reason == AbortReason::kNone) return Ending::kCommitted;
        ++aborts[static_cast<std::size_t>(reason)];
        back_off(random_, attempt);
      }
    }

    kv::Store& store_;
    kv::Access& access_;
    Engine& engine_;
    const std::uint32_t number_;
    typename Engine::Transaction transaction_;
    base::Random random_;
    const std::size_t value_bytes_;
    std::vector<char> row_bytes_;
  };

  static Result<std::unique_ptr<RowStore>> open(const Settings& settings, const Parameters& parameters) {
    const auto hash_keys = parameters.hash ? std::optional(parameters.keys) : std::nullopt;
    Result<std::unique_ptr<kv::Store>> store = kv::Store::open(settings.options, hash_keys);
    if (!store.ok()) return store.status();
    return std::make_unique<RowStore>(std::move(*store), parameters);
  }

  RowStore(std::unique_ptr<kv::Store> store, const Parameters& parameters)
      : store_(std::move(store)),
        engine_(std::make_unique<Engine>(parameters)),
        value_bytes_(parameters.value_bytes) {}

  Result<std::unique_ptr<Session>> session(std::uint64_t seed) {
    const std::optional<std::uint32_t> number = engine_->take_session();
    if (!number) return Status(StatusCode::kResourceExhausted, "the store has no more sessions; use fewer --workers");
    return std::make_unique<Session>(*store_, *engine_, *number, value_bytes_, base::Random(seed));
  }
  StoreFigures figures() const { return store_->figures(); }
  std::vector<ExtraFigure> extra_figures() const
    requires requires(const Engine& engine) { engine.extra_figures(); }
  {
    return engine_->extra_figures();
  }

 private:
  const std::unique_ptr<kv::Store> store_;
  const std::unique_ptr<Engine> engine_;
  const std::size_t value_bytes_;
};

}  // namespace granary::bench::ycsb
