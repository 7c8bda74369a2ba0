#include "elk/cost/tile_names.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace elk::cost {
namespace {

using ir::DType;

struct Borrowed {
  std::string_view function;
  std::string_view from;
};

// What a function without rows of its own costs: the function of the profile most like it.
constexpr auto kBorrowed = std::to_array<Borrowed>({
    // Series and table look-ups cost what exp does.
    {"sin", "exp"},
    {"cos", "exp"},
    {"tan", "exp"},
    {"asin", "exp"},
    {"acos", "exp"},
    {"atan", "exp"},
    {"sinh", "exp"},
    {"cosh", "exp"},
    {"asinh", "exp"},
    {"acosh", "exp"},
    {"atanh", "exp"},
    {"expm1", "exp"},
    {"softplus", "exp"},
    {"elu", "exp"},
    {"selu", "exp"},
    {"celu", "exp"},
    {"mish", "silu"},
    {"log1p", "log"},
    {"pow", "exp"},
    {"softsign", "reciprocal"},
    {"hard_swish", "sigmoid"},
    {"hard_sigmoid", "sigmoid"},
    {"quick_gelu", "silu"},
    {"gelu_tanh", "gelu"},
    // One pass of simple steps costs what relu does.
    {"floor", "relu"},
    {"ceil", "relu"},
    {"round", "relu"},
    {"sign", "relu"},
    {"clip", "relu"},
    {"leaky_relu", "relu"},
    {"prelu", "relu"},
    {"thresholded_relu", "relu"},
    {"isnan", "relu"},
    {"isinf", "relu"},
    {"not", "neg"},
    {"bitwise_not", "neg"},
    {"identity", "neg"},
    // Comparisons, logic and selection cost what max does.
    {"equal", "max"},
    {"less", "max"},
    {"less_equal", "max"},
    {"greater", "max"},
    {"greater_equal", "max"},
    {"not_equal", "max"},
    {"and", "max"},
    {"or", "max"},
    {"xor", "max"},
    {"where", "max"},
    {"bitwise_and", "max"},
    {"bitwise_or", "max"},
    {"bitwise_xor", "max"},
    {"shift", "max"},
    {"bit_shift", "max"},
    {"mod", "div"},
    {"fmod", "div"},
    {"squared_difference", "sub"},
    {"fma", "axpy"},
    // Other reductions of the same passes.
    {"mean", "sum"},
    {"min", "max"},
    {"prod", "sum"},
    {"sumsq", "sqsum"},
    {"l2", "sqsum"},
    {"l1", "sum"},
    {"logsumexp", "sum"},
    {"log_softmax", "softmax"},
    {"argmax", "max"},
    {"argmin", "max"},
    {"cumsum", "sum"},
    {"instancenorm", "layernorm"},
    {"groupnorm", "layernorm"},
    {"batchnorm", "layernorm"},
    {"l2norm", "rmsnorm"},
    {"avgpool2d", "sumpool2d"},
    {"averagepool2d", "sumpool2d"},
    {"lppool2d", "sumpool2d"},
    {"batch_matmul", "matmul"},
    {"conv", "conv2d"},
    {"conv1d", "conv2d"},
    {"conv3d", "conv2d"},
    {"copy", "slice_copy"},
    {"scatter", "scatter_add"},
});

std::string_view borrowed_from(std::string_view function) {
  const auto* found = std::find_if(kBorrowed.begin(), kBorrowed.end(), [&](const Borrowed& entry) {
    return entry.function == function;
  });
  return found == kBorrowed.end() ? std::string_view{} : found->from;
}

/// What stands in for a function with a suffix: the borrowed stem with it, then a plainer suffix.
void append_suffixed(std::string_view stem, std::string_view suffix,
                     std::vector<std::string>& names) {
  const std::string tail(suffix);
  const std::string_view from = borrowed_from(stem);
  if (!from.empty()) {
    names.push_back(std::string(from) + tail);
  }
  if (suffix == "/inner" || suffix == "/outer") {
    names.push_back("sum" + tail);
    return;
  }
  for (const std::string_view other :
       {std::string_view("max"), std::string_view("mul"), std::string_view("add")}) {
    names.push_back(std::string(other) + tail);
  }
  names.emplace_back(stem);
  if (!from.empty()) {
    names.emplace_back(from);
  }
}

bool is_float(DType dtype) {
  return dtype == DType::F64 || dtype == DType::F32 || dtype == DType::F16 ||
         dtype == DType::BF16 || dtype == DType::F8;
}

/// The dtype of the profile nearest to `dtype`.
DType profiled(DType dtype) {
  return is_float(dtype) && ir::bits(dtype) <= 16 ? DType::F16 : DType::F32;
}

std::int32_t byte_scale(DType dtype) {
  if (is_float(dtype) && ir::bits(dtype) <= 16) {
    return 0;
  }
  const double scale = static_cast<double>(ir::bits(dtype)) / 32.0;
  const auto* found = std::find(std::begin(kByteScales), std::end(kByteScales), scale);
  return found == std::end(kByteScales)
             ? 0
             : static_cast<std::int32_t>(std::distance(std::begin(kByteScales), found));
}

}  // namespace

std::vector<std::string> function_neighbours(std::string_view function) {
  std::vector<std::string> names{std::string(function)};
  if (const std::size_t slash = function.find('/'); slash != std::string_view::npos) {
    append_suffixed(function.substr(0, slash), function.substr(slash), names);
    return names;
  }
  if (const std::string_view from = borrowed_from(function); !from.empty()) {
    names.emplace_back(from);
  }
  return names;
}

std::vector<DTypeNeighbour> dtype_neighbours(DType compute, DType accumulate) {
  std::vector<DTypeNeighbour> pairs{{compute, accumulate, 0}};
  const std::int32_t scale = byte_scale(compute);
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

}  // namespace elk::cost
