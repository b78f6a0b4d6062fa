#pragma once
// One worker's requests on a store; the same code for the engine and for the bare index.

#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include "bench/store/store_workload.h"
#include "bench/ycsb/requests.h"

namespace granary::bench::ycsb {

/// Which transaction type each operation of a mix is reported as.
struct TypeMap {
  explicit TypeMap(const Mix& mix) {
    for (std::size_t i = 0; i < kOperations; ++i) {
      if (mix.shares[i] == 0) continue;
      type_of[i] = static_cast<std::uint8_t>(names.size());
      names.emplace_back(name(static_cast<Operation>(i)));
    }
  }
  std::array<std::uint8_t, kOperations> type_of{};
  std::vector<std::string> names;
};

template <typename Store>
class YcsbClient final : public store::StoreClient<Store> {
 public:
  using Session = typename Store::Session;

  /// `additions` gets the number of committed read-modify-writes at the end.
  YcsbClient(std::unique_ptr<Session> session, const Parameters& parameters, const TypeMap& types, const Zipf& zipf,
             KeySpace& keys, std::uint32_t worker, std::atomic<std::uint64_t>& additions)
      : store::StoreClient<Store>(std::move(session)),
        types_(types),
        keys_(keys),
        random_(parameters.seed, (std::uint64_t{parameters.share.node} << 32) + worker + 1),
        requests_(parameters, zipf, keys, random_),
        additions_(additions),
        buffer_(parameters.value_bytes),
        value_(parameters.value_bytes) {}

  ~YcsbClient() override { additions_.fetch_add(added_, std::memory_order_relaxed); }

  Request run_one() override {
    const Operation operation = requests_.next_operation();
    const std::uint8_t type = types_.type_of[static_cast<std::size_t>(operation)];
    return {type, run(operation, this->aborts(type))};
  }

 private:
  using store::StoreClient<Store>::session_;

  Ending run(Operation operation, AbortCounts& aborts) {
    switch (operation) {
      case Operation::kRead: return session_->read(KeyBytes(requests_.next_key()).view(), buffer_, aborts);
      case Operation::kReadModifyWrite: return add_one(KeyBytes(requests_.next_key()), aborts);
      case Operation::kUpdate:
        set_counter(value_.data(), value_.size(), ++writes_);
        return session_->update(KeyBytes(requests_.next_key()).view(), view(value_), aborts);
      case Operation::kInsert:
        set_counter(value_.data(), value_.size(), 0);
        return session_->insert(KeyBytes(keys_.take_next()).view(), view(value_), aborts);
      case Operation::kScan: break;
    }
    const KeyBytes from(requests_.next_key());
    return session_->scan(
        from.view(), requests_.next_scan_length(), buffer_, [](std::string_view, std::string_view) { return true; },
        aborts);
  }

  Ending add_one(KeyBytes key, AbortCounts& aborts) {
    const auto change = [](std::span<char> value) {
      set_counter(value.data(), value.size(), counter_of({value.data(), value.size()}) + 1);
      return std::string_view(value.data(), value.size());
    };
    const Ending ending = session_->modify(key.view(), buffer_, change, aborts);
    if (ending == Ending::kCommitted) ++added_;
    return ending;
  }

  static std::string_view view(const std::vector<char>& bytes) { return {bytes.data(), bytes.size()}; }

  const TypeMap& types_;
  KeySpace& keys_;
  base::Random random_;
  Requests requests_;
  std::atomic<std::uint64_t>&
      additions_;  // added to once by each client at its end, read after all have ended; relaxed
  std::vector<char> buffer_, value_;
  std::uint64_t writes_ = 0, added_ = 0;
};

}  // namespace granary::bench::ycsb
