// The form of what is said to ptp4l, and that nothing else is taken for an answer.

#include "cluster_config/clock/ptp_message.h"

#include <gtest/gtest.h>

#include "src/base/random.h"
#include "tests/cluster_config/clock/fake_ptp4l.h"

namespace granary::cluster_config::clock::ptp {
namespace {

constexpr std::uint8_t kDomain = 24;

std::vector<std::uint8_t> an_answer(DataSet what) {
  Ptp4lState state;
  state.offset_ns = -1'234;
  state.grandmaster = {0, 0x11, 0x22, 0xFF, 0xFE, 0x33, 0x44, 0x55};
  const std::vector<std::uint8_t> request = get_request(what, kDomain, 0x1234);
  switch (what) {
    case DataSet::kCurrent: return answer_to(request, current_data(state));
    case DataSet::kPort: return answer_to(request, port_data(3, kSlave));
    case DataSet::kTimeStatus: return answer_to(request, time_status(state));
  }
  return {};
}
constexpr DataSet kAll[] = {DataSet::kCurrent, DataSet::kPort, DataSet::kTimeStatus};

TEST(PtpMessage, ARequestIsOneGet) {
  const std::vector<std::uint8_t> request = get_request(DataSet::kPort, kDomain, 0x1234);
  ASSERT_EQ(request.size(), 54u);
  EXPECT_EQ(request[0], 0x0D);
  EXPECT_EQ(request[1], 2);
  EXPECT_EQ(request[3], request.size());
  EXPECT_EQ(request[4], kDomain);
  EXPECT_EQ(request[30] << 8 | request[31], 0x1234);
  EXPECT_EQ(request[46], 0) << "GET";
  EXPECT_EQ(request[52] << 8 | request[53], 0x2004);
  EXPECT_FALSE(parse_answer(request, kDomain)) << "a request is no answer";
}

TEST(PtpMessage, AnswersAreRead) {
  const auto current = parse_answer(an_answer(DataSet::kCurrent), kDomain);
  ASSERT_TRUE(current);
  EXPECT_EQ(current->sequence, 0x1234);
  EXPECT_EQ(std::get<CurrentData>(current->data).steps_removed, 1);
  EXPECT_DOUBLE_EQ(std::get<CurrentData>(current->data).offset_ns, -1'234);
  EXPECT_DOUBLE_EQ(std::get<CurrentData>(current->data).path_delay_ns, 1'800);
  const auto port = parse_answer(an_answer(DataSet::kPort), kDomain);
  ASSERT_TRUE(port);
  EXPECT_EQ(std::get<PortData>(port->data).port, 3);
  EXPECT_EQ(std::get<PortData>(port->data).state, kSlave);
  const auto status = parse_answer(an_answer(DataSet::kTimeStatus), kDomain);
  ASSERT_TRUE(status);
  EXPECT_EQ(std::get<TimeStatus>(status->data).offset_ns, -1'234);
  EXPECT_TRUE(std::get<TimeStatus>(status->data).grandmaster_present);
  EXPECT_EQ(print(std::get<TimeStatus>(status->data).grandmaster), "001122.fffe.334455");
}

TEST(PtpMessage, AnAnswerOfAnyOtherLengthIsNone) {
  for (const DataSet what : kAll) {
    std::vector<std::uint8_t> answer = an_answer(what);
    std::vector<std::uint8_t> longer = answer;
    longer.push_back(0);
    EXPECT_FALSE(parse_answer(longer, kDomain));
    longer[3] += 1;
    EXPECT_FALSE(parse_answer(longer, kDomain));
    longer[51] += 1;
    EXPECT_FALSE(parse_answer(longer, kDomain)) << "of right form, but no data set of that length";
    while (!answer.empty()) {
      answer.pop_back();
      EXPECT_FALSE(parse_answer(answer, kDomain)) << answer.size();
    }
  }
}

TEST(PtpMessage, AnotherDomainVersionOrKindIsNone) {
  for (const std::size_t at : {0, 1, 4, 46, 49, 52}) {
    std::vector<std::uint8_t> answer = an_answer(DataSet::kCurrent);
    answer[at] ^= 1;
    EXPECT_FALSE(parse_answer(answer, kDomain)) << "byte " << at;
  }
}

TEST(PtpMessage, RandomBytesHarmNobody) {
  base::Random random(1, 1);
  for (int i = 0; i < 100'000; ++i) {
    std::vector<std::uint8_t> answer = an_answer(kAll[random.below(3)]);
    for (std::uint64_t changes = random.below(6); changes > 0; --changes)
      answer[random.below(answer.size())] = static_cast<std::uint8_t>(random.below(256));
    answer.resize(random.below(answer.size() + 1));
    (void)parse_answer(answer, kDomain);
  }
}

TEST(PtpMessage, IdentitiesAreWrittenAsLinuxptpDoes) {
  EXPECT_EQ(print(*parse_identity("0011aB.fffe.33cd55")), "0011ab.fffe.33cd55");
  for (const char* wrong : {"", "001122.fffe.33445", "001122.fffe.3344556", "001122-fffe.334455", "00112g.fffe.334455",
                            "001122ffffe.334455"})
    EXPECT_FALSE(parse_identity(wrong)) << wrong;
}

}  // namespace
}  // namespace granary::cluster_config::clock::ptp
