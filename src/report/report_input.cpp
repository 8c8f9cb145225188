#include "report/report_input.h"

#include <algorithm>
#include <filesystem>

#include "files/memory_map.h"
#include "files/safetensors.h"
#include "support/error.h"

namespace fwl {
namespace {

namespace fs = std::filesystem;

TrainingRun read_run(const std::string& folder) {
  const auto record = fs::path(folder) / "record.jsonl";
  if (!fs::exists(record)) fail(folder, "the folder of a run, with its record.jsonl", "another folder");
  const MemoryMap map(record.string());
  auto run = parse_record(record.string(), map.text());
  run.path = folder;
  return run;
}

EvaluationResult read_result(const std::string& path, const MemoryMap& map) {
  if (looks_like_safetensors(map.bytes())) return result_of_losses(path);
  const auto first = map.text().find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || map.text()[first] != '{')
    fail(path, "a run's folder, a JSON result or losses of fwl perplexity, samples of fwl generate", "something else");
  return parse_result(path, map.text());
}

bool is_same_evaluation(const EvaluationResult& a, const EvaluationResult& b) {
  const auto is_same_method = [](const MethodResult& one, const MethodResult& other) {
    return one.method == other.method && one.nll == other.nll && one.tokens_per_second == other.tokens_per_second;
  };
  return a.data_hash == b.data_hash && std::ranges::equal(a.methods, b.methods, is_same_method);
}

void add_result(std::vector<EvaluationResult>& results, EvaluationResult result) {
  for (auto& known : results) {
    if (!is_same_evaluation(known, result)) continue;
    if (known.losses_path.empty()) known.losses_path = result.losses_path;
    return;
  }
  results.push_back(std::move(result));
}

}  // namespace

ReportInput read_report_input(const std::vector<std::string>& paths) {
  ReportInput input;
  for (const auto& path : paths) {
    if (fs::is_directory(path)) {
      input.runs.push_back(read_run(path));
      continue;
    }
    const MemoryMap map(path);
    if (looks_like_samples(map.text()))
      input.generations.push_back(parse_samples(path, map.text()));
    else
      add_result(input.results, read_result(path, map));
  }
  return input;
}

}  // namespace fwl
