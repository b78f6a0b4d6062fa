#include "src/watch/json_look.h"

#include <algorithm>

namespace granary::watch {
namespace {

const Json* value_at(const Json& document, const char* path) {
  const Json::json_pointer pointer(path);
  return document.contains(pointer) ? &document.at(pointer) : nullptr;
}

}  // namespace

std::optional<double> number_at(const Json& document, const char* path) {
  const Json* const value = value_at(document, path);
  if (value == nullptr || !value->is_number()) return std::nullopt;
  return value->get<double>();
}

std::string text_at(const Json& document, const char* path) {
  const Json* const value = value_at(document, path);
  if (value == nullptr || !value->is_string()) return "";
  std::string text = value->get<std::string>();
  constexpr unsigned char kDelete = 0x7f;
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < ' ' || c == kDelete; }, '?');
  return text;
}

bool true_at(const Json& document, const char* path) {
  const Json* const value = value_at(document, path);
  return value != nullptr && value->is_boolean() && value->get<bool>();
}

}  // namespace granary::watch
