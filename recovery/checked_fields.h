#pragma once
// Reads JSON objects of which nothing is trusted (I26): each field must be there, with the right type and in its range,
// and there must be no other. The first mistake is kept with its place ("generations[2].cut").

#include <charconv>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "recovery/checked_text.h"
#include "src/log/format.h"

namespace granary::recovery {

using nlohmann::json;

/// The words that stand for an enum's values.
template <typename Enum>
using Words = std::span<const std::pair<Enum, std::string_view>>;

/// Keeps the first mistake that was found.
struct Complaint {
  std::string what;
  void add(std::string cause) {
    if (what.empty()) what = std::move(cause);
  }
};

/// Reads one JSON object, which must hold exactly the fields that it is asked for.
class Fields {
 public:
  Fields(const json& object, std::string place, Complaint& complaint)
      : object_(object),
        place_(std::move(place)),
        complaint_(complaint) {
    if (!object.is_object()) complaint_.add(fmt::format("{} is a {}; expected an object", place_, object.type_name()));
  }

  bool has(const char* name) const { return object_.is_object() && object_.contains(name); }

  std::uint64_t number(const char* name, std::uint64_t greatest, std::uint64_t least = 0) {
    const json* const value = take(name);
    if (value == nullptr) return least;
    if (!value->is_number_unsigned()) return wrong(name, *value, "a whole number"), least;
    const auto found = value->get<std::uint64_t>();
    if (found >= least && found <= greatest) return found;
    complaint_.add(fmt::format("{} is {}; expected {} to {}", place(name), found, least, greatest));
    return least;
  }

  std::uint32_t small_number(const char* name, std::uint64_t greatest, std::uint64_t least = 0) {
    return static_cast<std::uint32_t>(number(name, greatest, least));
  }

  bool flag(const char* name) {
    const json* const value = take(name);
    if (value == nullptr) return false;
    if (!value->is_boolean()) return wrong(name, *value, "true or false"), false;
    return value->get<bool>();
  }

  std::string bytes(const char* name) {
    const json* const value = take(name);
    return value == nullptr ? std::string() : bytes_of(*value, place(name));
  }

  log::Stamp stamp() {
    const std::string text = bytes("stamp");
    log::Stamp found = 0;
    std::from_chars(text.data(), text.data() + text.size(), found, 16);
    if (found == 0 || log::stamp_text(found) != text)
      complaint_.add(
          fmt::format("{} is \"{}\"; expected 16 hexadecimal digits, not all 0", place("stamp"), escape(text)));
    return found;
  }

  template <typename Enum>
  Enum word(const char* name, Words<Enum> words) {
    const std::string found = bytes(name);
    for (const auto& [value, word] : words) {
      if (word == found) return value;
    }
    complaint_.add(fmt::format("{} is \"{}\", which means nothing", place(name), escape(found)));
    return words.front().first;
  }

  /// Calls `each(element, its place)` for each element of an array.
  template <typename Each>
  void array(const char* name, Each&& each) {
    const json* const value = take(name);
    if (value == nullptr) return;
    if (!value->is_array()) return wrong(name, *value, "an array");
    for (std::size_t i = 0; i < value->size(); ++i) each((*value)[i], fmt::format("{}[{}]", place(name), i));
  }

  /// Calls `with(value, its place)` for the value of a field.
  template <typename With>
  void object(const char* name, With&& with) {
    if (const json* const value = take(name)) with(*value, place(name));
  }

  std::string bytes_of(const json& value, const std::string& where) {
    if (!value.is_string()) {
      complaint_.add(fmt::format("{} is a {}; expected a string", where, value.type_name()));
      return {};
    }
    auto bytes = unescape(value.get_ref<const std::string&>());
    if (!bytes) complaint_.add(fmt::format("{} is no escaped byte string", where));
    return std::move(bytes).value_or(std::string());
  }

  /// Complains of members that were never asked for.
  void end() {
    if (object_.is_object() && object_.size() != taken_)
      complaint_.add(fmt::format("{} has {} fields; expected {}", place_, object_.size(), taken_));
  }

 private:
  std::string place(const char* name) const { return place_ == "it" ? name : place_ + "." + name; }

  const json* take(const char* name) {
    if (!object_.is_object()) return nullptr;
    const auto found = object_.find(name);
    if (found == object_.end()) {
      complaint_.add(fmt::format("{} is missing", place(name)));
      return nullptr;
    }
    ++taken_;
    return &*found;
  }

  void wrong(const char* name, const json& value, std::string_view expected) {
    complaint_.add(fmt::format("{} is a {}; expected {}", place(name), value.type_name(), expected));
  }

  const json& object_;
  const std::string place_;
  Complaint& complaint_;
  std::size_t taken_ = 0;
};

}  // namespace granary::recovery
