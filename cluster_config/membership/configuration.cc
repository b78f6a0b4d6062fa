#include "cluster_config/membership/configuration.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <utility>

#include "src/base/test_hooks.h"

namespace granary::membership {
namespace {

using nlohmann::json;

constexpr std::uint64_t kFormat = 2;
constexpr std::uint64_t kFormatWithoutOwed = 1;  ///< from releases that let dead nodes come back only with all others
constexpr std::array<std::string_view, 5> kStates = {"joining", "ready", "serving", "left",
                                                     "dead"};  // in MemberState's order
constexpr std::array<std::string_view, 4> kPhases = {"waiting", "settling", "adopting",
                                                     "given up"};  // in RecoveryPhase's order

bool before(const Member& member, NodeId id) { return member.id < id; }

/// Returns a 64-bit value as text, since many readers take JSON's numbers as doubles.
std::string hexadecimal(std::uint64_t value) { return fmt::format("{:016x}", value); }

/// Reads members of an object, and remembers whether one was missing, of another kind, or too large.
class Fields {
 public:
  explicit Fields(const json& object) : object_(object), ok_(object.is_object()) {}

  template <typename T>
  T number(const char* key) {
    const json* const value = find(key);
    if (value == nullptr || !value->is_number_unsigned() ||
        value->get<std::uint64_t>() > std::numeric_limits<T>::max()) {
      return wrong<T>();
    }
    return value->get<T>();
  }
  std::string text(const char* key) {
    const json* const value = find(key);
    return value == nullptr || !value->is_string() ? wrong<std::string>() : value->get<std::string>();
  }
  std::uint64_t hexadecimal(const char* key) {
    const std::string digits = text(key);
    if (digits.size() != 16 || digits.find_first_not_of("0123456789abcdef") != std::string::npos) {
      return wrong<std::uint64_t>();
    }
    return std::stoull(digits, nullptr, 16);
  }
  bool flag(const char* key) {
    const json* const value = find(key);
    return value == nullptr || !value->is_boolean() ? wrong<bool>() : value->get<bool>();
  }
  /// Reads one of an enum's words, which are in the order of its values.
  template <typename T>
  T word(const char* key, std::span<const std::string_view> words) {
    const auto found = std::ranges::find(words, text(key));
    if (found == words.end()) return wrong<T>();
    return static_cast<T>(found - words.begin());
  }
  const json* array(const char* key) {
    const json* const value = find(key);
    return value == nullptr || !value->is_array() ? wrong<const json*>() : value;
  }
  bool ok() const { return ok_; }

 private:
  const json* find(const char* key) const {
    if (!object_.is_object()) return nullptr;
    const auto found = object_.find(key);
    return found == object_.end() ? nullptr : &*found;
  }
  template <typename T>
  T wrong() {
    ok_ = false;
    return T{};
  }

  const json& object_;
  bool ok_;
};

std::optional<Member> member_of(const json& object) {
  Fields fields(object);
  Member member{.id = fields.number<NodeId>("id"),
                .generation = fields.number<Generation>("generation"),
                .state = fields.word<MemberState>("state", kStates),
                .address = fields.text("address")};
  if (object.contains("note")) member.note = fields.text("note");
  if (object.contains("protocol")) member.protocol = fields.hexadecimal("protocol");
  if (object.contains("release")) member.release = fields.text("release");
  if (object.contains("has_data")) member.has_data = fields.flag("has_data");
  // Older releases count every life as one that had data.
  member.data_life = object.contains("data_life") ? fields.number<Generation>("data_life") : member.generation;
  if (object.contains("recovers")) member.recovers = fields.flag("recovers");
  if (object.contains("quiet"))
    member.quiet = {.number = fields.number<std::uint64_t>("quiet"),
                    .epoch = fields.number<std::uint64_t>("epoch"),
                    .logged = fields.flag("logged")};
  const bool sound = fields.ok() && member.generation != 0 && member.data_life <= member.generation &&
                     member.id < kMostMembers && member.address.size() <= kMostAddressBytes &&
                     member.note.size() <= kMostNoteBytes && member.release.size() <= kMostReleaseBytes;
  return sound ? std::optional(std::move(member)) : std::nullopt;
}

std::optional<Owed> owed_of(const json& object) {
  Fields fields(object);
  Owed owed{.node = fields.number<NodeId>("node"),
            .generation = fields.number<Generation>("generation"),
            .number = fields.number<std::uint64_t>("number"),
            .phase = fields.word<RecoveryPhase>("phase", kPhases)};
  if (object.contains("claimed_by")) {
    owed.claimed_by = fields.number<NodeId>("claimed_by");
    owed.claimed_generation = fields.number<Generation>("claimed_generation");
  }
  if (object.contains("declined")) {
    const json* const declined = fields.array("declined");
    if (!fields.ok()) return std::nullopt;
    for (const json& one : *declined) {
      Fields life(one);
      owed.declined.push_back(
          {.node = life.number<NodeId>("node"), .generation = life.number<Generation>("generation")});
      if (!life.ok()) return std::nullopt;
    }
  }
  const bool sound = fields.ok() && owed.generation != 0 && owed.node < kMostMembers;
  return sound ? std::optional(std::move(owed)) : std::nullopt;
}

/// Reads what the document says of lives that begin and end. Returns false if that is not sound.
bool take_lives(const json& document, Configuration& configuration) {
  Fields fields(document);
  configuration.number = fields.number<std::uint64_t>("number");
  if (document.contains("leads")) configuration.leads = fields.number<NodeId>("leads");
  const json* const owed = fields.array("owed");
  if (!fields.ok()) return false;
  for (const json& object : *owed) {
    std::optional<Owed> debt = owed_of(object);
    if (!debt || configuration.find(debt->node) == nullptr) return false;
    configuration.owed.push_back(std::move(*debt));
  }
  return !configuration.leads || configuration.find(*configuration.leads) != nullptr;
}

/// Counts lives in a document of an older release, which does not. There a dead node owes something until it serves
/// again.
void count_old_lives(Configuration& configuration) {
  configuration.number = configuration.version;
  for (const Member& member : configuration.members) {
    if (member.state != MemberState::kDead) continue;
    configuration.owed.push_back({.node = member.id, .generation = member.generation, .number = configuration.number});
  }
}

std::optional<Configuration> parse(const json& document) {
  Fields fields(document);
  const auto format = fields.number<std::uint64_t>("format");
  const bool known = format == kFormat || format == kFormatWithoutOwed;
  Configuration configuration{.cluster = fields.text("cluster"),
                              .cluster_id = fields.hexadecimal("cluster_id"),
                              .fingerprint = fields.hexadecimal("fingerprint"),
                              .version = fields.number<std::uint64_t>("version"),
                              .members = {}};
  const json* const members = fields.array("members");
  if (document.contains("former_id")) configuration.former_id = fields.hexadecimal("former_id");
  if (!fields.ok() || !known || configuration.version == 0 || configuration.cluster_id == 0) return std::nullopt;
  for (const json& object : *members) {
    std::optional<Member> member = member_of(object);
    if (!member) return std::nullopt;
    if (!configuration.members.empty() && configuration.members.back().id >= member->id) return std::nullopt;
    configuration.members.push_back(std::move(*member));
  }
  const bool sound = format == kFormat ? take_lives(document, configuration) : (count_old_lives(configuration), true);
  return sound ? std::optional(std::move(configuration)) : std::nullopt;
}

}  // namespace

std::string_view name(MemberState state) { return kStates[static_cast<std::size_t>(state)]; }
std::string_view name(RecoveryPhase phase) { return kPhases[static_cast<std::size_t>(phase)]; }

const Member* Configuration::find(NodeId id) const {
  const auto found = std::lower_bound(members.begin(), members.end(), id, before);
  return found != members.end() && found->id == id ? &*found : nullptr;
}

Member* Configuration::find(NodeId id) { return const_cast<Member*>(std::as_const(*this).find(id)); }

bool Configuration::lives(NodeId id) const {
  const Member* const member = find(id);
  return member != nullptr && member->live();
}

std::vector<NodeId> Configuration::missing(std::span<const NodeId> nodes) const {
  std::vector<NodeId> missing;
  std::ranges::copy_if(nodes, std::back_inserter(missing), [this](NodeId id) { return !lives(id); });
  return missing;
}

const Member* Configuration::leader() const {
  const Member* const member = leads ? find(*leads) : nullptr;
  return member != nullptr && member->live() ? member : nullptr;
}

const Owed* Configuration::debt(NodeId node, Generation generation) const {
  const auto found =
      std::ranges::find_if(owed, [&](const Owed& one) { return one.node == node && one.generation == generation; });
  return found == owed.end() ? nullptr : &*found;
}

Owed* Configuration::debt(NodeId node, Generation generation) {
  return const_cast<Owed*>(std::as_const(*this).debt(node, generation));
}

bool Configuration::owes(NodeId node) const { return std::ranges::find(owed, node, &Owed::node) != owed.end(); }

bool Configuration::is_claimed(const Owed& debt) const {
  const Member* const claimer = debt.claimed_generation == 0 ? nullptr : find(debt.claimed_by);
  return claimer != nullptr && claimer->live() && claimer->generation == debt.claimed_generation;
}

bool recovers(const Member& member, const Owed& debt) {
  const bool able = member.state == MemberState::kServing && member.recovers && member.id != debt.node;
  const auto declined = std::ranges::find(debt.declined, NamedLife{member.id, member.generation});
  return able && (declined == debt.declined.end() || base::injected("declined-is-forgotten"));
}

bool Configuration::quiet_since(std::uint64_t ended) const {
  return std::ranges::all_of(members, [ended](const Member& member) {
    return member.state != MemberState::kServing || member.quiet.number >= ended;
  });
}

Member& Configuration::add(NodeId id) {
  const auto place = std::lower_bound(members.begin(), members.end(), id, before);
  if (place != members.end() && place->id == id) return *place;
  return *members.insert(place, Member{.id = id, .generation = 0, .state = MemberState::kJoining, .address = {}});
}

namespace {

/// Whether the entry of an earlier life's debt stands for this life as well, which has ended, but not in order.
/// Otherwise each start of a node alone, after all nodes have died, would add an entry that stays until all of them
/// serve. The life needs no entry of its own if it never served, if no other member was ready or served at its end, and
/// if it has no claim:
///
/// - It holds nothing at other nodes, because a life begins no transaction there before it has said that it serves.
/// - It may have written to the memory of others only in messages, as the leader of epochs, or for a claim. Messages
///   and epochs go to members that are ready or serve, and none of those lives any more. So no member would have to cut
///   it off, or to be quiet about it. A member that becomes ready later does so in a configuration by which this life
///   is over. A claim keeps the entry of the life that has it, since the next claimer waits until that life is cut off.
/// - A recovery of the earlier life finds all that this life has written at home: it recovers the directory as it is
///   then, with all of its rings.
/// - D, C and the node's return wait for the earlier life's entry as they would for both.
bool is_covered(const Configuration& before, const Configuration& after, const Member& life) {
  const bool others = std::ranges::any_of(before.members, [&life](const Member& member) {
    return member.id != life.id && member.live() && member.state != MemberState::kJoining;
  });
  const bool claims = std::ranges::any_of(before.owed, [&life](const Owed& debt) {
    return debt.claimed_by == life.id && debt.claimed_generation == life.generation;
  });
  return life.state != MemberState::kServing && !others && !claims && after.owes(life.id);
}

}  // namespace

void count_lives(const Configuration& before, Configuration& after) {
  const auto goes_on = [](const Configuration& in, const Member& life) {
    const Member* const member = in.find(life.id);
    return member != nullptr && member->live() && member->generation == life.generation;
  };
  std::vector<Owed> owed;
  bool counts = false;
  for (const Member& life : before.members) {
    if (!life.live() || goes_on(after, life)) continue;
    counts = true;
    const Member* const now = after.find(life.id);
    const bool in_order = now != nullptr && now->generation == life.generation && now->state == MemberState::kLeft;
    if (!in_order && !is_covered(before, after, life))
      owed.push_back({.node = life.id, .generation = life.generation, .number = before.number + 1});
  }
  for (const Member& life : after.members) counts |= life.live() && !goes_on(before, life);
  if (!counts) return;
  after.number = before.number + 1;
  after.owed.insert(after.owed.end(), owed.begin(), owed.end());
  for (Owed& debt : after.owed) {
    std::erase_if(debt.declined, [&](const NamedLife& life) {
      const Member* const member = after.find(life.node);
      return member == nullptr || !member->live() || member->generation != life.generation;
    });
  }
  const auto serves = std::ranges::find(after.members, MemberState::kServing, &Member::state);
  const auto lives = std::ranges::find_if(after.members, [](const Member& member) { return member.live(); });
  after.leads.reset();
  if (lives != after.members.end()) after.leads = serves != after.members.end() ? serves->id : lives->id;
}

std::string to_text(const Configuration& configuration) {
  json members = json::array();
  for (const Member& member : configuration.members) {
    members.push_back({{"id", member.id},
                       {"generation", member.generation},
                       {"state", name(member.state)},
                       {"address", member.address}});
    if (!member.note.empty()) members.back()["note"] = member.note;
    if (member.protocol != 0) members.back()["protocol"] = hexadecimal(member.protocol);
    if (!member.release.empty()) members.back()["release"] = member.release;
    if (member.has_data) members.back()["has_data"] = true;
    if (member.data_life != member.generation) members.back()["data_life"] = member.data_life;
    if (!member.recovers) members.back()["recovers"] = false;
    if (member.quiet == Quiet{}) continue;
    members.back()["quiet"] = member.quiet.number;
    members.back()["epoch"] = member.quiet.epoch;
    members.back()["logged"] = member.quiet.logged;
  }
  json owed = json::array();
  for (const Owed& debt : configuration.owed) {
    owed.push_back(
        {{"node", debt.node}, {"generation", debt.generation}, {"number", debt.number}, {"phase", name(debt.phase)}});
    for (const NamedLife& life : debt.declined)
      owed.back()["declined"].push_back({{"node", life.node}, {"generation", life.generation}});
    if (debt.claimed_generation == 0) continue;
    owed.back()["claimed_by"] = debt.claimed_by;
    owed.back()["claimed_generation"] = debt.claimed_generation;
  }
  json document = {{"format", kFormat},
                   {"cluster", configuration.cluster},
                   {"cluster_id", hexadecimal(configuration.cluster_id)},
                   {"fingerprint", hexadecimal(configuration.fingerprint)},
                   {"version", configuration.version},
                   {"number", configuration.number},
                   {"members", std::move(members)},
                   {"owed", std::move(owed)}};
  if (configuration.former_id != 0) document["former_id"] = hexadecimal(configuration.former_id);
  if (configuration.leads) document["leads"] = *configuration.leads;
  return document.dump(1, ' ', false, json::error_handler_t::replace) + "\n";  // text that is no UTF-8 must not throw
}

Result<Configuration> configuration_of(std::string_view text) {
  const json document = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!document.is_discarded()) {
    if (std::optional<Configuration> configuration = parse(document)) return std::move(*configuration);
  }
  return Status(
      StatusCode::kDamaged,
      fmt::format("{} bytes that should be a cluster's configuration are none of format {}", text.size(), kFormat));
}

}  // namespace granary::membership
