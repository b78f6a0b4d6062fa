// Makes a program's tests run once for each protocol of the registry: main() repeats them, and this listener sets the
// protocol before each repetition. A new protocol is tested by being in the registry.

#include <cstdio>

#include <gtest/gtest.h>

#include "src/cc/protocols.h"
#include "tests/support/protocol_setting.h"

namespace granary::tests {
namespace {

class NextProtocol final : public testing::EmptyTestEventListener {
  void OnTestIterationStart(const testing::UnitTest& /*tests*/, int iteration) override {
    asked_protocol = protocols_in_turn[static_cast<std::size_t>(iteration) % protocols_in_turn.size()];
    std::printf("protocol: %s\n", asked_protocol.name.c_str());
  }
};

[[maybe_unused]] const bool each_in_turn = [] {
  testing::UnitTest::GetInstance()->listeners().Append(new NextProtocol);
  protocols_in_turn.clear();
  for (std::size_t i = 0; i < cc::Protocols::kNames.size(); ++i) {
    const cc::Abilities abilities = cc::abilities_of(static_cast<std::uint8_t>(i));
    protocols_in_turn.push_back({.name = std::string(cc::Protocols::kNames[i]),
                                 .reaches_shared = abilities.reaches_shared,
                                 .commits_in_region = abilities.commits_in_region,
                                 .runs_in_region = abilities.runs_in_region,
                                 .locks_reads = abilities.locks_reads,
                                 .reads_parts = abilities.reads_parts,
                                 .has_leases = !abilities.stamps_reads,
                                 .in_real_time = abilities.in_real_time});
  }
  return true;
}();

}  // namespace
}  // namespace granary::tests
