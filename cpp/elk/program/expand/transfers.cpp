#include "elk/program/expand/transfers.hpp"

#include <algorithm>

#include "elk/base/ids.hpp"
#include "elk/base/rounding.hpp"

namespace elk::program {
namespace {

/// Cores that send parts of a box which lies on all of them.
constexpr std::int64_t kMostSources = 32;

/// Cores of one chip.
using CoreSpan = std::span<const std::int32_t>;

/// Splits cores, those of a chip together, where chips end, and calls `visit(chip, run)`.
template <class Visit>
void for_each_chip(CoreSpan cores, std::int64_t of_chip, const Visit& visit) {
  while (!cores.empty()) {
    const std::int64_t chip = cores.front() / of_chip;
    const auto first = static_cast<std::int32_t>(chip * of_chip);
    const auto past = static_cast<std::int32_t>(first + of_chip);
    const auto end = std::find_if(cores.begin() + 1, cores.end(),
                                  [&](std::int32_t core) { return core < first || core >= past; });
    const auto count = static_cast<std::size_t>(end - cores.begin());
    visit(chip, cores.first(count));
    cores = cores.subspan(count);
  }
}

/// Calls `visit` for what transfers send.
template <class Visit>
class Sender {
 public:
  Sender(const Exchange& exchange, const chip::Chip& chip, const Visit& visit)
      : exchange_(exchange),
        multicast_(chip.interconnect.multicast),
        of_chip_(chip.core.count),
        visit_(visit),
        turn_(exchange.groups.size(), 0) {}

  void send(const Transfer& transfer) {
    switch (transfer.pattern) {
      case Pattern::Fetch:
        fetch(transfer);
        return;
      case Pattern::Spread:
        deliver(transfer, -1, group(transfer.to), part_bytes(transfer, 0));
        return;
      case Pattern::Share:
        share(transfer);
        return;
      case Pattern::Pass:
      case Pattern::Pair:
        neighbours(transfer);
        return;
      case Pattern::Scatter:
        scatter(transfer);
        return;
    }
  }

 private:
  [[nodiscard]] CoreSpan group(std::int32_t number) const {
    return exchange_.groups[subscript(number)];
  }

  void deliver(const Transfer& transfer, std::int32_t core, CoreSpan receivers,
               std::int64_t bytes) {
    const bool counts_runs =
        transfer.pattern == Pattern::Fetch || transfer.pattern == Pattern::Spread;
    if (receivers.empty() || (bytes == 0 && !counts_runs)) {
      return;
    }
    Send one{.operand = transfer.operand,
             .core = core,
             .receivers = receivers,
             .bytes = bytes,
             .runs = transfer.runs};
    if (multicast_) {
      visit_(one);
      return;
    }
    for (std::size_t i = 0; i < receivers.size(); ++i) {
      one.receivers = receivers.subspan(i, 1);
      visit_(one);
    }
  }

  /// The core of `holders` whose turn it is.
  std::int32_t next(std::int32_t from, CoreSpan holders) {
    const std::size_t turn = turn_[subscript(from)]++;
    return holders.size() == 1 ? holders.front() : holders[turn % holders.size()];
  }

  void fetch(const Transfer& transfer) {
    const CoreSpan holders = group(transfer.from);
    if (group(transfer.to).size() == 1) {
      fetch_one(transfer, holders, group(transfer.to));
      return;
    }
    wanting_.clear();
    std::set_difference(group(transfer.to).begin(), group(transfer.to).end(), holders.begin(),
                        holders.end(), std::back_inserter(wanting_));
    abroad_.clear();
    for_each_chip(wanting_, of_chip_, [&](std::int64_t chip, CoreSpan receivers) {
      const auto first = std::lower_bound(holders.begin(), holders.end(), chip * of_chip_);
      const auto last = std::lower_bound(first, holders.end(), (chip + 1) * of_chip_);
      if (first == last) {
        abroad_.insert(abroad_.end(), receivers.begin(), receivers.end());
      } else {
        fetch_from(transfer, {first, last}, receivers);
      }
    });
    fetch_from(transfer, holders, abroad_);
  }

  void fetch_one(const Transfer& transfer, CoreSpan holders, CoreSpan receiver) {
    const std::int32_t core = receiver.front();
    if (holders.size() > 1) {
      if (std::binary_search(holders.begin(), holders.end(), core)) {
        return;
      }
      const std::int64_t chip = core / of_chip_;
      const auto first = std::lower_bound(holders.begin(), holders.end(), chip * of_chip_);
      const auto last = std::lower_bound(first, holders.end(), (chip + 1) * of_chip_);
      holders = first == last ? holders : CoreSpan(first, last);
    } else if (holders.front() == core) {
      return;
    }
    deliver(transfer, next(transfer.from, holders), receiver, part_bytes(transfer, 0));
  }

  void fetch_from(const Transfer& transfer, CoreSpan holders, CoreSpan receivers) {
    const std::int64_t bytes = part_bytes(transfer, 0);
    if (multicast_) {
      if (!receivers.empty()) {
        deliver(transfer, next(transfer.from, holders), receivers, bytes);
      }
      return;
    }
    for (std::size_t i = 0; i < receivers.size(); ++i) {
      deliver(transfer, next(transfer.from, holders), receivers.subspan(i, 1), bytes);
    }
  }

  void share(const Transfer& transfer) {
    const CoreSpan ring = group(transfer.to);
    for (std::size_t i = 0; i < ring.size(); ++i) {
      const std::int64_t bytes = part_bytes(transfer, static_cast<std::int64_t>(i));
      wanting_.assign(ring.begin(), ring.end());
      wanting_.erase(wanting_.begin() + static_cast<std::ptrdiff_t>(i));
      deliver(transfer, ring[i], wanting_, bytes);
    }
  }

  void neighbours(const Transfer& transfer) {
    const CoreSpan ring = group(transfer.to);
    const std::int64_t bytes = part_bytes(transfer, 0);
    for (std::size_t i = 0; i < ring.size(); ++i) {
      const std::size_t other = transfer.pattern == Pattern::Pass
                                    ? (i + ring.size() - 1) % ring.size()
                                    : i ^ subscript(transfer.level);
      if (other < ring.size() && other != i) {
        deliver(transfer, ring[i], ring.subspan(other, 1), bytes);
      }
    }
  }

  void scatter(const Transfer& transfer) {
    const CoreSpan cores = group(transfer.to);
    for (std::size_t i = 0; i < cores.size(); ++i) {
      for (std::size_t j = 0; j < cores.size(); ++j) {
        if (i != j) {
          deliver(transfer, cores[i], cores.subspan(j, 1),
                  part_bytes(transfer, static_cast<std::int64_t>(j)));
        }
      }
    }
  }

  const Exchange& exchange_;
  bool multicast_;
  std::int64_t of_chip_;
  const Visit& visit_;
  std::vector<std::size_t> turn_;  // of each group
  Cores wanting_;
  Cores abroad_;
};

/// Adds what comes into `chip` from `home`, -1: from where it lies in equal shares, on all chips.
void cross(std::int64_t home, std::int64_t chip, std::int64_t bytes, PortTraffic& sum) {
  const auto chips = static_cast<std::int64_t>(sum.chip_in.size());
  if (home >= 0 && home != chip) {
    sum.chip_in[subscript(chip)] += bytes;
    sum.chip_out[subscript(home)] += bytes;
  } else if (home < 0 && chips > 1) {  // All but the chip's own share comes from the others.
    const std::int64_t foreign = ceil_div(bytes * (chips - 1), chips);
    sum.chip_in[subscript(chip)] += foreign;
    for (std::int64_t other = 0; other < chips; ++other) {
      sum.chip_out[subscript(other)] += other == chip ? 0 : ceil_div(foreign, chips - 1);
    }
  }
}

/// Adds what transfers put on ports, without listing the sends of groups in which all do alike.
class PortCounter {
 public:
  PortCounter(const chip::Chip& chip, PortTraffic& sum)
      : multicast_(chip.interconnect.multicast), of_chip_(chip.core.count), sum_(sum) {}

  /// All parts to all, or to each its own part from all.
  void add_all(const Transfer& transfer, CoreSpan cores) {
    const auto count = static_cast<std::int64_t>(cores.size());
    const bool scatter = transfer.pattern == Pattern::Scatter;
    const std::int64_t whole = transfer.unit * transfer.extent;
    const std::int64_t parts =
        std::min(count, ceil_div(transfer.extent, std::max<std::int64_t>(1, transfer.chunk)));
    for (std::int64_t i = 0; i < count; ++i) {
      const std::size_t core = subscript(cores[subscript(i)]);
      const std::int64_t own = part_bytes(transfer, i);
      const std::int64_t others = whole - own;
      const std::int64_t mine = i < parts ? 1 : 0;
      if (scatter) {
        sum_.received[core] += own * (count - 1);
        sum_.sent[core] += others;
        sum_.fragments[core] += mine * (count - 1) * transfer.runs;
      } else {
        sum_.received[core] += others;
        sum_.sent[core] += own * (multicast_ ? 1 : count - 1);
        sum_.fragments[core] += (parts - mine) * transfer.runs;
      }
    }
    if (cores.front() / of_chip_ != cores.back() / of_chip_) {
      cross_all(transfer, cores);
    }
  }

 private:
  /// Of Share with multicast a part crosses once for each chip; else once for each receiver.
  void cross_all(const Transfer& transfer, CoreSpan cores) {
    const bool scatter = transfer.pattern == Pattern::Scatter;
    std::int64_t first = 0;
    for_each_chip(cores, of_chip_, [&](std::int64_t chip, CoreSpan receivers) {
      const auto here = static_cast<std::int64_t>(receivers.size());
      const std::int64_t here_bytes = range_bytes(transfer, first, first + here);
      first += here;
      std::int64_t begin = 0;
      for_each_chip(cores, of_chip_, [&](std::int64_t home, CoreSpan senders) {
        const auto there = static_cast<std::int64_t>(senders.size());
        const std::int64_t theirs = range_bytes(transfer, begin, begin + there);
        begin += there;
        if (home != chip) {
          cross(home, chip, scatter ? here_bytes * there : theirs * (multicast_ ? 1 : here), sum_);
        }
      });
    });
  }

  static std::int64_t range_bytes(const Transfer& transfer, std::int64_t begin, std::int64_t end) {
    const auto index = [&](std::int64_t i) {
      return std::min(transfer.extent, i * transfer.chunk);
    };
    return transfer.unit * (index(end) - index(begin));
  }

  bool multicast_;
  std::int64_t of_chip_;
  PortTraffic& sum_;
};

}  // namespace

std::int64_t part_bytes(const Transfer& transfer, std::int64_t i) {
  return transfer.unit *
         std::clamp<std::int64_t>(transfer.extent - (i * transfer.chunk), 0, transfer.chunk);
}

void for_each_send(const Exchange& exchange, const chip::Chip& chip,
                   const std::function<void(const Send&)>& visit) {
  Sender sender(exchange, chip, visit);
  for (const Transfer& transfer : exchange.transfers) {
    sender.send(transfer);
  }
}

void sources(const Send& send, std::int64_t cores, std::int64_t& turn, Cores& out) {
  const bool even = send.core < 0;
  const std::int64_t count =
      even ? std::clamp<std::int64_t>(send.runs, 1, std::min(cores, kMostSources)) : 1;
  out.clear();
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t core = ((turn++) * cores / kMostSources) + i;
    out.push_back(even ? static_cast<std::int32_t>(core % cores) : send.core);
  }
}

PortTraffic no_sends(const Exchange& exchange, const chip::Chip& chip) {
  const auto cores = subscript(chip::total_cores(chip));
  return {.received = std::vector<std::int64_t>(cores, 0),
          .sent = std::vector<std::int64_t>(
              cores, ceil_div(exchange.even_bytes, static_cast<std::int64_t>(cores))),
          .fragments = std::vector<std::int64_t>(cores, 0),
          .chip_in = std::vector<std::int64_t>(subscript(chip.chips), 0),
          .chip_out = std::vector<std::int64_t>(subscript(chip.chips), 0)};
}

void add_send(const Send& send, const chip::Chip& chip, const VisitReceivers& visit,
              PortTraffic& sum) {
  if (send.core >= 0) {
    sum.sent[subscript(send.core)] += send.bytes;
  }
  const std::int64_t home = send.core < 0 ? -1 : send.core / chip.core.count;
  for_each_chip(send.receivers, chip.core.count, [&](std::int64_t there, CoreSpan receivers) {
    for (const std::int32_t core : receivers) {
      sum.received[subscript(core)] += send.bytes;
      sum.fragments[subscript(core)] += send.runs;
    }
    cross(home, there, send.bytes, sum);
    visit(there, receivers);
  });
}

PortTraffic traffic(const Exchange& exchange, const chip::Chip& chip) {
  PortTraffic sum = no_sends(exchange, chip);
  PortCounter counter(chip, sum);
  const VisitReceivers ignore = [](std::int64_t, CoreSpan) {};
  const auto visit = [&](const Send& send) { add_send(send, chip, ignore, sum); };
  Sender sender(exchange, chip, visit);
  for (const Transfer& transfer : exchange.transfers) {
    if (transfer.pattern == Pattern::Share || transfer.pattern == Pattern::Scatter) {
      counter.add_all(transfer, exchange.groups[subscript(transfer.to)]);
    } else {
      sender.send(transfer);
    }
  }
  return sum;
}

std::int64_t busiest(const PortTraffic& traffic) {
  std::int64_t most = 0;
  for (std::size_t core = 0; core < traffic.received.size(); ++core) {
    most = std::max({most, traffic.received[core], traffic.sent[core]});
  }
  return most;
}

}  // namespace elk::program
