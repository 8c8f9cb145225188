#include "files/huggingface_folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "files/atomic_file.h"
#include "support/message_of.h"

namespace fwl {
namespace {

// A folder with a config and two shards: a in the first, b in the second.
std::string make_folder(const std::string& name, const std::string& weight_map) {
  const auto folder = testing::TempDir() + name;
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const std::string data = "01234567";
  const auto bytes = std::as_bytes(std::span(data));
  write_file_atomically(folder + "/config.json", R"({"model_type": "llama", "hidden_size": 8})");
  write_file_atomically(folder + "/model.safetensors.index.json", R"({"weight_map": )" + weight_map + "}");
  write_safetensors(folder + "/model-00001-of-00002.safetensors", {{"a.weight", Dtype::F32, {2}, bytes}});
  write_safetensors(folder + "/model-00002-of-00002.safetensors", {{"b.weight", Dtype::U8, {8}, bytes}});
  return folder;
}

std::string open_error(const std::string& weight_map) {
  return message_of([&] { HuggingFaceFolder(make_folder("broken_folder", weight_map)); });
}

TEST(HuggingFaceFolder, TensorsOfAllShardsAreFoundByName) {
  const auto path = make_folder("good_folder", R"({"a.weight": "model-00001-of-00002.safetensors",
                                                   "b.weight": "model-00002-of-00002.safetensors"})");
  HuggingFaceFolder first(path);
  const HuggingFaceFolder folder(std::move(first));
  EXPECT_EQ(folder.config()["hidden_size"], 8);
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"a.weight", "b.weight"}));
  EXPECT_EQ(folder.tensor("a.weight").dtype, Dtype::F32);
  EXPECT_EQ(folder.tensor("b.weight").dtype, Dtype::U8);
  EXPECT_EQ(folder.find("c.weight"), nullptr);
  EXPECT_EQ(message_of([&] { folder.tensor("a.weigth"); }),
            path + ": expected tensor a.weigth, got a model without it; did you mean a.weight?");
}

TEST(HuggingFaceFolder, OneFileNeedsNoIndex) {
  const auto path = make_folder("single_folder", "{}");
  std::filesystem::rename(path + "/model-00001-of-00002.safetensors", path + "/model.safetensors");
  EXPECT_EQ(HuggingFaceFolder(path).names(), std::vector<std::string>{"a.weight"});
}

TEST(HuggingFaceFolder, MissingShardsAndTensorsAreNamed) {
  EXPECT_NE(open_error(R"({"a.weight": "model-00003-of-00003.safetensors"})")
                .find("expected shard model-00003-of-00003.safetensors, got a folder without it"),
            std::string::npos);
  EXPECT_NE(open_error(R"({"c.weight": "model-00001-of-00002.safetensors"})")
                .find("model-00001-of-00002.safetensors: expected tensor c.weight, got a file without it"),
            std::string::npos);
  const auto path = make_folder("empty_folder", "{}");
  std::filesystem::remove(path + "/model.safetensors.index.json");
  EXPECT_NE(message_of([&] { HuggingFaceFolder{path}; }).find("got neither"), std::string::npos);
}

TEST(HuggingFaceFolder, ShardNamesCannotLeaveTheFolder) {
  for (const auto* name : {"../model.safetensors", "/etc/model.safetensors", "a/b.safetensors", "..\\\\b.safetensors",
                           "", ".safetensors", "b\\u0000.safetensors", "model.bin"})
    EXPECT_NE(open_error(R"({"a": ")" + std::string(name) + "\"}").find("inside the folder"), std::string::npos)
        << name;
  EXPECT_NE(open_error(R"({"a": 3})").find("the name of a shard, got number"), std::string::npos);
  EXPECT_NE(open_error("[]").find("an object with a weight_map"), std::string::npos);
}

TEST(HuggingFaceFolder, ABrokenConfigIsAClearError) {
  const auto path = make_folder("bad_config", "{}");
  write_file_atomically(path + "/config.json", "{\"a\": }");
  EXPECT_EQ(message_of([&] { HuggingFaceFolder{path}; }).find(path + "/config.json: not valid JSON: parse error at"),
            0U);
  write_file_atomically(path + "/config.json", std::string(1000, '['));
  EXPECT_NE(message_of([&] { HuggingFaceFolder{path}; }).find("nested at most 64 deep"), std::string::npos);
  write_file_atomically(path + "/config.json", "[]");
  EXPECT_NE(message_of([&] { HuggingFaceFolder{path}; }).find("expected a JSON object, got array"), std::string::npos);
}

}  // namespace
}  // namespace fwl
