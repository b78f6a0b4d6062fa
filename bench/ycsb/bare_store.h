#pragma once
// The YCSB operations on the bare index. There are no transactions, so no operation aborts.

#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "bench/harness/command.h"
#include "bench/harness/workload.h"
#include "bench/kv/store.h"
#include "bench/ycsb/parameters.h"
#include "bench/ycsb/requests.h"

namespace granary::bench::ycsb {

class BareStore {
 public:
  class Session {
   public:
    explicit Session(kv::Store& store) : store_(store), access_(*store.take_access()) {}
    ~Session() { store_.give_access(&access_); }
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    Ending read(std::string_view key, std::span<char> buffer, AbortCounts&) {
      missed_ += access_.read(key, buffer) ? 0 : 1;
      return Ending::kCommitted;
    }
    /// Returns how many reads have found no record.
    std::uint64_t missed() const { return missed_; }
    /// Reads the record; `found` says whether it is there.
    Ending find(std::string_view key, std::span<char> buffer, bool& found, AbortCounts&) {
      found = access_.read(key, buffer);
      return Ending::kCommitted;
    }
    Ending update(std::string_view key, std::string_view value, AbortCounts&) {
      access_.update(key, value);
      return Ending::kCommitted;
    }
    Ending put(std::string_view key, std::string_view value, AbortCounts& aborts) { return update(key, value, aborts); }
    Ending insert(std::string_view key, std::string_view value, AbortCounts& aborts) {
      if (access_.insert(key, value)) return Ending::kCommitted;
      ++aborts[static_cast<std::size_t>(AbortReason::kOutOfMemory)];
      return Ending::kGaveUp;
    }
    template <typename Change>
    Ending modify(std::string_view key, std::span<char> buffer, Change&& change, AbortCounts&) {
      access_.modify(key, buffer, change);
      return Ending::kCommitted;
    }
    /// Runs the steps one after the other. Each step is atomic by itself, but all together are not: those before one
    /// that fails have taken effect.
    template <typename Change>
    Ending run_all(std::span<const Step> steps, std::uint32_t fields, std::span<char> buffer, Change&& change,
                   AbortCounts& aborts) {
      for (carried_out_ = 0; carried_out_ < steps.size(); ++carried_out_) {
        const Step& step = steps[carried_out_];
        const Ending ending = run_step(step, step.reads(fields), buffer, change, aborts);
        if (ending != Ending::kCommitted) return ending;
      }
      return Ending::kCommitted;
    }
    /// Returns how many steps of the last run_all() have taken effect.
    std::size_t carried_out() const { return carried_out_; }
    template <typename Restart, typename Visit>
    Ending scan(std::string_view from, std::size_t limit, std::span<char> buffer, Restart&& restart, Visit&& visit,
                AbortCounts&) {
      restart();
      access_.scan(from, limit, buffer, visit);
      return Ending::kCommitted;
    }
    void collect() { access_.collect(); }

   private:
    template <typename Change>
    Ending run_step(const Step& step, bool reads, std::span<char> buffer, Change&& change, AbortCounts& aborts) {
      const std::string_view key = step.key.view();
      switch (step.operation) {
        case Operation::kRead: return read(key, buffer, aborts);
        case Operation::kInsert: return insert(key, change(step), aborts);
        case Operation::kScan:
          access_.scan(key, step.length, buffer, [](std::string_view, std::string_view) { return true; });
          return Ending::kCommitted;
        case Operation::kUpdate:
        case Operation::kPut:
        case Operation::kReadModifyWrite: break;
      }
      const auto changed = [&](std::span<char>) { return change(step); };
      return reads ? modify(key, buffer, changed, aborts) : update(key, change(step), aborts);
    }

    kv::Store& store_;
    kv::Access& access_;
    std::uint64_t missed_ = 0;
    std::size_t carried_out_ = 0;
  };

  static Result<std::unique_ptr<BareStore>> open(const Settings& settings, const Parameters& parameters) {
    const auto hash_keys = parameters.hash ? std::optional(parameters.keys) : std::nullopt;
    Result<std::unique_ptr<kv::Store>> store = kv::Store::open(settings.options, hash_keys);
    if (!store.ok()) return store.status();
    return std::make_unique<BareStore>(std::move(*store));
  }

  explicit BareStore(std::unique_ptr<kv::Store> store) : store_(std::move(store)) {}

  Result<std::unique_ptr<Session>> session(std::uint64_t /*seed*/) { return std::make_unique<Session>(*store_); }
  StoreFigures figures() const { return store_->figures(); }

 private:
  std::unique_ptr<kv::Store> store_;
};

}  // namespace granary::bench::ycsb
