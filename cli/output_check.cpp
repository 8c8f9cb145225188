#include "cli/output_check.h"

#include <filesystem>

#include "cli/model_name.h"
#include "data/corpus_reader.h"
#include "files/output_check.h"
#include "files/output_target.h"
#include "support/error.h"

namespace fwl {
namespace {

namespace fs = std::filesystem;

// What is read of the folder of a model, adapter, tokenizer or run.
void append_read_files(const std::string& folder, std::vector<std::string>& files) {
  constexpr std::string_view read_endings[] = {".json", ".jsonl", ".safetensors", ".model", ".vocab", ".txt"};
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (std::ranges::find(read_endings, at->path().extension().string()) != std::end(read_endings))
      files.push_back(at->path().string());
}

// "a.nll:fwl" names a file and a method in it.
std::string without_method(const std::string& name) {
  std::error_code error;
  return fs::exists(name, error) ? name : name.substr(0, name.rfind(':'));
}

std::vector<std::string> files_read(const Command& command) {
  std::vector<std::string> files = {command.config_path};
  CorpusOptions texts;
  for (const auto& field : command.fields.shown()) {
    if (field.name == "extension") texts.extension = field.default_text();
    for (const auto& text : field.texts()) {
      if (text.empty()) continue;
      if (field.file_use == Field::FileUse::read_as_text) texts.inputs.push_back(text);
      if (field.file_use != Field::FileUse::read) continue;
      for (const auto& place : places_of(without_method(text))) {
        files.push_back(place);
        append_read_files(place, files);
      }
    }
  }
  if (texts.inputs.empty()) return files;
  const auto listed = list_corpus_files(texts);
  files.insert(files.end(), listed.begin(), listed.end());
  return files;
}

}  // namespace

void check_outputs(const Command& command) {
  std::vector<std::string> outputs;
  for (const auto& field : command.fields.shown())
    if (const auto name = field.default_text(); field.file_use == Field::FileUse::written && !name.empty()) {
      const auto target = output_target(name).path;
      if (std::ranges::find(outputs, target) != outputs.end()) fail(name, "an output for itself", "another output");
      outputs.push_back(target);
    }
  const auto is_there = [](const std::string& output) { return fs::exists(output); };
  if (std::ranges::none_of(outputs, is_there)) return;
  const auto inputs = files_read(command);
  for (const auto& output : outputs) expect_apart(output, inputs);
}

}  // namespace fwl
