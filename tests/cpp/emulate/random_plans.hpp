#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "elk/base/errors.hpp"
#include "elk/base/ids.hpp"
#include "elk/base/random.hpp"
#include "elk/base/table.hpp"
#include "elk/emulate/machine/machine.hpp"
#include "elk/emulate/machine/pieces.hpp"
#include "elk/partition/enumerate.hpp"
#include "elk/program/code/buffers.hpp"
#include "elk/program/code/issue.hpp"
#include "elk/program/place/place.hpp"
#include "partition/ops.hpp"

/// Random ops under random valid plans, and what they compute.
namespace elk::emulate::random_plans {

using test::along;
using test::mapped;
using test::OneOp;
using test::parallel;
using test::reduction;
using Numbers64 = Table<AxisId, std::int64_t>;

/// An op whose reads are inputs 0, 1, ... and whose activations come from the host.
inline OneOp runnable(OneOp one, ir::DType accumulate = ir::DType::F32) {
  one.op().accumulate = accumulate;
  std::int32_t input = 0;
  for (ir::Operand& operand : one.op().operands) {
    ir::Tensor& tensor = one.graph.tensors[operand.tensor];
    if (operand.access == ir::Access::Read) {
      operand.input = input++;
      tensor.home = tensor.home == ir::Home::Activation ? ir::Home::Input : tensor.home;
    } else {
      one.graph.outputs.push_back(operand.tensor);
    }
  }
  return one;
}

inline OneOp batched(std::int64_t b, std::int64_t m, std::int64_t n, std::int64_t k) {
  OneOp one(ir::OpKind::MatMul, "matmul",
            {parallel("b", b, ir::TileDim::Group), parallel("m", m, ir::TileDim::M),
             parallel("n", n, ir::TileDim::N), reduction("k", k, ir::TileDim::K)});
  one.reads(ir::Home::Activation, {b, m, k}, {along(AxisId{0}), along(AxisId{1}), along(AxisId{3})})
      .reads(ir::Home::Weight, {k, n}, {along(AxisId{3}), along(AxisId{2})})
      .writes({b, m, n}, {along(AxisId{0}), along(AxisId{1}), along(AxisId{2})});
  return one;
}

/// A random op of the four kinds; sizes are small and mostly odd.
inline OneOp random_op(Random& random) {
  const auto size = [&](std::int64_t most) { return 1 + random.below(most); };
  switch (random.below(5)) {
    case 0:
      return runnable(test::matmul(size(9), size(9), size(17)));
    case 1:
      return runnable(batched(size(4), size(6), size(7), size(12)));
    case 2:
      return runnable(test::conv(size(6), size(5), size(5), 3, 1 + random.below(2)));
    case 3:
      return runnable(test::row_sum(size(6), size(20)));
    default:
      return runnable(test::bias_add(size(12), size(15)));
  }
}

inline std::int64_t one_of(Random& random, const Numbers64& choices) {
  return choices[id_at<AxisId>(random.below(static_cast<std::int64_t>(choices.size())))];
}

/// Which plans are drawn: any, or those in which some operand rotates along several dimensions.
enum class Draw : std::uint8_t { Any, Several };

/// A random valid cut: factors, temporal factors, and paces down to one.
inline std::optional<partition::ExecutePlan> random_plan(const OneOp& one, const chip::Chip& chip,
                                                         Random& random, Draw draw) {
  Numbers64 factors;
  std::int64_t cores = 1;
  for (const ir::Axis& axis : one.op().axes) {
    factors.push_back(
        one_of(random, partition::distinct_factors(axis.size, chip.core.count / cores)));
    cores *= factors.back();
  }
  Table<OperandId, Table<DimId, std::int64_t>> temporal(one.op().operands.size());
  for (const OperandId k : temporal.ids()) {
    const ir::Operand& operand = one.op().operands[k];
    std::int64_t sharers = partition::sharers(one.op(), k, factors);
    for (std::size_t dim = 0; dim < operand.dims.size() && sharers > 1; ++dim) {
      if (!partition::rotates(one.op(), k, id_at<DimId>(dim)) ||
          (draw == Draw::Any && random.below(2) == 0)) {
        continue;
      }
      const auto axis = operand.dims[id_at<DimId>(dim)].axes[0];
      const std::int64_t tile = (one.op().axes[axis].size + factors[axis] - 1) / factors[axis];
      temporal[k].resize(operand.dims.size(), 1);
      temporal[k][id_at<DimId>(dim)] = one_of(random, partition::temporal_factors(tile, sharers));
      sharers /= temporal[k][id_at<DimId>(dim)];  // What is left may rotate along other dimensions.
    }
  }
  auto plan =
      partition::complete_plan(one.graph, one.op(), std::move(factors), std::move(temporal), chip);
  for (std::int64_t& pace : plan->pace) {
    pace = pace > 1 && random.below(2) == 0 ? 1 + random.below(pace) : pace;
  }
  return plan;
}

/// The program of one op under a plan, with a random divisor for weights and states: one that their
/// copies allow or, without HBM, 0, for an even spread.
inline program::Program program_of(const OneOp& one, const partition::ExecutePlan& plan,
                                   const chip::Chip& chip, Random& random) {
  program::OpPlan placed{.execute = plan, .divisor = {}};
  bool has_hbm = false;
  for (const OperandId k : one.op().operands.ids()) {
    if (!partition::from_hbm(one.graph, one.op().operands[k])) {
      placed.divisor.push_back(0);
      continue;
    }
    has_hbm = chip.hbm.has_value();
    std::vector<std::int64_t> divisors =
        partition::sharing(one.graph, one.op(), k, plan, chip).divisors;
    if (!chip.hbm) {
      divisors = one.op().operands[k].indirect ? std::vector<std::int64_t>{} : divisors;
      divisors.push_back(0);
    }
    placed.divisor.push_back(one_of(random, divisors));
  }
  program::Program program{.ops = {placed}, .code = {}, .buffers = {}};
  const std::vector<OpId> order = has_hbm ? std::vector<OpId>{OpId{0}} : std::vector<OpId>{};
  program.code = program::issue(one.graph, order, {has_hbm ? 1 : 0});
  program.buffers = *program::place(program::buffers(one.graph, chip, program.ops, program.code),
                                    chip::room(chip));
  return program;
}

/// Small whole numbers, whose sums are exact in any order.
inline Images random_images(const ir::Graph& graph, Random& random) {
  Images images;
  for (const TensorId i : graph.tensors.ids()) {
    const ir::Tensor& tensor = graph.tensors[i];
    std::int64_t elements = 1;
    for (const std::int64_t size : tensor.shape) {
      elements *= size;
    }
    std::vector<double> values(static_cast<std::size_t>(elements));
    for (double& value : values) {
      value = static_cast<double>(random.below(9) - 4);
    }
    std::vector<std::byte>& bytes = images[i];
    bytes.resize(static_cast<std::size_t>(ir::bytes(tensor).value));
    save(values.data(), {.first = 0, .step = 1, .count = elements},
         {.data = bytes.data(), .dtype = tensor.dtype});
  }
  return images;
}

/// The result of one op computed as one tile.
inline std::vector<std::byte> wanted(const OneOp& one, Images images) {
  Table<OperandId, PieceBytes> pieces;
  for (const ir::Operand& operand : one.op().operands) {
    const ir::Tensor& tensor = one.graph.tensors[operand.tensor];
    pieces.push_back({whole(tensor), images[operand.tensor].data(), tensor.dtype});
  }
  compute_in_tiles(one.graph, one.op(), pieces, Numbers64(one.op().axes.size(), 1));
  return images[one.graph.outputs.front()];
}

inline std::string described(const OneOp& one, const program::Program& program) {
  std::string out = one.op().function;
  for (const AxisId axis : one.op().axes.ids()) {
    out += text(" ", one.op().axes[axis].name, "=", one.op().axes[axis].size, "/",
                program.ops[OpId{0}].execute.factors[axis], "@",
                program.ops[OpId{0}].execute.pace[axis]);
  }
  for (const OperandId k : program.ops[OpId{0}].execute.temporal.ids()) {
    out += text(" d", program.ops[OpId{0}].divisor[k], " t");
    for (const std::int64_t t : program.ops[OpId{0}].execute.temporal[k]) {
      out += text(t, ",");
    }
  }
  return out;
}

struct Tried {
  OneOp one;
  program::Program program;
  Images images;
};

/// The temporal factor of the second dimension along which some operand rotates, if any does.
inline std::int64_t* second_circle(partition::ExecutePlan& plan) {
  for (Table<DimId, std::int64_t>& parts : plan.temporal) {
    std::int64_t found = 0;
    for (std::int64_t& one : parts) {
      found += one > 1 ? 1 : 0;
      if (found == 2) {
        return &one;
      }
    }
  }
  return nullptr;
}

inline bool is_valid(const OneOp& one, const partition::ExecutePlan& plan, const chip::Chip& chip) {
  try {
    partition::validate(one.graph, one.op(), plan, chip);
    return true;
  } catch (const InvalidInput&) {
    return false;
  }
}

inline Tried tried(const chip::Chip& chip, std::uint64_t seed, Draw draw = Draw::Any) {
  Random random{seed};
  OneOp one = random_op(random);
  auto plan = random_plan(one, chip, random, draw);
  while (!is_valid(one, *plan, chip) ||
         (draw == Draw::Several && second_circle(*plan) == nullptr)) {
    one = random_op(random);
    plan = random_plan(one, chip, random, draw);
  }
  program::Program program = program_of(one, *plan, chip, random);
  Images images = random_images(one.graph, random);
  return {std::move(one), std::move(program), std::move(images)};
}

inline Views views_of(const Images& images) { return {images.begin(), images.end()}; }

inline std::vector<std::byte> emulated(const Tried& run, const chip::Chip& chip) {
  Images given = run.images;
  given.erase(run.one.graph.outputs.front());
  const TensorId result = run.one.graph.outputs.front();
  try {
    return emulate({run.one.graph, chip, run.program, 1}, views_of(given), run.one.graph.outputs)
        .at(result);
  } catch (const InternalError& error) {
    ADD_FAILURE() << error.what() << ": " << described(run.one, run.program);
    return {};
  }
}

}  // namespace elk::emulate::random_plans
