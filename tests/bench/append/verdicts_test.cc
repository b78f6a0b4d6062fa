// Which exit code the verdicts on a run's histories lead to.

#include "bench/append/verdicts.h"

#include <gtest/gtest.h>

#include "tests/history/history_builder.h"

namespace granary::bench::append {
namespace {

using history::a;
using history::HistoryBuilder;
using history::r;
using Source = Verdicts::Source;

Verdicts on(const history::History& history) {
  Verdicts verdicts;
  verdicts.judge("transactions", history, true);
  return verdicts;
}

TEST(Verdicts, AHistoryWithoutAWriteIsAFailureOfARunThatWentToItsEnd) {
  const Verdicts verdicts = on(HistoryBuilder().run({r(1, {})}).history());
  EXPECT_EQ(verdicts.code(Source::kRun), ExitCode::kCheckFailed);
  EXPECT_EQ(verdicts.code(Source::kFile), ExitCode::kCheckFailed);
  EXPECT_EQ(verdicts.code(Source::kCutShort), ExitCode::kOk) << "what has cut it short tells its own code";
}

TEST(Verdicts, AnAnomalyIsAFailureAlwaysAndAWholeHistoryNever) {
  const Verdicts lost = on(HistoryBuilder().run({a(1, 1)}).run({r(1, {})}).history());
  const Verdicts whole = on(HistoryBuilder().run({a(1, 1)}).run({r(1, {1})}).history());
  for (const Source source : {Source::kRun, Source::kCutShort, Source::kFile}) {
    EXPECT_EQ(lost.code(source), ExitCode::kCheckFailed);
    EXPECT_EQ(whole.code(source), ExitCode::kOk);
  }
}

}  // namespace
}  // namespace granary::bench::append
