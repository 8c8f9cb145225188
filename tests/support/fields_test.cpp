#include "support/fields.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "support/message_of.h"
#include "support/scratch.h"

namespace fwl {
namespace {

struct Options {
  int64_t layers = 4;
  double peak_lr = 1e-3;
  bool tied = false;
  std::string base = "sparse";
  std::vector<int64_t> cutoffs = {10, 20};
  std::vector<std::string> text;
};

Fields describe(Options& options) {
  Fields fields;
  fields.add("model.layers", options.layers, "layers").range(1, 100);
  fields.add("peak_lr", options.peak_lr, "rate").at_least(0);
  fields.add("model.tied", options.tied, "tied");
  fields.add("model.base", options.base, "architecture").choices({"sparse", "xl"});
  fields.add("cutoffs", options.cutoffs, "cutoffs");
  fields.add("text", options.text, "files");
  return fields;
}

TEST(Fields, JsonOfTheListReadsBackToTheSameValues) {
  Options first;
  first.layers = 7;
  first.base = "xl";
  first.tied = true;
  first.cutoffs = {1, 2, 3};
  first.text = {"a", "b"};
  Options second;
  auto fields = describe(second);
  fields.set_json("test", describe(first).to_json());
  EXPECT_EQ(describe(second).to_json(), describe(first).to_json());
  EXPECT_EQ(describe(first).to_json()["model"]["layers"], 7);
}

TEST(Fields, TomlOfTheListReadsBackToTheSameTexts) {
  for (const auto* text :
       {"", "plain", "it's \"quoted\"", "two\nlines", "\n\nback\\slash", "'''\n\"\"\"", "\t\x7f\r\n"}) {
    Options first, second;
    first.text = {text, "b"};
    auto fields = describe(second);
    fields.load_toml("again.toml", describe(first).to_toml());
    EXPECT_EQ(second.text, first.text) << describe(first).to_toml();
  }
}

TEST(Fields, TomlTablesAndTextsSetTheSameFields) {
  const auto path = testing::TempDir() + "fields.toml";
  std::ofstream(path) << "peak_lr = 0.5\ncutoffs = [3, 4]\n[model]\nlayers = 9\ntied = true\n";
  Options options;
  auto fields = describe(options);
  fields.load_toml(path, read_text(path));
  EXPECT_EQ(options.layers, 9);
  EXPECT_EQ(options.peak_lr, 0.5);
  EXPECT_TRUE(options.tied);
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
  EXPECT_EQ(message_of([&] { fields.load_toml(path, read_text(path)); }).find(path + ":2:"), 0);
}

// Two kinds of model that share model.layers.
struct Kinds {
  std::string kind = "sparse";
  int64_t sparse_layers = 4, xl_layers = 6, block = 128, memory = 0;
};

Fields describe(Kinds& kinds) {
  Fields fields, sparse, xl;
  const auto& kind = fields.add("model.kind", kinds.kind, "kind").choices({"sparse", "xl"});
  sparse.add("model.layers", kinds.sparse_layers, "layers").range(1, 100);
  sparse.add("model.block", kinds.block, "tokens of a block");
  xl.add("model.layers", kinds.xl_layers, "layers").range(1, 200);
  xl.add("model.memory", kinds.memory, "tokens of the memory");
  fields.add_choice(kind, "sparse", sparse);
  fields.add_choice(kind, "xl", xl);
  return fields;
}

TEST(Fields, AKeyOfSeveralChoicesSetsEachOfThem) {
  Kinds kinds;
  auto fields = describe(kinds);
  fields.set_text("--set", "model.layers", "150");
  EXPECT_EQ(kinds.sparse_layers, 150);
  EXPECT_EQ(kinds.xl_layers, 150);
  EXPECT_EQ(message_of([&] { fields.check("train.toml"); }),
            "train.toml: model.layers: expected a whole number 1 to 100, got 150");
  fields.set_json("train.toml", {{"model", {{"kind", "xl"}}}});
  fields.check("train.toml");
}

TEST(Fields, HelpShowsAKeyOnceAndSaysWhichChoicesHaveIt) {
  Kinds kinds;
  const auto shown = describe(kinds).shown();
  ASSERT_EQ(shown.size(), 4u);
  EXPECT_EQ(shown[1].help, "layers");
  EXPECT_EQ(shown[1].default_text(), "4");
  EXPECT_EQ(shown[2].help, "sparse: tokens of a block");
  EXPECT_EQ(shown[3].help, "xl: tokens of the memory");
}

TEST(Fields, JsonHoldsOnlyTheFieldsOfTheChoice) {
  Kinds kinds;
  kinds.kind = "xl";
  EXPECT_EQ(describe(kinds).to_json(), nlohmann::json::parse(R"({"model": {"kind": "xl", "layers": 6, "memory": 0}})"));
}

TEST(Fields, AKeyThatTheChoiceDoesNotHaveIsAnErrorThatNamesThoseThatHaveIt) {
  Kinds kinds;
  auto fields = describe(kinds);
  fields.set_text("--set", "model.memory", "7");
  EXPECT_EQ(message_of([&] { fields.check("fwl train"); }),
            "--set: expected a key that model.kind sparse has, got 'model.memory'; only xl has it");
  fields.set_text("--set", "model.kind", "xl");
  fields.check("fwl train");
}

}  // namespace
}  // namespace fwl
