// JSON as text: the same as another writer makes of the same document.

#include "recovery/indented_json.h"

#include <cstdint>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace granary::recovery {
namespace {

TEST(IndentedJson, IsWhatAnotherWriterMakesOfTheSameDocument) {
  IndentedJson out;
  out.object("", [&] {
    out.number("greatest", ~std::uint64_t{0});
    out.flag("yes", true);
    out.flag("no", false);
    out.text("quoted \"name\"", "and \\ value");
    out.array("none", [] {});
    out.object("empty", [] {});
    out.array("mixed", [&] {
      out.number("", 0);
      out.text("", "");
      out.array("", [&] { out.flag("", true); });
      out.object("", [&] { out.number("last", 1); });
    });
  });
  const nlohmann::ordered_json same = {{"greatest", ~std::uint64_t{0}},
                                       {"yes", true},
                                       {"no", false},
                                       {"quoted \"name\"", "and \\ value"},
                                       {"none", nlohmann::ordered_json::array()},
                                       {"empty", nlohmann::ordered_json::object()},
                                       {"mixed", {0, "", nlohmann::ordered_json::array({true}), {{"last", 1}}}}};
  EXPECT_EQ(out.take(), same.dump(1));
}

}  // namespace
}  // namespace granary::recovery
