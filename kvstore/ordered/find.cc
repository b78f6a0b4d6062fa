// Point lookup.

#include "kvstore/ordered/descend.h"
#include "kvstore/ordered/tree.h"

namespace granary::kvstore::ordered {

template <unsigned Width>
Lookup BasicTree<Width>::find(std::string_view key) const {
  const Place<Width> place = locate<Width>(root_, key);
  if (place.value != 0) prefetch_value(place.value);
  return {place.value, place.leaf, NodeVersion::key_set(place.version)};
}

template Lookup BasicTree<15>::find(std::string_view) const;
template Lookup BasicTree<3>::find(std::string_view) const;

}  // namespace granary::kvstore::ordered
