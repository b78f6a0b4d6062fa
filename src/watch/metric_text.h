#pragma once
// Writes metrics in Prometheus's text format: a family is its HELP and TYPE and then its samples, one a line.

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace granary::watch {

struct Label {
  std::string_view name;
  std::string_view value;
};

/// A step of a histogram: so many observations were at most `most`.
struct HistogramStep {
  double most;
  std::uint64_t count;
};

class MetricText {
 public:
  /// Puts `labels` in front of those of each sample.
  explicit MetricText(std::initializer_list<Label> labels);

  // Each begins a family; its samples follow by add().
  /// A sum that only grows while the process lives; its name ends with _total.
  MetricText& counter(std::string_view name, std::string_view help) { return begin(name, help, "counter"); }
  MetricText& gauge(std::string_view name, std::string_view help) { return begin(name, help, "gauge"); }
  MetricText& add(double value, std::initializer_list<Label> labels = {});
  MetricText& add(std::uint64_t value, std::initializer_list<Label> labels = {});

  /// Adds a whole family: ascending `steps`, and the `count` and `sum` of all observations.
  void histogram(std::string_view name, std::string_view help, const std::vector<HistogramStep>& steps,
                 std::uint64_t count, double sum);

  const std::string& text() const { return text_; }

 private:
  MetricText& begin(std::string_view name, std::string_view help, std::string_view type);
  void sample(std::string_view suffix, std::string_view value, std::initializer_list<Label> labels);

  const std::string common_;  ///< the common labels, as they are written
  std::string name_;          ///< the name of the present family
  std::string text_;
};

/// Returns the shortest text that reads as the same number; "+Inf", "-Inf" or "NaN" if it is none.
std::string number_text(double value);

}  // namespace granary::watch
