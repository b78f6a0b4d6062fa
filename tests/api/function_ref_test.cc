// FunctionRef: calls what it refers to, without copying it.

#include <granary/function_ref.h>

#include <functional>
#include <memory>
#include <string>
#include <type_traits>

#include <gtest/gtest.h>

namespace granary {
namespace {

int twice(int value) { return 2 * value; }

int call(FunctionRef<int(int)> function, int value) { return function(value); }

TEST(FunctionRef, CallsLambdasFunctionsAndFunctors) {
  int calls = 0;
  const auto count = [&calls](int value) {
    ++calls;
    return value + 1;
  };
  EXPECT_EQ(call(count, 1), 2);
  EXPECT_EQ(call(twice, 21), 42);
  EXPECT_EQ(call(&twice, 4), 8);
  EXPECT_EQ(call(std::negate<int>(), 3), -3);
  EXPECT_EQ(calls, 1);
}

TEST(FunctionRef, RefersToTheCallableAndKeepsItsState) {
  int state = 0;
  auto counter = [state]() mutable { return ++state; };
  const FunctionRef<int()> ref(counter);
  EXPECT_EQ(ref(), 1);
  EXPECT_EQ(ref(), 2);
  EXPECT_EQ(counter(), 3);  // the same object, not a copy
}

TEST(FunctionRef, PassesReferencesAndMoveOnlyArguments) {
  std::string text = "a";
  const auto append = [](std::string& to, std::unique_ptr<int> number) {
    to += std::to_string(*number);
    return &to;
  };
  const FunctionRef<std::string*(std::string&, std::unique_ptr<int>)> ref(append);
  EXPECT_EQ(ref(text, std::make_unique<int>(7)), &text);
  EXPECT_EQ(text, "a7");
}

TEST(FunctionRef, ConvertsTheReturnValueAndTakesVoid) {
  const auto narrow = [](int value) -> short { return static_cast<short>(value); };
  const FunctionRef<long(int)> widened(narrow);
  EXPECT_EQ(widened(5), 5L);
  bool called = false;
  const auto mark = [&called] { called = true; };
  const FunctionRef<void()> ref(mark);
  ref();
  EXPECT_TRUE(called);
}

static_assert(!std::is_constructible_v<FunctionRef<int(int)>, int (*)(std::string)>, "wrong arguments do not compile");
static_assert(sizeof(FunctionRef<void()>) == 2 * sizeof(void*));

}  // namespace
}  // namespace granary
