#pragma once
// Runs one worker's requests on a store. The code is the same for the engine and for the bare index.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "bench/store/store_workload.h"
#include "bench/ycsb/requests.h"

namespace granary::bench::ycsb {

/// Maps each operation of a mix to the transaction type that reports name. There is only one type if a transaction has
/// several operations.
struct TypeMap {
  explicit TypeMap(const Parameters& parameters) {
    if (parameters.ops > 1) {
      names.emplace_back("transaction");
      return;
    }
    for (std::size_t i = 0; i < kOperations; ++i) {
      if (!parameters.shares.has(static_cast<Operation>(i))) continue;
      type_of[i] = static_cast<std::uint8_t>(names.size());
      names.emplace_back(name(static_cast<Operation>(i)));
    }
  }
  std::array<std::uint8_t, kOperations> type_of{};
  std::vector<std::string> names;
};

/// Sums up the work of all clients. Each client adds its part when it ends, and the workload reads the sums when all
/// clients have ended. That orders the reads after the additions, so these are relaxed.
struct ClientSums {
  /// By Operation: those of committed transactions. Without transactions, those that have taken effect.
  std::array<std::atomic<std::uint64_t>, kOperations> committed{};
  std::atomic<std::uint64_t> missed{0};  ///< committed reads that found no record

  std::uint64_t count(Operation operation) const {
    return committed[static_cast<std::size_t>(operation)].load(std::memory_order_relaxed);
  }
};

template <typename Store>
class YcsbClient final : public store::StoreClient<Store> {
 public:
  using Session = typename Store::Session;

  YcsbClient(std::unique_ptr<Session> session, const Parameters& parameters, const TypeMap& types, const Zipf& zipf,
             KeySpace& keys, std::uint32_t worker, ClientSums& sums)
      : store::StoreClient<Store>(std::move(session)),
        types_(types),
        random_(parameters.seed, (std::uint64_t{parameters.share.node} << 32) + worker + 1),
        requests_(parameters, zipf, keys, random_),
        sums_(sums),
        buffer_(parameters.value_bytes),
        value_(parameters.value_bytes),
        fields_(parameters.fields),
        part_bytes_(parameters.part_bytes()),
        multi_get_(parameters.multi_get),
        steps_(parameters.in_steps() ? parameters.ops : 0) {}

  ~YcsbClient() override {
    for (std::size_t i = 0; i < kOperations; ++i)
      sums_.committed[i].fetch_add(committed_[i], std::memory_order_relaxed);
    if constexpr (requires { session_->missed(); })
      sums_.missed.fetch_add(session_->missed(), std::memory_order_relaxed);
  }

  Request run_one() override {
    if (!steps_.empty()) return run_steps();
    const Operation operation = requests_.next_operation();
    const std::uint8_t type = types_.type_of[static_cast<std::size_t>(operation)];
    const Ending ending = run(operation, this->aborts(type));
    if (ending == Ending::kCommitted) ++committed_[static_cast<std::size_t>(operation)];
    return {type, ending};
  }

 private:
  using store::StoreClient<Store>::session_;

  Ending run(Operation operation, AbortCounts& aborts) {
    switch (operation) {
      case Operation::kRead: return session_->read(KeyBytes(requests_.next_key()).view(), buffer_, aborts);
      case Operation::kReadModifyWrite: return add_one(KeyBytes(requests_.next_key()), aborts);
      case Operation::kUpdate:
        return session_->update(KeyBytes(requests_.next_key()).view(), whole_value(++writes_), aborts);
      case Operation::kPut: return session_->put(KeyBytes(requests_.next_key()).view(), whole_value(++writes_), aborts);
      case Operation::kInsert:
        return session_->insert(KeyBytes(requests_.next_new_key()).view(), whole_value(0), aborts);
      case Operation::kScan: break;
    }
    const KeyBytes from(requests_.next_key());
    return session_->scan(
        from.view(), requests_.next_scan_length(), buffer_, [] {},
        [](std::string_view, std::string_view) { return true; }, aborts);
  }

  Request run_steps() {
    requests_.next_steps(steps_);
    const std::uint8_t type = types_.type_of[static_cast<std::size_t>(steps_.front().operation)];
    const Ending ending = run_in_one(this->aborts(type));
    for (const Step& step : std::span(steps_).first(carried_out(ending)))
      ++committed_[static_cast<std::size_t>(step.operation)];
    return {type, ending};
  }
  /// Returns how many of the steps have taken effect. Without transactions, that may be some of them only.
  std::size_t carried_out(Ending ending) const {
    if constexpr (requires { session_->carried_out(); }) return session_->carried_out();
    return ending == Ending::kCommitted ? steps_.size() : 0;
  }

  /// Runs the steps in one transaction, on fields alone or on whole records.
  Ending run_in_one(AbortCounts& aborts) {
    const auto change = [this](const Step& step) { return changed(step); };
    if constexpr (requires { session_->run_fetched(steps_, Portion{}, buffer_, change, aborts); }) {
      const auto change_part = [this](const Step& step) { return changed_part(step); };
      if (part_bytes_ != 0)
        return session_->run_fetched(steps_, Portion{part_bytes_, true, fields_}, buffer_, change_part, aborts);
      if (multi_get_)
        return session_->run_fetched(steps_, Portion{buffer_.size(), false, fields_}, buffer_, change, aborts);
    }
    return session_->run_all(steps_, fields_, buffer_, change, aborts);
  }

  /// Returns the counter that the step writes, one more than the counter that it has read if it is a read-modify-write.
  std::uint64_t next_counter(const Step& step) {
    return step.operation == Operation::kReadModifyWrite ? counter_of(view(buffer_)) + 1 : ++writes_;
  }

  /// Returns what a step writes that reads fields alone. The field that it has read is at the buffer's beginning.
  std::string_view changed_part(const Step& step) {
    if (!step.reads(fields_)) return unread(step);
    const std::uint64_t counter = next_counter(step);
    std::memset(buffer_.data(), static_cast<int>(counter & 0x7f), part_bytes_);
    set_counter(buffer_.data(), part_bytes_, counter);
    return {buffer_.data(), part_bytes_};
  }

  /// Returns the record that the step writes. If it has read one, that is in the buffer.
  std::string_view changed(const Step& step) {
    if (!step.reads(fields_)) return unread(step);
    const std::uint64_t counter = next_counter(step);
    const std::size_t bytes = buffer_.size() / fields_;
    if (fields_ > 1) std::memset(buffer_.data() + step.field * bytes, static_cast<int>(counter & 0x7f), bytes);
    set_counter(buffer_.data(), buffer_.size(), counter);
    return view(buffer_);
  }

  /// Returns the record that a step writes without reading one.
  std::string_view unread(const Step& step) {
    return whole_value(step.operation == Operation::kInsert ? 0 : ++writes_);
  }
  /// Returns a record with this counter, also in each of its fields if steps read these alone.
  std::string_view whole_value(std::uint64_t counter) {
    const std::size_t piece = part_bytes_ == 0 ? value_.size() : part_bytes_;
    for (std::size_t from = 0; from < value_.size(); from += piece) set_counter(value_.data() + from, piece, counter);
    return view(value_);
  }

  Ending add_one(KeyBytes key, AbortCounts& aborts) {
    const auto change = [](std::span<char> value) {
      set_counter(value.data(), value.size(), counter_of({value.data(), value.size()}) + 1);
      return std::string_view(value.data(), value.size());
    };
    return session_->modify(key.view(), buffer_, change, aborts);
  }

  static std::string_view view(const std::vector<char>& bytes) { return {bytes.data(), bytes.size()}; }

  const TypeMap& types_;
  base::Random random_;
  Requests requests_;
  ClientSums& sums_;
  std::vector<char> buffer_, value_;
  const std::uint32_t fields_;
  const std::size_t part_bytes_;  // size of the field that a step reads and writes; 0: whole records
  const bool multi_get_;          // whether a transaction first reads all that it needs, and at last puts so
  std::vector<Step> steps_;       // the steps of one transaction; empty if each transaction is one operation
  std::uint64_t writes_ = 0;
  std::array<std::uint64_t, kOperations> committed_{};  // by Operation
};

}  // namespace granary::bench::ycsb
