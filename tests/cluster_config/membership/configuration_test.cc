// The configuration's text: what is written is read, and anything else is refused.

#include <string>

#include <gmock/gmock.h>

#include "cluster_config/membership/configuration.h"
#include "src/base/random.h"

namespace granary::membership::tests {
namespace {

Configuration example() {
  return {.cluster = "bank \"α\"",
          .cluster_id = 0xfedcba9876543210,
          .former_id = 0xfedcba9876543200,
          .fingerprint = 0xffffffffffffffff,
          .version = 1ull << 60,
          .number = 1ull << 59,
          .leads = 3,
          .members = {{.id = 0, .generation = 1, .state = MemberState::kDead, .address = "10.0.0.1:7000"},
                      {.id = 3,
                       .generation = 4'000'000'000,
                       .state = MemberState::kServing,
                       .address = "a\nb\\c",
                       .protocol = 0xfedcba9876543211,
                       .release = "0.1.0 (\"x\")",
                       .has_data = true,
                       .data_life = 7,
                       .recovers = false,
                       .quiet = {.number = 1ull << 59, .epoch = 77}},
                      {.id = kMostMembers - 1, .generation = 2, .state = MemberState::kLeft, .address = ""}},
          .owed = {{.node = 0,
                    .generation = 1,
                    .number = 1ull << 58,
                    .phase = RecoveryPhase::kSettling,
                    .claimed_by = 3,
                    .claimed_generation = 4'000'000'000,
                    .declined = {{.node = 3, .generation = 4'000'000'000}, {.node = 5, .generation = 2}}},
                   {.node = kMostMembers - 1, .generation = 1, .number = 12}}};
}

TEST(Configuration, IsReadAsWritten) {
  const Result<Configuration> read = configuration_of(to_text(example()));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(*read, example());
}

TEST(Configuration, OtherTextsAreRefused) {
  const std::string sound = to_text(example());
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = sound;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  };
  const std::string texts[] = {
      "",
      "[]",
      "null",
      "{}",
      std::string(100'000, '['),
      changed("\"format\": 2", "\"format\": 3"),
      changed("\"leads\": 3", "\"leads\": 4"),
      changed("\"leads\": 3", "\"leads\": \"3\""),
      changed("\"owed\"", "\"debt\""),
      changed("\"settling\"", "\"resting\""),
      changed("\"node\": 0", "\"node\": 7"),
      changed("\"claimed_by\": 3", "\"claimed_by\": -3"),
      changed("\"epoch\": 77", "\"epoch\": true"),
      changed("\"recovers\": false", "\"recovers\": 0"),
      changed("\"declined\": [", "\"declined\": [7,"),
      changed("\"declined\": [", "\"declined\": [{},"),
      changed("1152921504606846976", "0"),
      changed("1152921504606846976", "-1"),
      changed("1152921504606846976", "1.5"),
      changed("1152921504606846976", "99999999999999999999999"),
      changed("fedcba9876543210", "0000000000000000"),
      changed("fedcba9876543210", "fedcba987654321"),
      changed("fedcba9876543210", "fedcba987654321g"),
      changed("\"serving\"", "\"asleep\""),
      changed("\"serving\"", "7"),
      changed("4000000000", "0"),
      changed("4000000000", "4294967296"),
      changed("\"id\": 3", "\"id\": 0"),
      changed("\"id\": 3", "\"id\": 70000"),
      changed("\"id\": 4095", "\"id\": 4096"),
      changed("\"id\": 4095", "\"id\": 1"),
      changed("10.0.0.1:7000", std::string(kMostAddressBytes + 1, 'x')),
      changed("fedcba9876543211", "fedcba987654321"),
      changed("\"has_data\": true", "\"has_data\": 1"),
      changed("\"data_life\": 7", "\"data_life\": 4000000001"),
      changed("0.1.0", std::string(kMostReleaseBytes + 1, 'x')),
  };
  for (const std::string& text : texts) {
    const Result<Configuration> read = configuration_of(text);
    EXPECT_FALSE(read.ok()) << text.substr(0, 1000);
    EXPECT_EQ(read.status().code(), StatusCode::kDamaged);
  }
}

/// Such a document lies at a board whose cluster has run an older release before.
TEST(Configuration, OfAnOlderReleaseTheDeadOweSomething) {
  const Result<Configuration> read = configuration_of(
      R"({"format": 1, "cluster": "bank", "cluster_id": "00000000000000aa", "fingerprint": "00000000000000bb",
          "version": 9, "members": [
           {"id": 1, "generation": 2, "state": "left", "address": ""},
           {"id": 2, "generation": 3, "state": "dead", "address": ""}]})");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->number, 9u);
  EXPECT_EQ(read->owed, (std::vector<Owed>{{.node = 2, .generation = 3, .number = 9}}));
}

TEST(Configuration, DamagedTextsAreRefusedOrSound) {
  const std::string sound = to_text(example());
  for (std::size_t size = 0; size + 2 < sound.size(); ++size) {
    EXPECT_FALSE(configuration_of(sound.substr(0, size)).ok()) << size;
  }
  base::Random random(1);
  for (int round = 0; round < 20'000; ++round) {
    std::string text = sound;
    text[random.below(text.size())] = static_cast<char>(random.below(256));
    const Result<Configuration> read = configuration_of(text);
    EXPECT_TRUE(!read.ok() || configuration_of(to_text(*read)).ok());
  }
}

TEST(Configuration, TextThatIsNoUtf8DoesNoHarm) {
  Configuration configuration = example();
  configuration.members[0].address = "\xff\xfe";
  EXPECT_TRUE(configuration_of(to_text(configuration)).ok());
}

TEST(Configuration, MembersAreKeptInOrder) {
  Configuration configuration;
  for (const NodeId id : {5, 1, 3, 1}) configuration.add(id).generation = 1;
  ASSERT_EQ(configuration.members.size(), 3u);
  EXPECT_EQ(configuration.members[0].id, 1);
  EXPECT_EQ(configuration.members[1].id, 3);
  EXPECT_EQ(configuration.members[2].id, 5);
  EXPECT_EQ(configuration.find(2), nullptr);
  EXPECT_EQ(configuration.find(6), nullptr);
}

TEST(Configuration, WhoIsGoneOrNeverCameIsMissing) {
  Configuration configuration;
  for (const NodeId id : {1, 2, 3, 4}) configuration.add(id);
  configuration.members[1].state = MemberState::kServing;
  configuration.members[2].state = MemberState::kLeft;
  configuration.members[3].state = MemberState::kDead;
  EXPECT_TRUE(configuration.lives(1));
  EXPECT_TRUE(configuration.lives(2));
  EXPECT_FALSE(configuration.lives(3));
  const NodeId wanted[] = {1, 2, 3, 4, 5};
  EXPECT_EQ(configuration.missing(wanted), (std::vector<NodeId>{3, 4, 5}));
}

TEST(Configuration, WhoIsGoneDoesNotLead) {
  Configuration configuration = example();
  EXPECT_EQ(configuration.leader()->id, 3);
  configuration.members[1].state = MemberState::kDead;
  EXPECT_EQ(configuration.leader(), nullptr);
}

/// A member's notes, claims and phases begin nothing anew (R8).
TEST(Configuration, TheNumberGrowsWithLivesOnly) {
  Configuration before;
  for (const NodeId id : {1, 2, 3})
    before.add(id) = {.id = id, .generation = 1, .state = MemberState::kJoining, .address = {}};
  Configuration first = before;
  count_lives({}, first);
  EXPECT_EQ(first.number, 1u);
  EXPECT_EQ(first.leader()->id, 1);

  Configuration serving = first;
  serving.find(2)->state = MemberState::kServing;
  serving.find(3)->note = "late";
  serving.find(1)->quiet = {.number = 1, .epoch = 5};
  count_lives(first, serving);
  EXPECT_EQ(serving.number, 1u);
  EXPECT_EQ(serving.leader()->id, 1) << "who leads stays until the number grows";

  Configuration died = serving;
  died.find(1)->state = MemberState::kDead;
  count_lives(serving, died);
  EXPECT_EQ(died.number, 2u);
  EXPECT_EQ(died.leader()->id, 2);
  EXPECT_EQ(died.owed, (std::vector<Owed>{{.node = 1, .generation = 1, .number = 2}}));

  Configuration back = died;
  back.find(1)->generation = 2;
  back.find(1)->state = MemberState::kJoining;
  count_lives(died, back);
  EXPECT_EQ(back.number, 3u);
  EXPECT_EQ(back.leader()->id, 2) << "who serves leads before who joins";
  EXPECT_EQ(back.owed, died.owed) << "a next life takes nothing over by beginning";

  Configuration left = back;
  left.find(3)->state = MemberState::kLeft;
  count_lives(back, left);
  EXPECT_EQ(left.number, 4u);
  EXPECT_EQ(left.owed, died.owed) << "who left in order owes nothing";
}

/// Node 1 owes what its life 1 has left, and its life 2 has begun, and ends without having served. Node 2 is dead.
/// What others may count on is that a member which can recovers a dead life, whatever it has in hand at present.
TEST(Configuration, ALifeThatHasGivenUpIsNotCountedOn) {
  Member member{.id = 1, .generation = 2, .state = MemberState::kServing, .address = {}};
  Owed debt{.node = 3,
            .generation = 1,
            .number = 5,
            .declined = {{.node = 1, .generation = 1}, {.node = 2, .generation = 2}}};
  EXPECT_TRUE(recovers(member, debt)) << "a former life and another node have";
  debt.declined.push_back({.node = 1, .generation = 2});
  EXPECT_FALSE(recovers(member, debt));
  debt.claimed_by = 1;
  debt.claimed_generation = 2;
  EXPECT_FALSE(recovers(member, debt)) << "it may give up again";
  debt.declined.clear();
  member.recovers = false;
  EXPECT_FALSE(recovers(member, debt));
  member.recovers = true;
  member.state = MemberState::kReady;
  EXPECT_FALSE(recovers(member, debt)) << "it may not begin to serve";
  debt.node = 1;
  member.state = MemberState::kServing;
  EXPECT_FALSE(recovers(member, debt)) << "who serves has taken over what its own former life owed";
}

class LoneStart : public testing::Test {
 protected:
  /// The lives that node 1 owes something for when its life 2 has ended.
  std::vector<Generation> owed_after(MemberState end = MemberState::kDead) const {
    Configuration after = before_;
    after.find(1)->state = end;
    count_lives(before_, after);
    EXPECT_EQ(after.number, before_.number + 1);
    std::vector<Generation> lives;
    for (const Owed& debt : after.owed) lives.push_back(debt.node == 1 ? debt.generation : 0);
    return lives;
  }

  Configuration before_{.version = 9,
                        .number = 7,
                        .members = {{.id = 1, .generation = 2, .state = MemberState::kReady, .address = {}},
                                    {.id = 2, .generation = 1, .state = MemberState::kDead, .address = {}}},
                        .owed = {{.node = 1, .generation = 1, .number = 5}}};
};

TEST_F(LoneStart, AddsNothingToWhatItsNodeOwes) {
  using testing::ElementsAre;
  EXPECT_THAT(owed_after(), ElementsAre(1));
  EXPECT_THAT(owed_after(MemberState::kLeft), ElementsAre(1));
  before_.find(1)->state = MemberState::kJoining;
  EXPECT_THAT(owed_after(), ElementsAre(1));
  before_.find(2)->state = MemberState::kJoining;
  EXPECT_THAT(owed_after(), ElementsAre(1)) << "nobody has let node 2 in";
}

TEST_F(LoneStart, OwesSomethingIfNothingElseStandsForIt) {
  const Configuration lone = before_;
  before_.owed.clear();
  EXPECT_THAT(owed_after(), testing::ElementsAre(2)) << "its node owes nothing else";
  before_.owed = {{.node = 2, .generation = 1, .number = 5}};
  EXPECT_THAT(owed_after(), testing::ElementsAre(0, 2)) << "another node's debt says nothing of this one";
  before_ = lone;
  before_.find(1)->state = MemberState::kServing;
  EXPECT_THAT(owed_after(), testing::ElementsAre(1, 2)) << "it may hold something";
  before_ = lone;
  for (const MemberState other : {MemberState::kReady, MemberState::kServing}) {
    before_.find(2)->state = other;
    EXPECT_THAT(owed_after(), testing::ElementsAre(1, 2)) << "node 2 has to cut it off";
  }
  before_ = lone;
  before_.owed[0].claimed_by = 1;
  before_.owed[0].claimed_generation = 2;
  EXPECT_THAT(owed_after(), testing::ElementsAre(1, 2)) << "it may be recovering the other life";
}

TEST_F(LoneStart, AddsNothingThoughTheNextOneHasBegun) {
  Configuration after = before_;
  *after.find(1) = {.id = 1, .generation = 3, .state = MemberState::kJoining, .address = {}};
  count_lives(before_, after);
  EXPECT_EQ(after.owed, before_.owed);
  EXPECT_EQ(after.number, before_.number + 1);
}

TEST(Configuration, ALifeThatANextOneHasOvertakenOwes) {
  Configuration before;
  before.add(1) = {.id = 1, .generation = 4, .state = MemberState::kServing, .address = {}};
  before.number = 10;
  Configuration after = before;
  *after.find(1) = {.id = 1, .generation = 5, .state = MemberState::kJoining, .address = {}};
  count_lives(before, after);
  EXPECT_EQ(after.number, 11u);
  EXPECT_NE(after.debt(1, 4), nullptr);
  EXPECT_EQ(after.debt(1, 5), nullptr);
}

}  // namespace
}  // namespace granary::membership::tests
