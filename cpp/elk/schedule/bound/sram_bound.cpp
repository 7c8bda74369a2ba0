#include "elk/schedule/bound/sram_bound.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "elk/base/ids.hpp"

namespace elk::schedule {
namespace {

constexpr std::size_t kReach = 128;  // ops after an execute whose preloads are held against it

/// Bytes of the activations that an op reads and writes, each tensor once: they rest on chip whole.
double activation_bytes(const ir::Graph& graph, const ir::Op& op) {
  double sum = 0.0;
  for (std::size_t k = 0; k < op.operands.size(); ++k) {
    const ir::Operand& operand = op.operands[k];
    const bool again =
        std::any_of(op.operands.begin(), op.operands.begin() + static_cast<std::ptrdiff_t>(k),
                    [&](const ir::Operand& other) { return other.tensor == operand.tensor; });
    if (!again && !partition::from_hbm(graph, operand)) {
      sum += static_cast<double>(ir::bytes(graph.tensors[subscript(operand.tensor)]).value);
    }
  }
  return sum;
}

/// The least times at which ops can begin, one after another.
class BeginTimes {
 public:
  BeginTimes(const Problem& problem, const std::vector<double>& read, double rate)
      : problem_(problem),
        read_(read),
        room_(static_cast<double>(chip::room(problem.chip()).value) *
              static_cast<double>(chip::total_cores(problem.chip()))),
        rate_(rate),
        begin_(read.size(), 0.0) {}

  double end() {
    double now = 0.0;
    double loaded = 0.0;
    for (std::size_t op = 0; op < read_.size(); ++op) {
      loaded += read_[op] / rate_;
      const double begin = std::max({now, read_[op] > 0.0 ? loaded : 0.0, begin_[op]});
      now = begin + problem_.front(static_cast<std::int32_t>(op)).floor.execute.value;
      keep_back(op, now);
    }
    return now;
  }

 private:
  /// Lets the ops after `op`, which ends at `end`, wait for the preloads that it leaves no room
  /// for.
  void keep_back(std::size_t op, double end) {
    const ir::Graph& graph = problem_.graph();
    const double left = room_ - read_[op] - activation_bytes(graph, graph.ops[op]);
    double big = 0.0;
    double small = 0.0;
    for (std::size_t later = op + 1; later < std::min(read_.size(), op + 1 + kReach); ++later) {
      (read_[later] > left ? big : small) += read_[later];
      if (read_[later] > 0.0) {
        const double gap = (big + std::max(0.0, small - left)) / rate_;
        begin_[later] = std::max(begin_[later], end + gap);
      }
    }
  }

  const Problem& problem_;
  const std::vector<double>& read_;
  double room_;
  double rate_;
  std::vector<double> begin_;
};

}  // namespace

double sram_bound(const Problem& problem, const std::vector<double>& read, double rate) {
  return BeginTimes(problem, read, rate).end();
}

}  // namespace elk::schedule
