#include "elk/sim/record/named_links.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>

#include "elk/base/ids.hpp"
#include "elk/chip/network.hpp"

namespace elk::sim {
namespace {

constexpr std::int32_t kNone = -1;

class LinkNaming {
 public:
  explicit LinkNaming(const MachineNetwork& network) : network_(network) {}

  void add(LinkKind kind, ResourceId id, std::int64_t from, std::int64_t to) {
    links_.push_back({.kind = kind,
                      .resource = id,
                      .from = static_cast<std::int32_t>(from),
                      .to = static_cast<std::int32_t>(to)});
  }

  /// The links that leave a core, and its ports.
  void add_core(CoreId core) {
    const chip::Network& lines = network_.lines();
    if (!lines.routed()) {
      add(LinkKind::Send, network_.send_port(core), core.value, kNone);
      add(LinkKind::Receive, network_.receive_port(core), kNone, core.value);
      return;
    }
    for (std::size_t dim = 0; dim < lines.dims(); ++dim) {
      add_line(core, dim);
    }
    if (network_.has_node_ports()) {
      add(LinkKind::PortIn, network_.port_in(core), core.value, kNone);
      add(LinkKind::PortOut, network_.port_out(core), kNone, core.value);
    }
  }

  /// The links or ports of a core along one dimension.
  void add_line(CoreId core, std::size_t dim) {
    const chip::Network& lines = network_.lines();
    const std::int32_t onwards = chip::Network::first_link(dim);
    if (lines.full(dim)) {
      add(LinkKind::Send, network_.link(core, onwards), core.value, kNone);
      add(LinkKind::Receive, network_.link(core, onwards + 1), kNone, core.value);
      return;
    }
    const std::int64_t first = core.value - (core.value % network_.cores_of_chip());
    const chip::PerDim here = lines.place(core.value - first);
    const std::int64_t length = lines.length(dim);
    for (const std::int32_t back : {0, 1}) {
      const std::int64_t at = here[dim] + (back == 0 ? 1 : -1);
      const bool ends = at < 0 || at == length;
      if (length > 1 && (!ends || lines.joint(dim) == chip::Joint::Circle)) {
        chip::PerDim next = here;
        next[dim] = (at + length) % length;
        add(LinkKind::Link, network_.link(core, onwards + back), core.value,
            first + lines.node(next));
      }
    }
  }

  std::vector<NamedLink> take() { return std::move(links_); }

 private:
  const MachineNetwork& network_;
  std::vector<NamedLink> links_;
};

}  // namespace

std::vector<NamedLink> named_links(const MachineNetwork& network, const chip::Chip& chip) {
  LinkNaming links(network);
  for (std::int64_t c = 0; c < network.cores(); ++c) {
    links.add_core(id_at<CoreId>(c));
  }
  for (std::int64_t m = 0; m < network.modules() && chip::routed(chip); ++m) {
    const auto module = id_at<ModuleId>(m);
    for (std::int32_t node = 0; node < network.nodes_of(module); ++node) {
      const MachineNetwork::ModuleEntry entry = network.entry(module, node);
      links.add(LinkKind::FromHbm, entry.link, kNone, entry.core.value);
      links.add(LinkKind::ToHbm, entry.out, entry.core.value, kNone);
    }
  }
  for (std::int64_t c = 0; c < network.chips() && chip.inter_chip; ++c) {
    links.add(LinkKind::ChipOut, network.chip_out(c), c, kNone);
    links.add(LinkKind::ChipIn, network.chip_in(c), kNone, c);
  }
  return links.take();
}

}  // namespace elk::sim
