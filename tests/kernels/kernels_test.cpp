// Every kernel against its definition in double, on every instruction set of the machine.
#include "kernels/kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>
#include <vector>

#include "kernels/instruction_set.h"

namespace fwl {
namespace {

using Floats = std::vector<float>;

Floats random_floats(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 3);
  Floats values(count);
  for (auto& value : values) value = normal(random);
  return values;
}

template <class Action>
void on_every_instruction_set(Action action) {
  for (const auto set : available_instruction_sets()) {
    const InstructionSetScope scope(set);
    const testing::ScopedTrace trace(__FILE__, __LINE__, std::string(name_of(set)));
    for (const int64_t count : {1, 7, 16, 40, 133}) action(count, static_cast<size_t>(count));
  }
}

double share_of(double actual, double expected) {
  return std::abs(actual - expected) / std::max(1.0, std::abs(expected));
}

TEST(InstructionSet, APortableOneIsAlwaysThereAndNoneIsAboveTheMachine) {
  const auto sets = available_instruction_sets();
  EXPECT_EQ(sets.front(), InstructionSet::portable);
  const InstructionSetScope scope(InstructionSet::avx512_vnni);
  EXPECT_EQ(instruction_set(), sets.back());
}

TEST(Kernels, DotIsTheSumOfProducts) {
  on_every_instruction_set([](int64_t count, size_t size) {
    const auto a = random_floats(size, 1), b = random_floats(size, 2);
    double exact = 0, terms = 0;
    for (size_t index = 0; index < size; ++index) {
      exact += static_cast<double>(a[index]) * b[index];
      terms += std::abs(static_cast<double>(a[index]) * b[index]);
    }
    EXPECT_NEAR(dot(a.data(), b.data(), count), exact, 4e-7 * terms) << count;
  });
}

TEST(Kernels, AttentionWeightsAreASoftmaxOfScaledSums) {
  on_every_instruction_set([](int64_t count, size_t size) {
    const auto scores = random_floats(size, 3), extra = random_floats(size, 4);
    for (const float* added : {static_cast<const float*>(nullptr), extra.data()}) {
      auto row = scores;
      const double factor = attention_weights(row.data(), added, 0.3F, count);
      std::vector<double> logits;
      for (size_t index = 0; index < size; ++index)
        logits.push_back(0.3F * (static_cast<double>(scores[index]) + (added ? added[index] : 0.0F)));
      double total = 0;
      for (const double logit : logits) total += std::exp(logit);
      for (size_t index = 0; index < size; ++index)
        EXPECT_NEAR(row[index] * factor, std::exp(logits[index]) / total, 1e-6) << count;
    }
  });
}

TEST(Kernels, SoftmaxOfColumnsAndItsTilesAgreeWithTheDefinition) {
  on_every_instruction_set([](int64_t rows, size_t) {
    constexpr int64_t columns = 19;
    const auto logits = random_floats(static_cast<size_t>(rows * columns), 5);
    const auto bias = random_floats(static_cast<size_t>(rows), 6);
    Floats whole = logits, log_sums(columns);
    softmax_of_columns(whole.data(), rows, columns, bias.data(), log_sums.data(), columns);
    Floats tiles = logits, maxima(columns, -INFINITY), loss_maxima = maxima, factors(columns);
    std::vector<double> totals(columns), loss_totals(columns);
    constexpr int64_t tile = 6;
    for (int64_t first = 0; first < rows; first += tile) {
      const int64_t count = std::min(tile, rows - first);
      sum_exponentials_of_tile(logits.data() + first * columns, count, columns, bias.data() + first, loss_maxima.data(),
                               loss_totals.data(), columns);
      exponentials_of_tile(tiles.data() + first * columns, count, columns, bias.data() + first, maxima.data(),
                           totals.data(), factors.data(), columns);
    }
    for (size_t column = 0; column < columns; ++column) {
      double total = 0;
      const auto logit = [&](size_t row) { return static_cast<double>(logits[row * columns + column]) + bias[row]; };
      for (size_t row = 0; row < static_cast<size_t>(rows); ++row) total += std::exp(logit(row));
      EXPECT_LT(share_of(log_sums[column], std::log(total)), 1e-6);
      EXPECT_LT(share_of(maxima[column] + std::log(totals[column]), std::log(total)), 1e-6);
      EXPECT_LT(share_of(loss_maxima[column] + std::log(loss_totals[column]), std::log(total)), 1e-6);
      for (size_t row = 0; row < static_cast<size_t>(rows); ++row)
        EXPECT_NEAR(whole[row * columns + column], std::exp(logit(row)) / total, 2e-6);
      const size_t last = static_cast<size_t>(rows) - 1;  // relative to the final maximum
      EXPECT_NEAR(tiles[last * columns + column], std::exp(logit(last) - maxima[column]), 2e-6);
    }
  });
}

TEST(Kernels, RowsAreWhatTheirFormulasSay) {
  on_every_instruction_set([](int64_t count, size_t size) {
    const auto x = random_floats(size, 7), y = random_floats(size, 8);
    Floats out(size), shifted = y, p = x, s = y;
    double squares = 0;
    for (const float value : x) squares += static_cast<double>(value) * value;
    rms_norm_row(x.data(), y.data(), 1e-5F, count, out.data());
    multiply_shifted_row(x.data(), shifted.data(), x.data(), count);
    attention_gradient_row(p.data(), s.data(), 0.5F, 0.25F, 2.0F, count);
    Floats gated(size);
    swiglu_row(x.data(), y.data(), count, gated.data());
    Floats squared(size), twice(size), affine = x;
    squared_relu_row(x.data(), count, squared.data());
    twice_relu_row(x.data(), y.data(), count, twice.data());
    affine_row(affine.data(), 0.5F, 3.0F, count);
    for (size_t index = 0; index < size; ++index) {
      const double a = x[index], b = y[index];
      EXPECT_LT(share_of(squared[index], a > 0 ? a * a : 0), 1e-6);
      EXPECT_LT(share_of(twice[index], a > 0 ? 2 * a * b : 0), 1e-6);
      EXPECT_LT(share_of(affine[index], 0.5 * a + 3), 1e-6);
      EXPECT_LT(share_of(out[index], a * b / std::sqrt(squares / static_cast<double>(size) + 1e-5)), 2e-6);
      EXPECT_LT(share_of(shifted[index], a * (b + a)), 1e-6);
      EXPECT_LT(share_of(s[index], 0.5 * a * (b - 0.25) * 2), 1e-6);
      EXPECT_LT(share_of(gated[index], a / (1 + std::exp(-a)) * b), 2e-6);
    }
  });
}

TEST(Kernels, WeightedRowsAddUpToTheSumOfRowsTimesFactors) {
  on_every_instruction_set([](int64_t columns, size_t size) {
    for (const int64_t rows : {1, 3, 4, 9}) {
      const auto matrix = random_floats(static_cast<size_t>(rows) * size, 9);
      const auto factors = random_floats(static_cast<size_t>(rows), 10), start = random_floats(size, 11);
      auto sum = start;
      add_weighted_rows(matrix.data(), rows, columns, factors.data(), sum.data());
      for (size_t column = 0; column < size; ++column) {
        double exact = start[column];
        for (size_t row = 0; row < static_cast<size_t>(rows); ++row)
          exact += static_cast<double>(factors[row]) * matrix[row * size + column];
        EXPECT_NEAR(sum[column], exact, 1e-4) << rows << " " << column;
      }
    }
  });
}

TEST(Kernels, RotationsTurnPairsOfHalvesOrNeighbours) {
  on_every_instruction_set([](int64_t half, size_t size) {
    const auto x = random_floats(2 * size, 12), cosines = random_floats(size, 13), sines = random_floats(size, 14);
    auto halves = x, neighbours = x;
    rotate_halves(halves.data(), cosines.data(), sines.data(), half);
    rotate_neighbours(neighbours.data(), cosines.data(), sines.data(), half);
    for (size_t index = 0; index < size; ++index) {
      const double c = cosines[index], s = sines[index];
      EXPECT_LT(share_of(halves[index], x[index] * c - x[size + index] * s), 1e-5);
      EXPECT_LT(share_of(halves[size + index], x[size + index] * c + x[index] * s), 1e-5);
      EXPECT_LT(share_of(neighbours[2 * index], x[2 * index] * c - x[2 * index + 1] * s), 1e-5);
      EXPECT_LT(share_of(neighbours[2 * index + 1], x[2 * index + 1] * c + x[2 * index] * s), 1e-5);
    }
  });
}

}  // namespace
}  // namespace fwl
