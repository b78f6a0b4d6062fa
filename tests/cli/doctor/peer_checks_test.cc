// Two doctors over loopback, and doctors that meet something else.

#include "src/cli/doctor/peer_checks.h"

#include <array>
#include <string>
#include <thread>

#include <gmock/gmock.h>

#include "src/cli/doctor/greeting.h"
#include "src/cli/doctor/listener.h"
#include "src/cli/doctor/stream.h"
#include "tests/cli/cluster_check/port.h"

namespace granary::doctor {
namespace {

using cluster_check::Findings;
using testing::HasSubstr;

constexpr std::uint32_t kPatience_ms = 10'000;

std::string text_of_check(const std::string& place) {
  return cluster_check::text_of(check_peer(peer_address_of(place).value()));
}

/// A listener that serves one peer.
class OneVisit {
 public:
  OneVisit() : thread_([this] { served_ = listener_.serve_one(kPatience_ms); }) {}
  std::uint16_t port() const { return listener_.port(); }
  Listener::Served served() {
    thread_.join();
    return served_.value();
  }

 private:
  Listener listener_ = Listener::open(0).value();
  Result<Listener::Served> served_ = Listener::Served{};
  std::thread thread_;
};

TEST(PeerChecks, TwoDoctorsMeasureWhatIsBetweenThem) {
  OneVisit visit;
  const Findings findings = check_peer({"127.0.0.1", visit.port()});
  const Listener::Served served = visit.served();
  EXPECT_EQ(served.peer, "127.0.0.1");
  EXPECT_EQ(served.trouble, "");
  EXPECT_EQ(served.echoes, 100u);
  EXPECT_FALSE(any_bad(findings)) << cluster_check::text_of(findings);
  ASSERT_EQ(findings.size(), 5u);
  EXPECT_EQ(findings[1].subject, "release");
  EXPECT_THAT(findings[1].found, HasSubstr("on both hosts"));
  EXPECT_THAT(findings[2].found, HasSubstr("TCP, 100 echoes: "));
  EXPECT_EQ(findings[3].subject, "clock difference");
  EXPECT_EQ(findings[4].subject, "RDMA round trip");
}

TEST(PeerChecks, WhoeverIsNoDoctorIsNamed) {
  const tests::Port nobody(""), mail("220 mail.example.org\r\n"), endless(std::string(100'000, 'x'));
  EXPECT_THAT(text_of_check(nobody.place()), HasSubstr("Connection refused"));
  EXPECT_THAT(text_of_check(nobody.place()), HasSubstr("'granary doctor --listen' on 127.0.0.1"));
  EXPECT_THAT(text_of_check(mail.place()), HasSubstr("what listens there is no granary doctor"));
  EXPECT_THAT(text_of_check(endless.place()), HasSubstr("what listens there is no granary doctor"));
  EXPECT_THAT(text_of_check("no-such-host.invalid"), HasSubstr("no such host"));
}

/// The system takes connections for a listener that accepts none yet.
TEST(PeerChecks, AListenerThatSaysNothingIsNotWaitedForForever) {
  const Listener listener = Listener::open(0).value();
  EXPECT_THAT(text_of_check("127.0.0.1:" + std::to_string(listener.port())), HasSubstr("it says nothing"));
}

TEST(PeerChecks, AnotherReleaseIsJudgedByItsProtocol) {
  Greeting other = own_greeting();
  other.release = "9.9.9";
  const auto check = [&] {
    const tests::Port port(line_of(other));
    return check_peer(peer_address_of(port.place()).value());
  };
  EXPECT_EQ(check().at(1).verdict, cluster_check::Verdict::kNote);
  EXPECT_THAT(check().at(1).found, HasSubstr("there 9.9.9, here "));
  EXPECT_THAT(check().at(2).found, HasSubstr("echo 1: it closed the connection"));
  other.cluster_protocol += 1;
  EXPECT_EQ(check().at(1).verdict, cluster_check::Verdict::kBad);
  EXPECT_THAT(check().at(1).mend, HasSubstr("the same Granary"));
  other.doctor_protocol += 1;
  EXPECT_EQ(check().size(), 2u) << "no echoes in a protocol that is not known";
}

TEST(PeerChecks, AListenerOutlastsWhatIsNoDoctor) {
  const auto visit_with = [](const std::string& words) {
    OneVisit visit;
    {
      Stream stream = Stream::connect("127.0.0.1", visit.port(), kPatience_ms).value();
      EXPECT_TRUE(stream.send(words).ok());
    }
    return visit.served().trouble;
  };
  EXPECT_EQ(visit_with("GET / HTTP/1.1\n"), "it is no granary doctor");
  EXPECT_THAT(visit_with(std::string(1000, 'x')), HasSubstr("no line ends within 256 bytes"));
  EXPECT_THAT(visit_with("granary-doctor 77 1 9.9.9\n"), HasSubstr("it speaks protocol 77 of the doctor"));
  EXPECT_EQ(visit_with(""), "it closed the connection");
  EXPECT_NE(visit_with(line_of(own_greeting()) + "short"), "");
}

TEST(PeerChecks, ATakenPortIsNamed) {
  const Listener first = Listener::open(0).value();
  const auto second = Listener::open(first.port());
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(second.status().message(), HasSubstr("Address already in use"));
}

TEST(Greetings, AreReadAsTheyWereWritten) {
  const std::string line = line_of({.doctor_protocol = 1, .cluster_protocol = 77, .release = "0.1.0 (commit abc)"});
  EXPECT_EQ(line, "granary-doctor 1 77 0.1.0 (commit abc)\n");
  const auto read = greeting_of(line.substr(0, line.size() - 1));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->cluster_protocol, 77u);
  EXPECT_EQ(read->release, "0.1.0 (commit abc)");
  for (const char* wrong :
       {"", "granary-doctor", "granary-doctor 1", "granary-doctor 1 77", "granary-doctor x 77 a",
        "granary-doctor 1 -7 a", "granary-doctor 99999999999999 1 a", "other 1 77 a", "granary-doctor 1 77 \x1b[2J"})
    EXPECT_FALSE(greeting_of(wrong).has_value()) << wrong;
  EXPECT_LE(line_of({.release = std::string(1000, 'r')}).size(), kLongestGreeting);
}

TEST(PeerAddresses, AreHostsWithOrWithoutAPort) {
  const auto read = [](const char* text) {
    const auto peer = peer_address_of(text);
    return peer.ok() ? peer->host + " " + std::to_string(peer->port) : "refused";
  };
  EXPECT_EQ(read("hostb"), "hostb 18520");
  EXPECT_EQ(read("10.0.0.2:19000"), "10.0.0.2 19000");
  EXPECT_EQ(read("::1"), "::1 18520");
  EXPECT_EQ(read("[::1]"), "::1 18520");
  EXPECT_EQ(read("[::1]:19000"), "::1 19000");
  for (const char* wrong :
       {"", ":19000", "hostb:", "hostb:0", "hostb:65536", "hostb:x", "hostb:1x", "[::1]19000", "[]"})
    EXPECT_EQ(read(wrong), "refused") << wrong;
}

TEST(ClockDifferences, ComeFromTheFastestEcho) {
  // The peer is 1000 ns ahead, and takes 10 ns to answer; the way there takes 40 ns and back 60 ns.
  const EchoTimes fast{.sent_ns = 5000, .received_ns = 6040, .returned_ns = 6050, .round_trip_ns = 110};
  const EchoTimes slow{.sent_ns = 9000, .received_ns = 19'000, .returned_ns = 19'010, .round_trip_ns = 9100};
  const ClockDifference ahead = clock_difference(std::array{slow, fast});
  EXPECT_EQ(ahead.bound_ns, 50u);
  EXPECT_EQ(ahead.ahead_ns, 990);
  const EchoTimes behind{.sent_ns = 5000, .received_ns = 4050, .returned_ns = 4050, .round_trip_ns = 100};
  EXPECT_EQ(clock_difference({&behind, 1}).ahead_ns, -1000);
}

}  // namespace
}  // namespace granary::doctor
