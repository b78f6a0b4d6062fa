// Leaves out of a program's protocols (every_protocol.cc) those that do not reach records of other nodes.

#include "tests/support/protocol_setting.h"

namespace granary::tests {
namespace {

[[maybe_unused]] const bool said = sharing_only = true;

}  // namespace
}  // namespace granary::tests
