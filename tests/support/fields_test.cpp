#include "support/fields.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "support/message_of.h"

namespace fwl {
namespace {

struct Options {
  int64_t layers = 4;
  double peak_lr = 1e-3;
  bool is_tied = false;
  std::string base = "sparse";
  std::vector<int64_t> cutoffs = {10, 20};
  std::vector<std::string> text;
};

Fields describe(Options& options) {
  Fields fields;
  fields.add("model.layers", options.layers, "layers").range(1, 100);
  fields.add("peak_lr", options.peak_lr, "rate").at_least(0);
  fields.add("model.is_tied", options.is_tied, "tied");
  fields.add("model.base", options.base, "architecture").choices({"sparse", "xl"});
  fields.add("cutoffs", options.cutoffs, "cutoffs");
  fields.add("text", options.text, "files");
  return fields;
}

TEST(Fields, JsonOfTheListReadsBackToTheSameValues) {
  Options first;
  first.layers = 7;
  first.base = "xl";
  first.is_tied = true;
  first.cutoffs = {1, 2, 3};
  first.text = {"a", "b"};
  Options second;
  auto fields = describe(second);
  fields.set_json("test", describe(first).to_json());
  EXPECT_EQ(describe(second).to_json(), describe(first).to_json());
  EXPECT_EQ(describe(first).to_json()["model"]["layers"], 7);
}

TEST(Fields, TomlTablesAndTextsSetTheSameFields) {
  const auto path = testing::TempDir() + "fields.toml";
  std::ofstream(path) << "peak_lr = 0.5\ncutoffs = [3, 4]\n[model]\nlayers = 9\nis_tied = true\n";
  Options options;
  auto fields = describe(options);
  fields.load_toml(path);
  EXPECT_EQ(options.layers, 9);
  EXPECT_EQ(options.peak_lr, 0.5);
  EXPECT_TRUE(options.is_tied);
  EXPECT_EQ(options.cutoffs, (std::vector<int64_t>{3, 4}));
  fields.set_text("--set", "cutoffs", "5,6");
  EXPECT_EQ(options.cutoffs, (std::vector<int64_t>{5, 6}));
}

TEST(Fields, ErrorsNameTheKeyWhatItAcceptsWhatCameAndANearName) {
  Options options;
  auto fields = describe(options);
  EXPECT_EQ(message_of([&] { fields.set_text("--set", "peak_rl", "1"); }),
            "--set: expected a known key, got 'peak_rl'; did you mean peak_lr?");
  EXPECT_EQ(message_of([&] { fields.set_text("--set", "model.layers", "many"); }),
            "--set: model.layers: expected a whole number 1 to 100, got 'many'");
  fields.set_text("--set", "model.layers", "1000");
  EXPECT_EQ(message_of([&] { fields.check("train.toml"); }),
            "train.toml: model.layers: expected a whole number 1 to 100, got 1000");
  fields.set_text("--set", "model.layers", "2");
  fields.set_text("--set", "model.base", "sparce");
  EXPECT_EQ(message_of([&] { fields.check("train.toml"); }),
            "train.toml: model.base: expected one of sparse, xl, got 'sparce'; did you mean sparse?");
}

TEST(Fields, BrokenTomlIsReportedWithItsLine) {
  const auto path = testing::TempDir() + "broken.toml";
  std::ofstream(path) << "a = 1\nb = = 2\n";
  Options options;
  auto fields = describe(options);
  EXPECT_EQ(message_of([&] { fields.load_toml(path); }).find(path + ":2:"), 0);
}

}  // namespace
}  // namespace fwl
