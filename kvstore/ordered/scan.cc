// Scans ranges, in both directions.
//
// A scan goes from leaf to leaf. It copies a leaf's entries under one version, reports the leaf, delivers the entries,
// and moves to the leaf that begins where this one ended. The copied bounds say where that is, so a neighbour that was
// split, unlinked or not yet linked back is recognized by its own bounds. A link is followed when its turn comes; the
// frame above keeps its copy meanwhile. If anything does not fit, the scan starts again at the top, after the last key
// that it delivered.

#include "kvstore/ordered/scan_frame.h"
#include "kvstore/ordered/tree.h"

namespace granary::kvstore::ordered {
namespace {

template <unsigned Width, Direction kDirection>
class Scan {
 public:
  Scan(const std::atomic<Node*>& root, const LayerBound& near, const LayerBound& far, ScanVisitor& visitor)
      : root_(root),
        near_(near),
        far_(far),
        visitor_(visitor) {}

  void run() {
    for (Backoff backoff; !run_from_top(); backoff.pause()) {
      stack_.clear();
      prefix_.truncate(0);
      composed_ = false;
      if (!delivered_) continue;
      resume_key_ = key_.view();
      near_ = Bound{LayerKey(resume_key_), false};
    }
  }

 private:
  using Frame = ScanFrame<Width>;
  enum class Went : std::uint8_t { kOn, kOut, kDone, kAstray };
  static constexpr bool kForward = kDirection == Direction::kForward;
  static constexpr unsigned kAhead = 4;

  /// Scans from the top. Returns false if it met a change and has to start again.
  bool run_from_top() {
    if (!enter_layer(get(root_), near_, far_)) return false;
    while (!stack_.empty()) {
      Frame& frame = stack_.top();
      if (frame.next_rank == frame.count) {
        const Went went = next_leaf(&frame);
        if (went == Went::kAstray) return false;
        if (went == Went::kDone || (went == Went::kOut && !leave_layer())) return true;
        continue;
      }
      const Entry entry = frame.entries[frame.next_rank++];
      prefetch_ahead(frame, frame.next_rank + kAhead - 1);
      int far_side = -1;
      if (frame.far && beyond(entry, *frame.far, &far_side)) return true;
      if (entry.code == kLayer) {
        if (!enter_link(frame, entry, far_side == 0)) return false;
      } else if (!deliver(entry)) {
        return true;
      }
    }
    return true;
  }

  /// Copies the layer's first leaf for the range, and skips the entries before the range.
  bool enter_layer(Node* layer, const LayerBound& near, const LayerBound& far) {
    Frame& frame = stack_.push();
    frame.layer = layer;
    frame.far = far;
    const Position first = kForward ? kFirstPosition : kLastPosition;
    if (!copy_leaf(descend<Width>(layer, near ? near->key.at : first), near ? near->key.at : first, &frame))
      return false;
    entering_ = LayerBound{};
    if (!near) return true;
    for (; frame.next_rank < frame.count; ++frame.next_rank) {
      const Entry& entry = frame.entries[frame.next_rank];
      const int side = kForward ? compare(entry, near->key) : -compare(entry, near->key);
      if (side > 0) return true;
      if (side == 0 && entry.code == kLayer) {
        entering_ = Bound{near->key.below(), near->inclusive};
        return true;
      }
      if (side == 0 && near->inclusive) return true;
    }
    return true;
  }

  bool enter_link(const Frame& frame, const Entry& entry, bool far_below) {
    LayerBound near;
    std::swap(near, entering_);
    LayerBound far;
    if (far_below) far = Bound{frame.far->key.below(), frame.far->inclusive};
    prefix_.append_slice(entry.slice);
    composed_ = false;
    return enter_layer(entry.layer(), near, far);
  }

  /// Goes back to the layer above. Returns false if the layer was layer 0.
  bool leave_layer() {
    stack_.pop();
    if (stack_.empty()) return false;
    prefix_.truncate(prefix_.size() - kSliceBytes);
    composed_ = false;
    return true;
  }

  /// Whether the entry is past the end of the range. Sets *side to 0 if the entry is a link and the end lies below it.
  static bool beyond(const Entry& entry, const Bound& far, int* side) {
    *side = kForward ? compare(entry, far.key) : -compare(entry, far.key);
    return *side > 0 || (*side == 0 && !far.inclusive && entry.code != kLayer);
  }

  /// Copies the leaf that begins where the copied one ended. Returns kOut if the layer ends there, kDone if the range
  /// does.
  Went next_leaf(Frame* frame) {
    if (kForward ? frame->high == kBeyondPosition : frame->low == kFirstPosition) return Went::kOut;
    if (frame->far && range_ends_with(*frame, *frame->far)) return Went::kDone;
    const Position edge = kForward ? frame->high : frame->low;
    if (copy_neighbour(edge, frame)) return Went::kOn;
    return copy_leaf(descend<Width>(frame->layer, at_edge(edge)), at_edge(edge), frame) ? Went::kOn : Went::kAstray;
  }

  static bool range_ends_with(const Frame& frame, const Bound& far) {
    // If a bound's key goes on, keys on both sides of the bound can be at its position.
    const bool position_in_range = far.inclusive || far.key.goes_on();
    if constexpr (kForward) return far.key.at < frame.high || (far.key.at == frame.high && !position_in_range);
    return frame.low <= far.key.at || (at_edge(frame.low) == far.key.at && !position_in_range);
  }

  /// Returns the first position beyond a leaf's edge.
  static Position at_edge(Position edge) {
    if constexpr (kForward) return edge;
    if (edge.code > 0) return {edge.slice, static_cast<KeyCode>(edge.code - 1)};
    return {edge.slice - 1, kSuffixed};
  }

  static bool before(Position entry, Position at) { return kForward ? entry < at : at < entry; }

  bool copy_neighbour(Position edge, Frame* frame) {
    LeafNode<Width>* const neighbour = frame->neighbour;
    return neighbour != nullptr && copy_leaf(neighbour, at_edge(edge), frame);
  }

  /// Copies the leaf that covers the position, at `near` or right of it, and reports it.
  bool copy_leaf(LeafNode<Width>* near, Position at, Frame* frame) {
    const auto covered = read_covering(near, at, [frame](const LeafNode<Width>& leaf) {
      const Permutation order = leaf.order();
      frame->count = order.count();
      for (unsigned i = 0; i < frame->count; ++i) {
        frame->entries[i] = leaf.entry(order.slot(kForward ? i : frame->count - 1 - i));
      }
      frame->low = leaf.low();
      frame->high = leaf.high();
      frame->neighbour = get(kForward ? leaf.next : leaf.prev);
    });
    if (covered.leaf == nullptr) return false;
    // If the leaf took over the range of one that was unlinked meanwhile, it also has entries on this side of the
    // position.
    frame->next_rank = 0;
    while (frame->next_rank < frame->count && before(frame->entries[frame->next_rank].position(), at))
      ++frame->next_rank;
    for (unsigned ahead = 0; ahead < kAhead; ++ahead) prefetch_ahead(*frame, frame->next_rank + ahead);
    visitor_.on_leaf(covered.leaf, NodeVersion::key_set(covered.version));
    return true;
  }

  /// Prefetches the value a few entries ahead. It does not prefetch the whole leaf at once, because many scans stop
  /// early.
  static void prefetch_ahead(const Frame& frame, unsigned rank) {
    if (rank < frame.count) {
      prefetch_value(frame.entries[rank].word);
    } else if (rank == frame.count && frame.neighbour != nullptr) {
      prefetch_node<Width>(frame.neighbour);
    }
  }

  bool deliver(const Entry& entry) {
    if (!composed_) {
      key_.truncate(0);
      key_.append(prefix_.view());
      composed_ = true;
    }
    key_.truncate(prefix_.size());
    Value value = entry.word;
    if (entry.code == kSuffixed) {
      key_.append_slice(entry.slice);
      key_.append(entry.suffix()->bytes());
      value = get(entry.suffix()->value);
    } else {
      key_.append_slice(entry.slice, entry.code);
    }
    delivered_ = true;
    return visitor_.on_entry(key_.view(), value);
  }

  const std::atomic<Node*>& root_;
  LayerBound near_;  // where the scan begins
  const LayerBound far_;
  ScanVisitor& visitor_;
  ScanStack<Width> stack_;
  KeyBuffer prefix_;       // the slices that lead to the present layer
  KeyBuffer key_;          // the last key delivered
  bool composed_ = false;  // whether key_ begins with prefix_
  bool delivered_ = false;
  std::string resume_key_;
  LayerBound entering_;  // set if the range begins below the link that comes next
};

}  // namespace

template <unsigned Width>
void BasicTree<Width>::scan(const Range& range, Direction direction, ScanVisitor& visitor) const {
  const bool ends = !range.to_infinity;
  if (ends && (range.from > range.to || (range.from == range.to && !(range.from_inclusive && range.to_inclusive))))
    return;
  const LayerBound from = Bound{LayerKey(range.from), range.from_inclusive};
  const LayerBound to = ends ? LayerBound(Bound{LayerKey(range.to), range.to_inclusive}) : LayerBound();
  if (direction == Direction::kForward) {
    Scan<Width, Direction::kForward>(root_, from, to, visitor).run();
  } else {
    Scan<Width, Direction::kReverse>(root_, to, from, visitor).run();
  }
}

template void BasicTree<15>::scan(const Range&, Direction, ScanVisitor&) const;
template void BasicTree<3>::scan(const Range&, Direction, ScanVisitor&) const;

}  // namespace granary::kvstore::ordered
