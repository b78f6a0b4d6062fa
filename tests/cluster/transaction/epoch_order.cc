#include "tests/cluster/transaction/epoch_order.h"

#include <map>
#include <utility>

namespace granary::cluster::test {
namespace {

using bench::history::Element;
using bench::history::Key;
using bench::history::MicroOp;
using List = std::vector<Element>;

class Epochs {
 public:
  explicit Epochs(const std::vector<Seen>& all) {
    for (const Seen& one : all) {
      for (const MicroOp& op : one.ops) {
        if (op.kind == MicroOp::Kind::kAppend) written_[{op.key, op.element}] = one.epoch;
        if (op.list.size() > lists_[op.key].size()) lists_[op.key] = op.list;
      }
    }
  }

  std::string check(const std::vector<Seen>& all) const {
    for (const auto& [key, list] : lists_) {
      for (std::size_t at = 1; at < list.size(); ++at) {
        if (of(key, list[at - 1]) > of(key, list[at])) return wrong(key, at, "appended before its predecessor");
      }
    }
    for (const Seen& one : all) {
      for (const MicroOp& op : one.ops) {
        if (op.kind != MicroOp::Kind::kRead) continue;
        const std::size_t size = op.list.size();
        const epoch::Epoch end = one.snapshot ? one.epoch : one.epoch + 1;
        if (size != 0 && of(op.key, op.list.back()) >= end) return wrong(op.key, size - 1, "read before it was there");
        const List& whole = lists_.at(op.key);
        if (size < whole.size() && of(op.key, whole[size]) < one.epoch) return wrong(op.key, size, "overlooked");
      }
    }
    return {};
  }

 private:
  /// 0 if nobody who committed appended it.
  epoch::Epoch of(Key key, Element element) const {
    const auto found = written_.find({key, element});
    return found == written_.end() ? 0 : found->second;
  }
  static std::string wrong(Key key, std::size_t at, const std::string& what) {
    return "by the epochs, element " + std::to_string(at) + " of list " + std::to_string(key) + " was " + what;
  }

  std::map<std::pair<Key, Element>, epoch::Epoch> written_;
  std::map<Key, List> lists_;  // as long as anybody saw them
};

}  // namespace

std::string wrong_epochs(const std::vector<Seen>& all) { return Epochs(all).check(all); }

}  // namespace granary::cluster::test
