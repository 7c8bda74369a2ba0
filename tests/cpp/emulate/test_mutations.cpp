#include <algorithm>
#include <cstdint>
#include <functional>

#include <gtest/gtest.h>

#include "elk/base/ids.hpp"
#include "emulate/random_plans.hpp"

/// Programs that are broken in one way each are found out.
namespace elk::emulate {
namespace {

using namespace random_plans;

/// What is done to a sound program, and whether it can be done to this one.
using Change = std::function<bool(program::Program&)>;

/// The first buffer in a role, if there is one.
program::Buffer* buffer_of(program::Program& program, program::Role role) {
  const auto found =
      std::find_if(program.buffers.begin(), program.buffers.end(),
                   [&](const program::Buffer& buffer) { return buffer.role == role; });
  return found == program.buffers.end() ? nullptr : &*found;
}

bool shrink(program::Program& program, program::Role role) {
  program::Buffer* buffer = buffer_of(program, role);
  if (buffer != nullptr) {
    buffer->bytes.value -= 8;
  }
  return buffer != nullptr;
}

/// Whether a broken program is found out: it stops, or its numbers differ.
bool is_caught(const Tried& run, const chip::Chip& chip) {
  Images given = run.images;
  given.erase(run.one.graph.outputs.front());
  try {
    const Images found =
        emulate({run.one.graph, chip, run.program, 1}, views_of(given), run.one.graph.outputs);
    const auto result = found.find(run.one.graph.outputs.front());
    return result == found.end() || result->second != wanted(run.one, run.images);
  } catch (const Error&) {
    return true;
  }
}

/// Breaks 400 programs in one way each and counts those it can be done to.
std::int64_t broken_and_caught(const Change& mutation, Draw draw = Draw::Any) {
  const chip::Chip chip = test::small_chip(24, 1 << 16);
  std::int64_t broken = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    Tried run = tried(chip, seed, draw);
    if (mutation(run.program)) {
      broken += 1;
      EXPECT_TRUE(is_caught(run, chip))
          << "seed " << seed << ": " << described(run.one, run.program);
    }
  }
  return broken;
}

TEST(Mutation, FindsAPreloadThatIsDropped) {
  EXPECT_GT(broken_and_caught([](program::Program& program) {
              const bool has = program.code.front().opcode == program::Opcode::Preload;
              for (program::Buffer& buffer : program.buffers) {
                buffer.from -= has && buffer.from > 0 ? 1 : 0;
                buffer.to -= has && buffer.to > 0 ? 1 : 0;
              }
              if (has) {
                program.code.erase(program.code.begin());
              }
              return has;
            }),
            20);
}

TEST(Mutation, FindsAnExecuteThatIsDropped) {
  EXPECT_GT(broken_and_caught([](program::Program& program) {
              program.code.pop_back();
              return true;
            }),
            20);
}

TEST(Mutation, FindsAnAddressBeyondTheMemory) {
  EXPECT_GT(broken_and_caught([](program::Program& program) {
              program.buffers.back().offset = {1 << 16};
              return true;
            }),
            20);
}

TEST(Mutation, FindsAnAddressThatAnotherBufferHas) {
  EXPECT_GT(broken_and_caught([](program::Program& program) {
              const bool has = program.buffers.size() > 1;
              program.buffers.back().offset = program.buffers.front().offset;
              return has;
            }),
            20);
}

TEST(Mutation, FindsAPreloadBufferThatIsTooShort) {
  EXPECT_GT(broken_and_caught(
                [](program::Program& program) { return shrink(program, program::Role::Preload); }),
            20);
}

TEST(Mutation, FindsAnExecuteBufferThatIsTooShort) {
  EXPECT_GT(broken_and_caught(
                [](program::Program& program) { return shrink(program, program::Role::Execute); }),
            20);
}

TEST(Mutation, FindsARestBufferThatIsTooShort) {
  EXPECT_GT(broken_and_caught([](program::Program& program) {
              return shrink(program, program::Role::Activation);
            }),
            20);
}

TEST(Mutation, FindsABufferThatIsFreedTooEarly) {
  EXPECT_GT(broken_and_caught([](program::Program& program) {
              program::Buffer* buffer = buffer_of(program, program::Role::Preload);
              if (buffer != nullptr) {
                buffer->to = 0;
              }
              return buffer != nullptr;
            }),
            20);
}

TEST(Mutation, FindsAPaceBeyondThePartition) {
  EXPECT_GT(broken_and_caught([](program::Program& program) {
              partition::ExecutePlan& plan = program.ops[OpId{0}].execute;
              for (std::int64_t& pace : plan.pace) {
                pace = pace > 0 ? pace * 64 : 0;
              }
              return !plan.loops.empty();
            }),
            20);
}

TEST(Mutation, FindsASecondCircleOfMoreCoresThanThereAre) {
  EXPECT_EQ(broken_and_caught(
                [](program::Program& program) {
                  *second_circle(program.ops[OpId{0}].execute) *= 24;
                  return true;
                },
                Draw::Several),
            400);
}

TEST(Mutation, FindsADivisorThatNoRingHas) {
  EXPECT_GT(broken_and_caught([](program::Program& program) {
              bool has = false;
              for (std::int64_t& divisor : program.ops[OpId{0}].divisor) {
                has = has || divisor > 1;
                divisor = divisor > 1 ? divisor * 24 : divisor;
              }
              return has;
            }),
            20);
}

}  // namespace
}  // namespace elk::emulate
