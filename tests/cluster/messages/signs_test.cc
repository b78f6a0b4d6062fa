// Which signs have changed since the last look.

#include "src/cluster/messages/signs.h"

#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace granary::cluster::messages {
namespace {

TEST(Signs, TellWhatHasChangedSinceTheLastLook) {
  alignas(8) std::array<std::uint8_t, 24> bytes{};
  Signs signs(reinterpret_cast<const char*>(bytes.data()), 20);
  const auto look = [&] {
    std::vector<std::size_t> changed;
    signs.look([&](std::size_t ring) { changed.push_back(ring); });
    return changed;
  };
  EXPECT_THAT(look(), testing::IsEmpty());
  for (const std::size_t ring : {0, 7, 8, 19}) ++bytes[ring];
  EXPECT_THAT(look(), testing::ElementsAre(0, 7, 8, 19));
  EXPECT_THAT(look(), testing::IsEmpty());
  bytes[7] = 255;
  EXPECT_THAT(look(), testing::ElementsAre(7));
  ++bytes[7];
  EXPECT_THAT(look(), testing::ElementsAre(7)) << "as the count begins anew";
}

TEST(Signs, ThatWereThereBeforeCountAsChanged) {
  alignas(8) std::array<std::uint8_t, 8> bytes{0, 3};
  Signs signs(reinterpret_cast<const char*>(bytes.data()), 8);
  std::vector<std::size_t> changed;
  signs.look([&](std::size_t ring) { changed.push_back(ring); });
  EXPECT_THAT(changed, testing::ElementsAre(1));
}

}  // namespace
}  // namespace granary::cluster::messages
