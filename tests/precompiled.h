#pragma once
// What most tests include, compiled once where there is no compiler cache (GRANARY_TEST_PRECOMPILED). A test includes all
// the same what it uses: with a compiler cache there is no such header.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>
