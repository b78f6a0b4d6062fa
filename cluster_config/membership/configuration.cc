#include "cluster_config/membership/configuration.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

namespace granary::membership {
namespace {

using nlohmann::json;

constexpr std::uint64_t kFormat = 1;
constexpr std::array<std::string_view, 4> kStates = {"joining", "serving", "left", "dead"};  // in MemberState's order

bool before(const Member& member, NodeId id) { return member.id < id; }

/// A 64-bit value as text, since JSON's numbers are doubles to many readers.
std::string hexadecimal(std::uint64_t value) { return fmt::format("{:016x}", value); }

/// Takes members of an object, and remembers whether one was not there, or of another kind, or too large.
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
  MemberState state(const char* key) {
    const auto found = std::ranges::find(kStates, text(key));
    if (found == kStates.end()) return wrong<MemberState>();
    return static_cast<MemberState>(found - kStates.begin());
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
                .state = fields.state("state"),
                .address = fields.text("address")};
  if (object.contains("note")) member.note = fields.text("note");
  if (object.contains("protocol")) member.protocol = fields.hexadecimal("protocol");
  if (object.contains("release")) member.release = fields.text("release");
  const bool sound = fields.ok() && member.generation != 0 && member.id < kMostMembers &&
                     member.address.size() <= kMostAddressBytes && member.note.size() <= kMostNoteBytes &&
                     member.release.size() <= kMostReleaseBytes;
  return sound ? std::optional(std::move(member)) : std::nullopt;
}

std::optional<Configuration> parse(const json& document) {
  Fields fields(document);
  const bool known = fields.number<std::uint64_t>("format") == kFormat;
  Configuration configuration{.cluster = fields.text("cluster"),
                              .cluster_id = fields.hexadecimal("cluster_id"),
                              .fingerprint = fields.hexadecimal("fingerprint"),
                              .version = fields.number<std::uint64_t>("version"),
                              .members = {}};
  const json* const members = fields.array("members");
  if (!fields.ok() || !known || configuration.version == 0 || configuration.cluster_id == 0) return std::nullopt;
  for (const json& object : *members) {
    std::optional<Member> member = member_of(object);
    if (!member) return std::nullopt;
    if (!configuration.members.empty() && configuration.members.back().id >= member->id) return std::nullopt;
    configuration.members.push_back(std::move(*member));
  }
  return configuration;
}

}  // namespace

std::string_view name(MemberState state) { return kStates[static_cast<std::size_t>(state)]; }

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
  for (const MemberState state : {MemberState::kServing, MemberState::kJoining}) {
    const auto found = std::ranges::find(members, state, &Member::state);
    if (found != members.end()) return &*found;
  }
  return nullptr;
}

Member& Configuration::add(NodeId id) {
  const auto place = std::lower_bound(members.begin(), members.end(), id, before);
  if (place != members.end() && place->id == id) return *place;
  return *members.insert(place, Member{.id = id, .generation = 0, .state = MemberState::kJoining, .address = {}});
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
  }
  const json document = {{"format", kFormat},
                         {"cluster", configuration.cluster},
                         {"cluster_id", hexadecimal(configuration.cluster_id)},
                         {"fingerprint", hexadecimal(configuration.fingerprint)},
                         {"version", configuration.version},
                         {"members", std::move(members)}};
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
