// `fwl bench`: measures scoring, generation and training speed, in the format of llama-bench.
#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/evaluation_input.h"
#include "cli/model_name.h"
#include "engine/products.h"
#include "evaluate/bench.h"
#include "store/open_model.h"
#include "store/trained_model.h"
#include "support/error.h"
#include "support/interrupt.h"

namespace fwl {
namespace {

struct Options {
  std::string model, adapter, weights = "quantized";
  int64_t vocabulary_size = 0;
  ModelDescription fresh;
  BenchOptions bench;
  std::vector<std::string> methods = {"static"};
  double step = 1e-6;
  BlockConfig blocks;
  std::string output = "md";
  EngineFlags engine;
};

void describe(Fields& fields, Options& options) {
  fields.add("model", options.model, "a model; without it, random weights in the sizes of model.* and layer.*")
      .short_name("m");
  fields.add("adapter", options.adapter, "a fast weight layer for the model");
  fields.add("weights", options.weights, "weights of published models: quantised as in the file, or dequantised")
      .choices({"quantized", "fp32"});
  fields.add("prompt", options.bench.prompt_tokens, "pp: prompt tokens to score; 0: skip")
      .range(0, 1 << 24)
      .short_name("p");
  fields.add("generate", options.bench.generated_tokens, "tg: tokens to generate; 0: skip")
      .range(0, 1 << 24)
      .short_name("n");
  fields.add("train", options.bench.training_tokens, "train: tokens per step; 0: skip").range(0, 1 << 24);
  fields.add("repetitions", options.bench.repetitions, "repetitions of each test").range(1, 1000).short_name("r");
  fields.add("method", options.methods,
             "one or several of static, fwl, blocks, test-time, bias-only, dynamic-sgd, dynamic-rms");
  add_fields(fields, options.blocks);
  fields.add("step", options.step, "test-time, bias-only: the step size").range(0, 1e6);
  fields.add("output", options.output, "output format").choices({"md", "csv", "json"}).short_name("o");
  fields.add("vocabulary_size", options.vocabulary_size, "vocabulary size of a model with random weights")
      .range(0, 1 << 30);
  add_fields(fields, options.fresh.base);
  add_fields(fields, options.fresh.memory);
  add_fields(fields, options.engine);
}

std::shared_ptr<LanguageModel> open(Options& options, Console& console) {
  if (!options.model.empty())
    return open_model(options.model, options.adapter, weight_format_from_name(options.weights),
                      console.progress("open"))
        .model;
  if (options.vocabulary_size < 1) fail("fwl bench", "--model, or --vocabulary-size for random weights", "neither");
  options.fresh.base.vocabulary_size = options.vocabulary_size;
  FreshWeights weights(0);
  return make_model(options.fresh, weights, nullptr);
}

std::string upper_case(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char letter) { return static_cast<char>(std::toupper(letter)); });
  return text;
}

struct Row {
  std::string model, size, params, backend, threads, test, method, rate, flops;
};

Row row_of(const Options& options, const LanguageModel& model, const BenchResult& result) {
  const auto& base = model.base().weight_counts();
  auto parameters = static_cast<double>(base.total()), bytes = static_cast<double>(model.base().weight_bytes());
  if (model.memory())
    for (const auto& [name, tensor] : model.memory()->parameters()) {
      parameters += static_cast<double>(tensor.numel());
      bytes += static_cast<double>(tensor.nbytes());
    }
  return {options.model.empty() ? fmt::format("random {}", model.base().architecture())
                                : std::filesystem::path(options.model).filename().string(),
          format_amount(bytes, "bytes"),
          format_amount(parameters, ""),
          upper_case(model.device().str()),
          std::to_string(at::get_num_threads()),
          result.test,
          result.method,
          fmt::format("{:.2f} ± {:.2f}", result.mean(), result.deviation()),
          fmt::format("{:.1f}", result.flops_per_token * result.mean() / 1e9)};
}

void print(Console& console, const Options& options, const LanguageModel& model,
           const std::vector<BenchResult>& results) {
  const Row titles{"model", "size", "params", "backend", "threads", "test", "method", "t/s", "GFLOP/s"};
  if (options.output == "json") {
    nlohmann::json json = nlohmann::json::array();
    for (const auto& result : results)
      json.push_back({{"model", row_of(options, model, result).model},
                      {"threads", at::get_num_threads()},
                      {"products", products_in_use()},
                      {"context", model.base().context_tokens()},
                      {"test", result.test},
                      {"method", result.method},
                      {"tokens_per_second", result.per_second},
                      {"mean", result.mean()},
                      {"deviation", result.deviation()},
                      {"flops_per_token", result.flops_per_token}});
    console.out() << json.dump() << '\n';
    return;
  }
  const bool is_csv = options.output == "csv";
  const auto line = [&](const Row& row) {
    console.out() << fmt::format(fmt::runtime(is_csv ? "{},{},{},{},{},{},{},{},{}\n"
                                                     : "| {:<28} | {:>9} | {:>8} | {:<7} | {:>7} | {:>9} | {:<11} | "
                                                       "{:>20} | {:>7} |\n"),
                                 row.model, row.size, row.params, row.backend, row.threads, row.test, row.method,
                                 row.rate, row.flops);
  };
  line(titles);
  if (!is_csv)
    console.out() << "| ---------------------------- | --------: | -------: | ------- | ------: | --------: | "
                     "----------- | -------------------: | ------: |\n";
  for (const auto& result : results) line(row_of(options, model, result));
}

int run(Options& options, Console& console) {
  const InterruptScope interrupts;
  const auto device = apply(options.engine);
  for (const auto& name : options.methods) {
    check_method(name);
    DynamicOptions dynamic;
    dynamic.is_rms = name == "dynamic-rms";
    options.bench.methods.push_back({name, options.step, dynamic, options.blocks});
  }
  if (!options.model.empty()) options.model = find_model("--model", options.model, console);
  options.adapter = find_adapter(options.adapter, console);
  const auto model = open(options, console);
  model->to(device);
  const c10::AutoGradMode no_gradients(false);
  print(console, options, *model, run_bench(*model, options.bench, console.progress("bench")));
  return 0;
}

}  // namespace

Command bench_command() {
  return make_command<Options>("bench", "measure the speed of scoring (pp), generation (tg) and training, by method",
                               "examples:\n"
                               "  fwl bench -m smollm2.gguf -p 512 -n 64\n"
                               "  fwl bench -m runs/enwik8/best --method static fwl dynamic-sgd -p 2048 -n 0",
                               describe, run);
}

}  // namespace fwl
