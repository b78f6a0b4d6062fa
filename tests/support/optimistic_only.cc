// Leaves out of a program's protocols (every_protocol.cc) those that lock what they read. Tests need it that step
// several transactions on one thread, each past records that another one has read or is about to write.

#include "tests/support/protocol_setting.h"

namespace granary::tests {
namespace {

[[maybe_unused]] const bool said = optimistic_only = true;

}  // namespace
}  // namespace granary::tests
