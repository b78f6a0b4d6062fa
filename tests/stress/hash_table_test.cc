// Tables with a hash index under concurrent moves: in every committed transaction each token is under exactly one of
// its keys. Most keys are missing, so this rests on misses being validated while keys come, go, and are unhooked.

#include <random>
#include <string>

#include "tests/support/threads.h"

namespace granary::tests {
namespace {

class HashTableStress : public testing::TestWithParam<std::size_t> {
 protected:
  static constexpr unsigned kTokens = 8;
  static constexpr unsigned kPlaces = 6;  ///< of each token, a key each

  HashTableStress() : database_(Database::open(stress_options()).value()) {
    // Fewer slots than places: chains, too.
    tokens_ = database_->create_table("tokens", {.index = IndexKind::kHash, .expected_keys = 12}).value();
    Worker worker = database_->register_worker().value();
    for (unsigned token = 0; token < kTokens; ++token) {
      EXPECT_TRUE(worker.run([&](Transaction& t) { EXPECT_EQ(t.insert(tokens_, key(token, 0), "v"), Outcome::kOk); })
                      .committed());
    }
  }

  /// Of the length that the test is about: 8 bytes or more.
  std::string key(unsigned token, unsigned place) const {
    std::string bytes = "t" + std::to_string(token) + "p" + std::to_string(place);
    bytes.resize(GetParam(), '.');
    return bytes;
  }

  /// Where the token is; looks everywhere. kPlaces if it is not under exactly one key.
  unsigned find(Transaction& t, unsigned token) {
    unsigned found = kPlaces, times = 0;
    std::string value;
    for (unsigned place = 0; place < kPlaces; ++place) {
      if (t.get(tokens_, key(token, place), value) != Outcome::kOk) continue;
      found = place;
      ++times;
    }
    return times == 1 ? found : kPlaces;
  }

  void move(Worker& worker, std::mt19937& random) {
    const unsigned token = random() % kTokens;
    unsigned found = 0;
    const bool committed = worker
                               .run([&](Transaction& t) {
                                 found = find(t, token);
                                 if (found == kPlaces) return;
                                 const unsigned to = (found + 1 + random() % (kPlaces - 1)) % kPlaces;
                                 (void)t.remove(tokens_, key(token, found));
                                 maybe_yield(random());
                                 (void)t.insert(tokens_, key(token, to), std::string(random() % 200, 'v'));
                               })
                               .committed();
    if (committed) {
      EXPECT_NE(found, kPlaces) << "token " << token << " was in no place, or in two";
    }
  }

  std::unique_ptr<Database> database_;
  Table tokens_;
};
INSTANTIATE_TEST_SUITE_P(KeyBytes, HashTableStress, testing::Values(8, 20));

TEST_P(HashTableStress, EachTokenIsInOnePlace) {
  std::atomic<std::uint32_t> seed{0};
  run_threads(*database_, 3, [&](Worker& worker, unsigned) {
    std::mt19937 random(seed.fetch_add(1, std::memory_order_relaxed));
    for (int i = 0; i < 50; ++i) move(worker, random);
  });
  Worker worker = database_->register_worker().value();
  for (unsigned token = 0; token < kTokens; ++token) {
    unsigned found = kPlaces;
    EXPECT_TRUE(worker.run([&](Transaction& t) { found = find(t, token); }).committed());
    EXPECT_NE(found, kPlaces);
  }
}

}  // namespace
}  // namespace granary::tests
