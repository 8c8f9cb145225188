#include "architecture/architecture.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "architecture/base_config.h"
#include "support/message_of.h"

namespace fwl {
namespace {

TEST(Architectures, HaveNamesOfTheirOwnAndAWayToMakeOrOpenThem) {
  std::set<std::string> names, gguf_names, folder_names;
  for (const auto& one : architectures()) {
    EXPECT_TRUE(names.insert(one.name).second) << one.name;
    for (const auto& name : one.gguf_names) EXPECT_TRUE(gguf_names.insert(name).second) << name;
    for (const auto& name : one.folder_names) EXPECT_TRUE(folder_names.insert(name).second) << name;
    EXPECT_EQ(one.gguf_names.empty(), one.open_gguf == nullptr) << one.name;
    EXPECT_EQ(one.folder_names.empty(), one.open_folder == nullptr) << one.name;
    EXPECT_TRUE(one.new_settings || one.open_gguf || one.open_folder) << one.name;
  }
}

TEST(Architectures, AModelSaysTheNameThatItIsMadeBy) {
  for (const auto& one : architectures()) {
    if (!one.new_settings) continue;
    nlohmann::json settings = {{"layers", 1}, {"hidden_size", 8}, {"heads", 2}, {"ffn_size", 8}};
    if (one.name == "transformer-xl") settings["memory_tokens"] = 4;
    FreshWeights weights(1);
    const auto model = base_config(one.name, 20, settings).make(weights);
    EXPECT_EQ(model->architecture(), one.name);
    EXPECT_EQ(model->vocabulary_size(), 20);
    int64_t numbers = 0;
    for (const auto& [name, tensor] : model->parameters()) numbers += tensor.numel();
    EXPECT_EQ(model->weight_counts().total(), numbers) << one.name;
    model->set_head_options({1 << 10, 0.25});
    EXPECT_EQ(model->head()->options().skip_probability_below, 0.25) << one.name;
  }
}

TEST(BaseConfig, ACopyHasSettingsOfItsOwn) {
  BaseConfig config;
  auto copy = config;
  Fields of_copy, of_original;
  add_fields(of_copy, copy);
  add_fields(of_original, config);
  of_copy.set_text("test", "model.layers", "3");
  EXPECT_EQ(of_copy.to_json()["model"]["layers"], 3);
  EXPECT_EQ(of_original.to_json()["model"]["layers"], 12);
}

TEST(BaseConfig, AnUnknownArchitectureIsAnErrorThatListsTheKnownOnes) {
  EXPECT_EQ(
      message_of([] { base_config("lama", 10, nlohmann::json::object()); }),
      "lama model: model.architecture: expected one of sparse-local, transformer-xl, llama, gpt2, got 'lama'; did "
      "you mean llama?");
}

}  // namespace
}  // namespace fwl
