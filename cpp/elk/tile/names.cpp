#include "elk/tile/names.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include "elk/base/text.hpp"

namespace elk::tile {
namespace {

using ir::DType;

/// What functions without rows cost: `from`, the function of the profile most like them. Functions
/// stand between spaces.
struct Lender {
  std::string_view from;
  std::string_view functions;
};

constexpr auto kLenders = std::to_array<Lender>({
    // Series and table look-ups.
    {"exp",
     " sin cos tan asin acos atan sinh cosh asinh acosh atanh softplus elu selu celu pow expm1 "},
    {"log", " log1p "},
    {"silu", " mish quick_gelu "},
    {"gelu", " gelu_tanh "},
    {"sigmoid", " hard_swish hard_sigmoid "},
    {"reciprocal", " softsign "},
    // One pass of simple steps.
    {"relu", " floor ceil round sign clip leaky_relu prelu thresholded_relu shrink isnan isinf "},
    {"neg", " not bitwise_not "},
    // Comparisons, logic and selection.
    {"max",
     " equal less less_equal greater greater_equal not_equal and or xor where bitwise_and "
     "bitwise_or bitwise_xor shift argmax argmin min "},
    {"div", " mod fmod "},
    {"mul/row_scalar", " batchnorm "},
    // Reductions of the same passes.
    {"sum", " mean prod logsum logsumexp l1 "},
    {"sqsum", " l2 "},
    {"softmax", " log_softmax "},
    {"sumpool2d", " avgpool2d "},
    // Other shapes of the same work.
    {"matmul", " batch_matmul "},
});

std::string_view lender(std::string_view function) {
  const std::string word = text(' ', function, ' ');
  const auto* found = std::find_if(kLenders.begin(), kLenders.end(), [&](const Lender& entry) {
    return entry.functions.find(word) != std::string_view::npos;
  });
  return found == kLenders.end() ? std::string_view{} : found->from;
}

bool is_one_input(std::string_view function) {
  return function == "exp" || function == "relu" || function == "sigmoid" || function == "neg";
}

/// What stands in for a reduction or a broadcast: the lender of its stem in the same shape, then
/// another function in that shape.
void append_suffixed(std::string_view stem, std::string_view suffix,
                     std::vector<std::string>& names) {
  const std::string_view from = lender(stem);
  if (!from.empty()) {
    names.push_back(text(from, suffix));
  }
  if (suffix == "/inner" || suffix == "/outer") {
    names.push_back(text("sum", suffix));
    return;
  }
  if (is_one_input(from)) {
    names.emplace_back(from);
  }
  for (const std::string_view other : {"max", "mul"}) {
    names.push_back(text(other, suffix));
  }
  names.emplace_back(stem);
}

bool is_float(DType dtype) {
  return dtype == DType::F64 || dtype == DType::F32 || dtype == DType::F16 ||
         dtype == DType::BF16 || dtype == DType::F8;
}

/// The dtype of the profile nearest to `dtype`.
DType profiled(DType dtype) {
  return is_float(dtype) && ir::bits(dtype) <= 16 ? DType::F16 : DType::F32;
}

std::int32_t scale_of(std::int64_t bits) {
  const double scale = static_cast<double>(bits) / 32.0;
  const auto* found = std::find(kByteScales.begin(), kByteScales.end(), scale);
  return found == kByteScales.end()
             ? 0
             : static_cast<std::int32_t>(std::distance(kByteScales.begin(), found));
}

std::int32_t byte_scale(DType dtype) {
  if (is_float(dtype) && ir::bits(dtype) <= 16) {
    return 0;
  }
  return scale_of(ir::bits(dtype));
}

}  // namespace

std::vector<std::string> function_neighbours(std::string_view function) {
  std::vector<std::string> names{std::string(function)};
  if (const std::size_t slash = function.find('/'); slash != std::string_view::npos) {
    append_suffixed(function.substr(0, slash), function.substr(slash), names);
  } else if (const std::string_view from = lender(function); !from.empty()) {
    names.emplace_back(from);
  }
  names.emplace_back("*");  // What an analytic model says of any function.
  return names;
}

std::vector<DTypeSubstitute> dtype_neighbours(std::string_view function, DType compute,
                                              DType accumulate) {
  std::vector<DTypeSubstitute> pairs{{compute, accumulate, 0}};
  const std::int32_t scale = function == "cast" && !is_float(compute)
                                 ? scale_of(std::max(ir::bits(compute), ir::bits(accumulate)))
                                 : byte_scale(compute);
  const DType near = profiled(compute);
  const DType other = near == DType::F16 ? DType::F32 : DType::F16;
  const DType result = profiled(accumulate);
  pairs.push_back({near, result, scale});
  pairs.push_back({near, near, scale});
  pairs.push_back({near, other, scale});
  pairs.push_back({other, other, 0});
  pairs.push_back({other, near, 0});
  return pairs;
}

}  // namespace elk::tile
