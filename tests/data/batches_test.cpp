#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "data/reading_batches.h"
#include "data/shuffled_batches.h"
#include "data/token_file_writer.h"
#include "support/message_of.h"
#include "support/scratch.h"
#include "tokenizer/fake_tokenizer.h"

namespace fwl {
namespace {

// Documents of the given lengths; token i of the file has id i, so that a batch shows where it comes from.
TokenFile numbered_file(const std::string& name, const std::vector<int64_t>& lengths) {
  const auto path = fresh_folder("batches") + "/" + name;
  const FakeTokenizer tokenizer(100000);
  TokenFileWriter writer(path, tokenizer, "");
  TokenId next = 0;
  for (const auto length : lengths) {
    std::vector<TokenId> ids(static_cast<size_t>(length));
    std::iota(ids.begin(), ids.end(), next);
    next += static_cast<TokenId>(length);
    writer.start_document("");
    writer.append(ids);
  }
  writer.commit();
  return TokenFile(path);
}

std::vector<int64_t> uneven_lengths() {
  std::vector<int64_t> lengths;
  for (int64_t i = 0; i < 200; ++i) lengths.push_back(1 + (i * 37) % 23);
  return lengths;
}

// How often each token is a target; checks that inputs stand right before targets and that the rest is padding.
void count_targets(const TokenBatch& batch, std::map<int64_t, int>& counts) {
  for (int64_t row = 0; row < batch.rows; ++row) {
    for (int64_t column = 0; column < batch.columns; ++column) {
      const auto at = static_cast<size_t>(row * batch.columns + column);
      if (column < batch.lengths[static_cast<size_t>(row)]) {
        EXPECT_EQ(batch.targets[at], batch.inputs[at] + 1);
        ++counts[batch.targets[at]];
      } else {
        EXPECT_EQ(batch.targets[at], TokenBatch::no_target);
        EXPECT_EQ(batch.inputs[at], 0);
      }
    }
  }
}

bool are_equal(const TokenBatch& a, const TokenBatch& b) {
  return a.rows == b.rows && a.columns == b.columns && a.inputs == b.inputs && a.targets == b.targets &&
         a.lengths == b.lengths && a.is_document_start == b.is_document_start;
}

void expect_each_once(const std::map<int64_t, int>& counts, size_t size) {
  EXPECT_EQ(counts.size(), size);
  for (const auto& [token, count] : counts) EXPECT_EQ(count, 1) << "token " << token;
}

TEST(Permutation, IsABijectionThatDependsOnSeedAndEpoch) {
  for (const uint64_t size : {1, 2, 3, 5, 16, 17, 1000, 4097}) {
    const Permutation order(size, 1, 2);
    std::set<uint64_t> seen;
    for (uint64_t i = 0; i < size; ++i) seen.insert(order(i));
    EXPECT_EQ(seen.size(), size);
    EXPECT_EQ(*seen.rbegin(), size - 1);
  }
  const auto list = [](uint64_t seed, uint64_t epoch) {
    std::vector<uint64_t> all;
    for (uint64_t i = 0; i < 100; ++i) all.push_back(Permutation(100, seed, epoch)(i));
    return all;
  };
  EXPECT_NE(list(1, 1), list(1, 2));
  EXPECT_NE(list(1, 1), list(2, 1));
}

TEST(Permutation, NeighboursEndUpAllOverThePlace) {
  const Permutation order(1 << 20, 3, 0);
  double distance = 0;
  for (uint64_t i = 0; i < 10000; ++i)
    distance += std::abs(static_cast<double>(order(i)) - static_cast<double>(order(i + 1)));
  EXPECT_NEAR(distance / 10000 / (1 << 20), 1.0 / 3, 0.02);
}

TEST(ShuffledBatches, MeetEveryTargetOncePerEpochAndNeverLeaveADocument) {
  const auto file = numbered_file("a", uneven_lengths());
  ShuffledBatches batches(file, {.rows = 1, .segment_tokens = 7, .seed = 5});
  TokenBatch batch;
  std::vector<int64_t> first_order, second_order;
  for (auto* order : {&first_order, &second_order}) {
    std::map<int64_t, int> counts;
    for (int64_t i = 0; i < batches.windows_per_epoch(); ++i) {
      batches.next(batch);
      count_targets(batch, counts);
      order->push_back(batch.inputs[0]);
      EXPECT_EQ(file.document_at(batch.inputs[0]),
                file.document_at(batch.targets[static_cast<size_t>(batch.lengths[0] - 1)]));
      EXPECT_EQ(batch.is_document_start[0], file.first_token_of(file.document_at(batch.inputs[0])) == batch.inputs[0]);
    }
    expect_each_once(counts, static_cast<size_t>(file.size() - file.document_count()));
  }
  EXPECT_NE(first_order, second_order);
  EXPECT_FALSE(std::is_sorted(first_order.begin(), first_order.end()));
  EXPECT_EQ(batches.epoch(), 2);
}

TEST(ShuffledBatches, PackedWindowsCoverTheWholeFile) {
  const auto file = numbered_file("a", uneven_lengths());
  ShuffledBatches batches(file, {.rows = 1, .segment_tokens = 64, .is_packed = true});
  TokenBatch batch;
  std::map<int64_t, int> counts;
  for (int64_t i = 0; i < batches.windows_per_epoch(); ++i) {
    batches.next(batch);
    count_targets(batch, counts);
  }
  expect_each_once(counts, static_cast<size_t>(file.size() - 1));
}

TEST(ShuffledBatches, ResumedAtEveryPositionTheyAreAsIfNeverStopped) {
  const auto file = numbered_file("a", {5, 9, 2, 30, 1, 14});
  const ShuffledOptions options{.rows = 4, .segment_tokens = 6, .seed = 11};
  ShuffledBatches never_stopped(file, options);
  for (int step = 0; step < 20; ++step) {
    ShuffledBatches resumed(file, options);
    resumed.restore(batch_state_from_json(nlohmann::json::parse(to_json(never_stopped.state()).dump())));
    TokenBatch expected, batch;
    never_stopped.next(expected);
    resumed.next(batch);
    EXPECT_TRUE(are_equal(batch, expected)) << "step " << step;
    EXPECT_EQ(resumed.state(), never_stopped.state());
  }
}

TEST(ReadingBatches, OneLaneMakesEveryTokenButTheFirstATargetOnce) {
  const auto file = numbered_file("a", uneven_lengths());
  for (const int64_t segment_tokens : {1, 7, 64, 100000}) {
    ReadingBatches batches(file, {.rows = 1, .segment_tokens = segment_tokens});
    std::map<int64_t, int> counts;
    int64_t count = 0;
    for (TokenBatch batch; batches.next(batch); ++count) count_targets(batch, counts);
    expect_each_once(counts, static_cast<size_t>(file.size() - 1));
    EXPECT_EQ(count, batches.batches_per_pass());
  }
}

TEST(ReadingBatches, LanesAreContiguousAndTheRestIsLeftOut) {
  const auto file = numbered_file("a", {11, 12});  // 23 tokens: 3 lanes of 7, 2 left out
  ReadingBatches batches(file, {.rows = 3, .segment_tokens = 4});
  TokenBatch batch;
  ASSERT_TRUE(batches.next(batch));
  EXPECT_EQ(batch.inputs, (std::vector<int64_t>{0, 1, 2, 3, 7, 8, 9, 10, 14, 15, 16, 17}));
  EXPECT_EQ(batch.targets, (std::vector<int64_t>{1, 2, 3, 4, 8, 9, 10, 11, 15, 16, 17, 18}));
  EXPECT_EQ(batch.is_document_start, (std::vector<uint8_t>{1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
  ASSERT_TRUE(batches.next(batch));
  EXPECT_EQ(batch.inputs, (std::vector<int64_t>{4, 5, 11, 12, 18, 19}));
  EXPECT_EQ(batch.targets, (std::vector<int64_t>{5, 6, 12, 13, 19, 20}));
  EXPECT_EQ(batch.is_document_start, (std::vector<uint8_t>{0, 0, 1, 0, 0, 0}));
  EXPECT_FALSE(batches.next(batch));
  batches.start_again();
  EXPECT_TRUE(batches.next(batch));
}

TEST(ReadingBatches, ResumedAtEveryPositionTheyAreAsIfNeverStopped) {
  const auto file = numbered_file("a", uneven_lengths());
  const ReadingOptions options{.rows = 3, .segment_tokens = 50};
  ReadingBatches never_stopped(file, options);
  for (bool goes_on = true; goes_on;) {
    ReadingBatches resumed(file, options);
    resumed.restore(never_stopped.state());
    TokenBatch expected, batch;
    goes_on = never_stopped.next(expected);
    EXPECT_EQ(resumed.next(batch), goes_on);
    EXPECT_TRUE(are_equal(batch, expected));
  }
}

TEST(Batches, AStateOfOtherDataOrOptionsIsRefused) {
  const auto file = numbered_file("a", {30, 40});
  ReadingBatches reading(file, {.rows = 2, .segment_tokens = 4});
  auto state = reading.state();
  state.rows = 3;
  EXPECT_NE(message_of([&] { reading.restore(state); }).find("other data or options"), std::string::npos);
  EXPECT_NE(message_of([&] { reading.restore(ShuffledBatches(file, {}).state()); }), "no error");
  EXPECT_NE(message_of([&] { batch_state_from_json({{"order", 3}}); }), "no error");
  state = reading.state();
  state.position = -4;
  EXPECT_NE(message_of([&] { reading.restore(state); }), "no error");
}

TEST(Batches, TooLittleTextIsAClearError) {
  const auto file = numbered_file("a", {1, 1, 1});
  EXPECT_NE(message_of([&] { ShuffledBatches(file, {}); }).find("at least 2 tokens"), std::string::npos);
  EXPECT_NE(message_of([&] { ReadingBatches(file, {.rows = 2}); }).find("2 lanes"), std::string::npos);
}

}  // namespace
}  // namespace fwl
