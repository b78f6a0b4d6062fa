// Tests which types count as plain bytes: those that typed tables, procedures and calls take, and which go to the forms
// for bytes.

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <granary/cluster.h>
#include <gtest/gtest.h>

namespace granary {
namespace {

struct Row {
  std::uint64_t id;
  std::array<char, 8> text;
};

static_assert(Plain<int> && Plain<Row> && Plain<Row[2]> && Plain<std::array<Row, 3>>);
static_assert(!Plain<std::string> && !Plain<std::vector<char>> && !Plain<std::unique_ptr<int>>);
static_assert(!Plain<std::string_view> && !Plain<const std::string_view>, "its bytes are an address");
static_assert(!Plain<const char*> && !Plain<Row*> && !Plain<char* [2]>, "its bytes are an address");

template <typename V>
concept HasTypedTable = requires { typename TypedTable<std::uint64_t, V>; };
static_assert(HasTypedTable<Row> && !HasTypedTable<std::string> && !HasTypedTable<std::string_view>);

template <typename V>
concept MakesTypedTable = requires(Database& database, Cluster& cluster) {
  database.create_table<std::uint64_t, V>("t");
  cluster.create_table<std::uint64_t, V>("t", {}, Placement());
};
static_assert(MakesTypedTable<Row> && !MakesTypedTable<std::string>);

template <typename Args, typename Reply>
concept MakesProcedure = requires(Procedures& procedures) {
  procedures.add<Args, Reply>("p", [](Transaction&, const Args&, Reply&) {});
  procedures.add_chain<Args, Reply>("p", {});
};
static_assert(MakesProcedure<Row, int>);
static_assert(!MakesProcedure<std::string, int> && !MakesProcedure<int, std::string>);
static_assert(!MakesProcedure<std::string_view, int> && !MakesProcedure<const char*, int>);

template <typename Args, typename Reply>
concept Calls = requires(ClusterWorker& worker, TypedTable<std::uint64_t, Row> table, Args args, Reply reply) {
  worker.call(1, "p", args, reply);
  worker.call(table, 1, "p", args, reply);
};
static_assert(Calls<Row, int>, "the typed form");
static_assert(Calls<std::string, std::string> && Calls<std::string_view, std::string>, "the form for bytes");
static_assert(Calls<const char*, std::string>, "text");
static_assert(!Calls<std::string, int> && !Calls<std::string_view, int> && !Calls<const char*, int>);
static_assert(!Calls<Row, std::string> && !Calls<Row, std::string_view>);

}  // namespace
}  // namespace granary
