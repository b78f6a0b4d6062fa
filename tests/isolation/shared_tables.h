#pragma once
// The stage for shared tables at their owner: the rows x = 10 and y = 20 of a shared table, which another node
// (tests/isolation/remote_holder.h) may hold.

#include <optional>
#include <string_view>

#include "src/base/test_hooks.h"
#include "tests/isolation/isolation_test.h"
#include "tests/isolation/remote_holder.h"

namespace granary::tests {

class SharedTables : WithSharedTables, public Isolation {
 protected:
  static constexpr std::uint32_t kMaxValue = 2000;

  SharedTables() {
    table_ = db_.table("shared", {.max_value_bytes = kMaxValue, .shared = true});
    db_.commit([&](Transaction& t) {
      write(t, "x", 10);
      write(t, "y", 20);
    });
  }

  record::SharedRecord& record(std::string_view key) { return shared_record(table_, key); }
  std::uint64_t epoch() { return db_->current_epoch(); }

  void write_back(RemoteHolder& holder, std::string_view key, std::optional<std::string_view> value) {
    WriteBack(record(key), key, value, holder.next_tid(epoch())).rest();
    holder.release();
  }
  AbortReason reason_of_put(std::string_view key, std::string_view value) {
    Transaction t = begin();
    EXPECT_EQ(t.put(table_, key, value), Outcome::kOk);
    return t.commit().reason;
  }
  /// The address and incarnation that another node would remember.
  struct Place {
    record::SharedRecord* record;
    std::uint64_t incarnation;
  };
  Place place(std::string_view key) { return {&record(key), incarnation(record(key))}; }

  void remove_and_free(std::string_view key) {
    db_.remove(table_, key);
    db_.collect_everything();
    EXPECT_FALSE(in_index(table_, key));
  }
};

/// Interleavings inside a commit with locks.
class SharedLocking : public SharedTables {
 protected:
  void SetUp() override {
    if (!base::kTestHooks) GTEST_SKIP() << "a build without sync points";
    if (asked_htm != Htm::kOff) GTEST_SKIP() << "it is about locks";
  }
};

}  // namespace granary::tests
