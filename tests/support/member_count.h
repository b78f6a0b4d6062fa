#pragma once
// How many members an aggregate has, so that a table of its members can be held to be whole.

#include <cstddef>

namespace granary::tests {

/// Initializes any member.
struct AnyMember {
  template <typename T>
  operator T() const;
};

template <typename Struct, typename... Members>
consteval std::size_t member_count() {
  if constexpr (requires { Struct{Members{}..., AnyMember{}}; })
    return member_count<Struct, Members..., AnyMember>();
  else
    return sizeof...(Members);
}

}  // namespace granary::tests
