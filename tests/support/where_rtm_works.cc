// Lets a program's tests run with --htm=rtm. main() asks whether this machine has RTM, and runs no tests if not.

#include "htm/rtm.h"
#include "tests/support/htm_setting.h"

namespace granary::tests {
namespace {

[[maybe_unused]] const bool asks = [] {
  rtm_works = htm::rtm_works;
  return true;
}();

}  // namespace
}  // namespace granary::tests
