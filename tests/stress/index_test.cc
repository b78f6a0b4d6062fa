// A secondary index under concurrent updates: in every committed transaction and snapshot it agrees with its table.

#include <map>
#include <random>

#include "tests/support/threads.h"

namespace granary::tests {
namespace {

struct Member {
  std::uint32_t team;
  std::uint32_t payload;
};
constexpr std::uint32_t kMembers = 60;
constexpr std::uint32_t kTeams = 5;

class IndexStress : public testing::Test {
 protected:
  IndexStress() : database_(Database::open(stress_options()).value()) {
    members_ = database_->create_table<std::uint32_t, Member>("members").value();
    by_team_ = database_->create_index(members_, "by_team", {.parts = {value_part(&Member::team)}}).value();
  }

  using Teams = std::map<std::uint32_t, std::uint32_t>;  // member → team
  template <typename Reader>
  Teams by_table(Reader& reader) {
    Teams teams;
    (void)reader.scan(members_, 0, kMembers,
                      [&](std::uint32_t id, const Member& member) { return teams.emplace(id, member.team).second; });
    return teams;
  }
  template <typename Reader>
  Teams by_index(Reader& reader, bool& in_order) {
    Teams teams;
    std::uint32_t last = 0;
    (void)reader.scan(by_team_, {}, [&](std::string_view key, std::string_view value) {
      std::uint32_t id = 0;
      Member member{};
      in_order = in_order && decode_key(key, id) && value.size() == sizeof member;
      if (!in_order) return false;
      std::memcpy(&member, value.data(), sizeof member);
      in_order = in_order && member.team >= last;
      last = member.team;
      in_order = in_order && teams.emplace(id, member.team).second;  // one entry each
      return in_order;
    });
    return teams;
  }

  void write(Worker& worker, std::mt19937& random) {
    const std::uint32_t id = random() % kMembers;
    (void)worker.run([&](Transaction& t) {
      if (random() % 5 == 0) {
        (void)t.remove(members_, id);
      } else {
        (void)t.put(members_, id,
                    Member{static_cast<std::uint32_t>(random() % kTeams), static_cast<std::uint32_t>(random())});
      }
    });
  }

  std::unique_ptr<Database> database_;
  TypedTable<std::uint32_t, Member> members_;
  Index by_team_;
};

TEST_F(IndexStress, AgreesWithItsTableInEveryState) {
  std::atomic<std::uint64_t> looks{0}, wrong{0};
  const auto enough = [&] { return are_above({{looks, 10}}); };
  run_threads_until(enough, *database_, 4, [&](Worker& worker, unsigned me) {
    thread_local std::mt19937 random(me);
    if (me < 2) return write(worker, random);
    bool in_order = true, same = false;
    if (me == 2) {
      Transaction t = worker.begin();
      same = by_table(t) == by_index(t, in_order);
      if (!t.commit()) return;
    } else {
      Snapshot snapshot = worker.snapshot();
      same = by_table(snapshot) == by_index(snapshot, in_order);
    }
    looks.fetch_add(1);
    if (!same || !in_order) wrong.fetch_add(1);
  });
  EXPECT_EQ(wrong.load(), 0u);
  EXPECT_GT(looks.load(), 10u);
}

}  // namespace
}  // namespace granary::tests
