// The sign of a ring changes behind each session and each piece of a message, so a receiver that looks at nothing else
// misses nothing (ring.h). Over the simulator, in which other WRITEs land between those of a message.

#include <gtest/gtest.h>

#include "src/base/shared_words.h"
#include "tests/rdma/mailbox/sim_mailbox.h"
#include "tests/support/seeds.h"

namespace granary::rdma::mailbox {
namespace {

/// Node a sends to node b, which looks at its ring only when the sign has changed.
class SignedPair : public MailboxPair {
 public:
  explicit SignedPair(std::uint64_t seed) : MailboxPair(seed) {}

  /// Lets time pass, until `done` or for so many steps. Returns whether it was done.
  template <typename Done>
  bool pass_until(Done&& done, int steps = 20'000) {
    for (; steps > 0; --steps) {
      step();
      take();
      if (done()) return true;
    }
    return false;
  }
  /// Sends a message and waits until it is received.
  bool deliver(const std::string& text) {
    const std::size_t before = received.size();
    if (!pass_until([&] { return a.sender->send(text) == SendResult::kTaken; })) return false;
    return pass_until([&] { return received.size() > before; }) && received.back() == text;
  }

  std::vector<std::string> received;

 private:
  void take() {
    const std::uint64_t word =
        base::load_word(reinterpret_cast<const std::uint64_t*>(b.region->base() + kSign / base::kWord * base::kWord));
    const auto sign = static_cast<std::uint8_t>(word >> (8 * (kSign % base::kWord)));
    if (sign == seen_) return;
    seen_ = sign;
    while (const auto got = b.receiver->poll()) received.emplace_back(*got);
  }

  std::uint8_t seen_ = 0;
};

TEST(Sign, TellsOfEachMessage) {
  for (const std::uint64_t seed : tests::seeds(kSeeds / 5)) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    SignedPair pair(seed);
    ASSERT_TRUE(pair.pass_until([&] { return pair.a.sender->served(); })) << "or of no session";
    for (std::uint64_t i = 0; i < 30; ++i) ASSERT_TRUE(pair.deliver(message(i, i % 3 * 400))) << "message " << i;
  }
}

/// Whatever the number of signs that the earlier sender made.
TEST(Sign, OfALaterSenderGoesOnFromTheEarlierOne) {
  SignedPair pair(1);
  ConnectionId connection = 0;
  for (std::uint64_t messages = 0; messages < 20; ++messages) {
    ASSERT_TRUE(pair.pass_until([&] { return pair.a.sender->served(); })) << "after " << messages << " messages";
    for (std::uint64_t i = 0; i < messages; ++i) ASSERT_TRUE(pair.deliver(message(i, 10)));
    ASSERT_TRUE(pair.pass_until([&] { return pair.a.sender->quiet(); }));
    pair.a.endpoint->disconnect(connection++);
    ASSERT_TRUE(pair.a.connect(pair.b));
  }
}

}  // namespace
}  // namespace granary::rdma::mailbox
