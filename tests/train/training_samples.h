// Tiny corpora and runs for the tests of training.
#pragma once

#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "cli/run_fwl.h"
#include "support/scratch.h"

namespace fwl {

// Documents that each repeat a cycle of letters of their own: what follows a letter can only be learned while reading.
inline std::string cycles_text(int documents, int length, unsigned seed) {
  std::mt19937 random(seed);
  std::string text;
  for (int document = 0; document < documents; ++document) {
    std::string letters = "abcdefghijklmnopqrstuvwx";
    std::shuffle(letters.begin(), letters.end(), random);
    letters.resize(12);
    for (int index = 0; index < length - 1; ++index) text += letters[static_cast<size_t>(index) % letters.size()];
    text += '\n';
  }
  return text;
}

inline std::string tokenized(const std::string& folder, const std::string& name, const std::string& text) {
  const auto source = write_text(folder + "/" + name + ".txt", text), path = folder + "/" + name + ".tokens";
  const auto result = run_fwl({"tokenize", "--tokenizer", "bytes", "--documents", "line", "--out", path, source});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  return path;
}

// The flags of a run that takes a second or less.
inline std::vector<std::string> tiny_run(const std::string& folder, const std::string& out) {
  return {"train",
          "--out",
          folder + "/" + out,
          "--data.train",
          folder + "/train.tokens",
          "--threads",
          "1",
          "--model.layers",
          "1",
          "--model.hidden-size",
          "16",
          "--model.heads",
          "2",
          "--model.ffn-size",
          "32",
          "--layer.size",
          "32",
          "--layer.chunk-tokens",
          "8",
          "--data.rows",
          "2",
          "--data.segment-tokens",
          "48",
          "--run.steps",
          "12",
          "--run.log-every",
          "1",
          "--run.checkpoint-every",
          "4"};
}

inline std::vector<std::string> operator+(std::vector<std::string> flags, const std::vector<std::string>& more) {
  flags.insert(flags.end(), more.begin(), more.end());
  return flags;
}

inline std::vector<nlohmann::json> record_of(const std::string& run) {
  std::vector<nlohmann::json> lines;
  std::istringstream text(read_text(run + "/record.jsonl"));
  for (std::string line; std::getline(text, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

inline std::vector<nlohmann::json> events_of(const std::string& run, const std::string& event) {
  std::vector<nlohmann::json> chosen;
  for (const auto& line : record_of(run))
    if (line.at("event") == event) chosen.push_back(line);
  return chosen;
}

}  // namespace fwl
