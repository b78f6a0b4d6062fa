// Changes manifests as JSON: changes of the bytes hardly ever leave some, so that they do not get past the parser.

#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/random.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace granary {
namespace {

using nlohmann::json;

void collect(json& node, std::vector<json*>& nodes) {
  nodes.push_back(&node);
  if (!node.is_structured()) return;
  for (json& child : node) collect(child, nodes);
}

/// One of any type, or an edge of numbers and strings.
json any_value(base::Random& random) {
  switch (random.below(9)) {
    case 0: return nullptr;
    case 1: return random.chance(0.5);
    case 2: return -1;
    case 3: return random.below(4);
    case 4: return std::uint64_t{1} << random.below(64);
    case 5: return ~std::uint64_t{0} >> random.below(64);
    case 6: return random.chance(0.5) ? "%0" : "%FF";
    case 7: return json::array();
    default: return json::object();
  }
}

void change(json& document, base::Random& random) {
  std::vector<json*> nodes;
  collect(document, nodes);
  json& node = *nodes[random.below(nodes.size())];
  switch (random.below(4)) {
    case 0: node = json(*nodes[random.below(nodes.size())]); break;
    case 1:
      if (node.is_structured() && !node.empty()) {
        node.erase(std::next(node.begin(), static_cast<std::ptrdiff_t>(random.below(node.size()))));
        break;
      }
      [[fallthrough]];
    case 2:
      if (node.is_array()) {
        node.push_back(node.empty() ? any_value(random) : node[random.below(node.size())]);
        break;
      }
      [[fallthrough]];
    default: node = any_value(random);
  }
}

}  // namespace
}  // namespace granary

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  using namespace granary;
  base::Random random(seed);
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t end = input.rfind("crc32c ");
  if (random.chance(0.3) || size == 0 || end == std::string_view::npos || end == 0)
    return LLVMFuzzerMutate(data, size, max_size);
  json document = json::parse(input.substr(1, end - 1), nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded()) return LLVMFuzzerMutate(data, size, max_size);
  change(document, random);
  const std::string changed = '\1' + document.dump() + "\ncrc32c ";
  if (changed.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::memcpy(data, changed.data(), changed.size());
  return changed.size();
}
