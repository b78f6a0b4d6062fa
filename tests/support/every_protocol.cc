// Makes a program's tests run once for each protocol of the registry: main() repeats them, and this listener sets the protocol before
// each repetition. A new protocol is tested by being in the registry.

#include <cstdio>

#include <gtest/gtest.h>

#include "src/cc/protocols.h"
#include "tests/support/protocol_setting.h"

namespace granary::tests {
namespace {

class NextProtocol final : public testing::EmptyTestEventListener {
  void OnTestIterationStart(const testing::UnitTest& /*tests*/, int iteration) override {
    asked_protocol = cc::Protocols::kNames[static_cast<std::size_t>(iteration) % cc::Protocols::kNames.size()];
    std::printf("protocol: %s\n", asked_protocol.c_str());
  }
};

[[maybe_unused]] const bool each_in_turn = [] {
  testing::UnitTest::GetInstance()->listeners().Append(new NextProtocol);
  protocols_in_turn = cc::Protocols::kNames.size();
  return true;
}();

}  // namespace
}  // namespace granary::tests
