#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/command.h"
#include "files/atomic_file.h"
#include "files/gguf_samples.h"
#include "files/safetensors_samples.h"

namespace fwl {
namespace {

struct Output {
  int code;
  std::string text, errors;
};

Output inspect(const std::string& path, const std::vector<std::string>& flags = {}) {
  std::ostringstream results, errors;
  Console console(results, errors, false);
  std::vector<std::string> arguments = {"inspect", path};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  const int code = run_command_line(arguments, console);
  return {code, results.str(), errors.str()};
}

std::string write(const std::string& name, std::string_view bytes) {
  const auto path = testing::TempDir() + name;
  write_file_atomically(path, bytes);
  return path;
}

// Whether a line of the text has these words in this order, with any spaces between.
bool has_line(const std::string& text, const std::vector<std::string>& words) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream in(line);
    if (std::vector<std::string>(std::istream_iterator<std::string>(in), {}) == words) return true;
  }
  return false;
}

TEST(Inspect, SaysWhatIsMissingToOpenAModel) {
  GgufMaker maker;
  maker.header(0, 1).key("general.architecture", GgufKind::text).text("mamba");
  const auto path = write("mamba.gguf", maker.data(0).bytes());
  const auto [code, text, errors] = inspect(path);
  EXPECT_EQ(code, 0) << errors;
  EXPECT_NE(text.find("mamba: cannot be opened"), std::string::npos) << text;
  EXPECT_NE(text.find("general.architecture: expected one of llama, qwen2"), std::string::npos) << text;
  EXPECT_NE(text.find("got 'mamba'"), std::string::npos) << text;
}

TEST(Inspect, AGgufFileIsShownAsATableWhateverItsName) {
  const auto [code, text, errors] = inspect(write("model.bin", sample_gguf(3)));
  EXPECT_EQ(code, 0) << errors;
  EXPECT_NE(text.find("model.bin: GGUF version 3, "), std::string::npos);
  EXPECT_TRUE(has_line(text, {"general.architecture", "llama"})) << text;
  EXPECT_TRUE(has_line(text, {"a.float32", "0.1"})) << text;
  EXPECT_TRUE(has_line(text, {"a.uint64", "18446744073709551615"})) << text;
  EXPECT_TRUE(has_line(text, {"token_embd.weight", "Q8_0", "2", "x", "32", "68"})) << text;
  EXPECT_TRUE(has_line(text, {"Q8_0", "1", "tensors", "64", "parameters", "68", "B"})) << text;
  EXPECT_TRUE(has_line(text, {"all", "4", "tensors", "329", "parameters", "246", "B"})) << text;
}

TEST(Inspect, LongArraysAreCutUnlessAllIsAskedFor) {
  GgufMaker maker;
  maker.header(0, 1).key("numbers", GgufKind::array).array(GgufKind::uint8, 40);
  for (uint8_t i = 0; i < 40; ++i) maker.number(i);
  const auto path = write("long.gguf", maker.bytes());
  EXPECT_NE(inspect(path).text.find("[40 x uint8] 0, 1, 2, 3, 4, 5, 6, 7, …\n"), std::string::npos);
  EXPECT_NE(inspect(path, {"--all"}).text.find("37,38,39]\n"), std::string::npos);
  const auto json = nlohmann::json::parse(inspect(path, {"--json"}).text);
  EXPECT_EQ(json["metadata"]["numbers"]["count"], 40);
  EXPECT_EQ(nlohmann::json::parse(inspect(path, {"--json", "--all"}).text)["metadata"]["numbers"].size(), 40U);
}

TEST(Inspect, SafetensorsAndFoldersOfThemAreShown) {
  const auto text = inspect(write("m.safetensors", sample_safetensors())).text;
  EXPECT_TRUE(has_line(text, {"w", "F32", "2", "x", "3", "24"})) << text;
  EXPECT_TRUE(has_line(text, {"note", "é"})) << text;
  const auto folder = testing::TempDir() + "inspect_folder";
  std::filesystem::create_directories(folder);
  write_file_atomically(folder + "/config.json", R"({"model_type": "llama"})");
  write_file_atomically(folder + "/model.safetensors", sample_safetensors());
  const auto shown = inspect(folder).text;
  EXPECT_NE(shown.find("Hugging Face folder, 1 file(s)"), std::string::npos) << shown;
  EXPECT_TRUE(has_line(shown, {"model_type", "llama"})) << shown;
}

TEST(Inspect, TextFromTheFileCannotReachTheTerminalAsControl) {
  GgufMaker maker;
  maker.header(0, 1).key("a\x1b[2J", GgufKind::text).text("b\n\xff\x07");
  const auto path = write("escapes.gguf", maker.bytes());
  EXPECT_TRUE(has_line(inspect(path).text, {"a\\x1b[2J", "b\\n\\xff\\x07"})) << inspect(path).text;
  EXPECT_EQ(inspect(path, {"--json"}).code, 0);
}

TEST(Inspect, UnknownAndMissingFilesAreClearErrors) {
  const auto path = write("notes.txt", "hello there\n");
  EXPECT_EQ(inspect(path).errors, "fwl: " + path +
                                      ": expected a GGUF, safetensors, tokenizer or token file, a Hugging Face "
                                      "folder or an adapter, got a file that begins with 'hello th'\n");
  EXPECT_EQ(inspect(path).code, 1);
  EXPECT_NE(inspect(write("other.json", "{\"a\": 1}")).errors.find("another JSON file"), std::string::npos);
  EXPECT_NE(inspect(write("empty", "")).errors.find("an empty file"), std::string::npos);
  EXPECT_NE(inspect("/nowhere").errors.find("/nowhere: cannot open"), std::string::npos);
  EXPECT_EQ(inspect("x", {"--jsn"}).code, 2);
}

}  // namespace
}  // namespace fwl
