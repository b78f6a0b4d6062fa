#pragma once
// Counts the members of an aggregate, so that a test can check that a table of its members is complete.

#include <cstddef>

namespace granary::tests {

/// Converts to the type of any member.
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
