#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <cmath>

#include "files/safetensors.h"
#include "train/training_samples.h"
#include "weights/tensor_files.h"

namespace fwl {
namespace {

std::string corpus(const std::string& name) {
  const auto folder = fresh_folder(name);
  tokenized(folder, "train", cycles_text(40, 49, 1));
  tokenized(folder, "valid", cycles_text(8, 49, 2));
  return folder;
}

CommandResult train(const std::vector<std::string>& flags) {
  auto result = run_fwl(flags);
  at::set_num_threads(1);
  return result;
}

const std::vector<std::string> lanes_of_xl = {"--model.architecture",   "transformer-xl",
                                              "--model.memory-tokens",  "12",
                                              "--data.order",           "lanes",
                                              "--layer.decay",          "0.5",
                                              "--layer.segment-tokens", "16",
                                              "--data.segment-tokens",  "16",
                                              "--model.dropout",        "0.1"};

// Stopped after some step and resumed: everything that is left behind equals the run that never stopped.
void expect_resume_equals_whole(const std::string& folder, const std::vector<std::string>& more) {
  const std::vector<std::string> valid = {"--data.valid", folder + "/valid.tokens", "--run.valid-every", "3"};
  const auto whole = train(tiny_run(folder, "whole") + more + valid);
  ASSERT_EQ(whole.exit_code, 0) << whole.errors;
  // A run of fewer steps has another schedule, so the same run is cut: its checkpoint of step 8 goes on alone.
  std::filesystem::create_directories(folder + "/cut/checkpoints");
  ASSERT_EQ(
      train(tiny_run(folder, "cut-source") + more + valid + std::vector<std::string>{"--run.keep-checkpoints", "9"})
          .exit_code,
      0);
  std::filesystem::copy(folder + "/cut-source/checkpoints/step-0000000008.safetensors", folder + "/cut/checkpoints");
  std::filesystem::copy(folder + "/cut-source/record.jsonl", folder + "/cut");
  const auto resumed = train(tiny_run(folder, "cut") + more + valid + std::vector<std::string>{"--resume"});
  ASSERT_EQ(resumed.exit_code, 0) << resumed.errors;
  for (const auto* name : {"/model/model.safetensors", "/checkpoints/step-0000000012.safetensors"})
    EXPECT_EQ(read_text(folder + "/cut" + name), read_text(folder + "/whole" + name)) << name;
  const auto losses = [&](const std::string& run) {
    std::vector<double> values;
    for (const auto* event : {"step", "valid"})
      for (const auto& line : events_of(folder + run, event)) values.push_back(line.at("loss"));
    return values;
  };
  EXPECT_EQ(losses("/cut"), losses("/whole"));
  EXPECT_EQ(losses("/cut").size(), 12 + 5U);  // the first validation comes before the first step
}

TEST(Train, ResumeEqualsNeverHavingStoppedInShuffledWindows) {
  expect_resume_equals_whole(corpus("resume_shuffled"), {"--model.dropout", "0.1"});
}

TEST(Train, ResumeEqualsNeverHavingStoppedInLanesWithMemoryAndFastWeights) {
  expect_resume_equals_whole(corpus("resume_lanes"), lanes_of_xl);
}

TEST(Train, ResumeEqualsNeverHavingStoppedForBiasOnlyWithAccumulation) {
  expect_resume_equals_whole(corpus("resume_bias"),
                             {"--memory.kind", "bias-only", "--data.order", "lanes", "--optimizer.accumulation", "2"});
}

TEST(Train, DecaysLearnFromWhatTheNextSegmentDoesWithThem) {
  const auto folder = corpus("decays");
  const auto result = train(tiny_run(folder, "run") + lanes_of_xl);
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  const auto first = events_of(folder + "/run", "step").front(), last = events_of(folder + "/run", "step").back();
  EXPECT_NE(first.at("step_sizes").at("decay W"), last.at("step_sizes").at("decay W"));
}

TEST(Train, FastWeightsLearnARepeatedTextFarFasterThanSlowOnes) {
  const auto folder = fresh_folder("repeated");
  tokenized(folder, "train", cycles_text(60, 145, 1));
  const auto loss_after = [&](const std::string& name, const std::vector<std::string>& more) {
    const auto result =
        train(tiny_run(folder, name) +
              std::vector<std::string>{"--run.steps", "150", "--optimizer.lr", "1e-2", "--optimizer.step-lr-factor",
                                       "20", "--data.rows", "4", "--data.segment-tokens", "144", "--model.block-tokens",
                                       "2", "--layer.chunk-tokens", "24", "--data.packed=false"} +
              more);
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    return events_of(folder + "/" + name, "step").back().at("loss").get<double>();
  };
  const double off = loss_after("static", {"--objective.name", "static"});
  const double slow_point = loss_after("fwl", {"--objective.name", "fwl"});
  const double boundary = loss_after("boundary", {"--objective.name", "fwl", "--layer.gradient-at", "boundary"});
  EXPECT_LT(slow_point, off - 0.5) << "static " << off;
  EXPECT_LT(boundary, off - 0.5) << "static " << off;
  for (const auto* run : {"/fwl", "/boundary"}) {  // step sizes move, and stay positive
    const auto steps = events_of(folder + run, "step");
    for (const auto& [name, value] : steps.back().at("step_sizes").items()) {
      EXPECT_GT(value.get<double>(), 0) << name;
      EXPECT_NE(value, steps.front().at("step_sizes").at(name)) << name;
    }
  }
}

TEST(Train, EveryObjectiveTrainsWithEitherHead) {
  const auto folder = corpus("objectives");
  const std::vector<std::string> xl = {"--model.architecture",  "transformer-xl",
                                       "--model.memory-tokens", "16",
                                       "--model.cutoffs",       "100",
                                       "--model.divisor",       "2"};
  for (const auto* objective : {"static", "fwl", "fwl-first-order"})
    for (const auto& architecture : {std::vector<std::string>{}, xl}) {
      const auto name = std::string(objective) + (architecture.empty() ? "-sparse" : "-xl");
      const auto result = train(tiny_run(folder, name) +
                                std::vector<std::string>{"--objective.name", objective, "--objective.slow-share", "0.2",
                                                         "--optimizer.lr", "1e-2"} +
                                architecture);
      ASSERT_EQ(result.exit_code, 0) << name << result.errors;
      const auto steps = events_of(folder + "/" + name, "step");
      EXPECT_LT(steps.back().at("loss"), steps.front().at("loss")) << name;
    }
}

// The settings of a saved model, without "model.".
std::vector<std::string> saved_settings(const std::string& run) {
  const auto config = nlohmann::json::parse(read_text(run + "/model/config.json"));
  std::vector<std::string> names;
  for (const auto& [name, value] : config.at("model").items()) names.push_back(name);
  return names;
}

TEST(Train, EveryArchitectureIsTrainedSavedWithItsOwnSettingsAndOpenedAgain) {
  const auto folder = corpus("architectures");
  for (const auto& [architecture, own] :
       std::map<std::string, std::vector<std::string>>{{"sparse-local", {"block_tokens", "4"}},
                                                       {"transformer-xl", {"memory_tokens", "16"}},
                                                       {"llama", {"kv_heads", "1"}},
                                                       {"gpt2", {"context_tokens", "64"}}}) {
    const auto run = folder + "/" + architecture;
    auto flag = "--model." + own[0];
    std::ranges::replace(flag, '_', '-');
    const auto result =
        train(tiny_run(folder, architecture) +
              std::vector<std::string>{"--model.architecture", architecture, flag, own[1], "--optimizer.lr", "1e-2"});
    ASSERT_EQ(result.exit_code, 0) << architecture << result.errors;
    EXPECT_LT(events_of(run, "step").back().at("loss"), events_of(run, "step").front().at("loss")) << architecture;
    const auto saved = saved_settings(run);
    EXPECT_TRUE(std::ranges::count(saved, own[0]) == 1) << architecture;
    EXPECT_EQ(std::ranges::count(saved, "block_tokens") == 1, architecture == "sparse-local") << architecture;
    const auto scored = run_fwl({"perplexity", "--model", run + "/model", "--tokens", folder + "/valid.tokens",
                                 "--context", "48", "--protocol", "windows", "--threads", "1"});
    EXPECT_EQ(scored.exit_code, 0) << architecture << scored.errors;
  }
}

TEST(Train, ASettingOfAnotherArchitectureIsAnErrorThatNamesIt) {
  const auto folder = corpus("other_setting");
  const auto result = train(tiny_run(folder, "run") + std::vector<std::string>{"--model.memory-tokens", "4"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(last_line(result.errors),
            "fwl: fwl train: expected a key that model.architecture sparse-local has, got 'model.memory_tokens'; only "
            "transformer-xl has it");
}

TEST(Train, EveryKindOfMemoryAndRuleTrains) {
  const auto folder = corpus("kinds");
  const std::vector<std::vector<std::string>> kinds = {{"--memory.kind", "bias-only"},
                                                       {"--memory.kind", "delta-rule", "--delta.heads", "2"},
                                                       {"--layer.rule", "momentum", "--layer.gradient-at", "boundary"},
                                                       {"--layer.rule", "normalised"},
                                                       {"--memory.kind", "none", "--objective.name", "static"}};
  for (const auto& kind : kinds) {
    const auto name = kind[1] + "-run";
    const auto result = train(tiny_run(folder, name) + std::vector<std::string>{"--optimizer.lr", "1e-2"} + kind);
    ASSERT_EQ(result.exit_code, 0) << name << result.errors;
    const auto steps = events_of(folder + "/" + name, "step");
    EXPECT_LT(steps.back().at("loss"), steps.front().at("loss")) << name;
  }
}

TEST(Train, AccumulatedBatchesEqualOneLargeBatch) {
  const auto folder = corpus("accumulation");
  const std::vector<std::string> plain = {"--run.steps", "3", "--data.packed=false"};
  ASSERT_EQ(train(tiny_run(folder, "large") + plain + std::vector<std::string>{"--data.rows", "4"}).exit_code, 0);
  ASSERT_EQ(train(tiny_run(folder, "small") + plain +
                  std::vector<std::string>{"--data.rows", "1", "--optimizer.accumulation", "4"})
                .exit_code,
            0);
  const auto large = events_of(folder + "/large", "step"), small = events_of(folder + "/small", "step");
  for (size_t index = 0; index < 3; ++index) {
    EXPECT_NEAR(large[index].at("loss"), small[index].at("loss"), 1e-4);
    EXPECT_NEAR(large[index].at("norm"), small[index].at("norm"), 1e-3);
  }
}

TEST(Train, ALossThatIsNotFiniteIsSkippedAndRepeatedOnesEndTheRun) {
  const auto folder = corpus("not_finite");
  const auto result = train(tiny_run(folder, "run") +
                            std::vector<std::string>{"--optimizer.lr", "10", "--layer.grad-scale", "1e6",
                                                     "--optimizer.step-lr-factor", "100", "--run.max-skipped", "3",
                                                     "--run.checkpoint-every", "1", "--run.steps", "200"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.errors.find("skipped: "), std::string::npos) << result.errors;
  EXPECT_NE(last_line(result.errors).find("3 bad steps in a row"), std::string::npos) << result.errors;
}

TEST(Train, TheRecordNamesConfigSeedDataAndVersions) {
  const auto folder = corpus("record");
  ASSERT_EQ(train(tiny_run(folder, "run") + std::vector<std::string>{"--run.seed", "7"}).exit_code, 0);
  const auto start = record_of(folder + "/run").front();
  EXPECT_EQ(start.at("config").at("run").at("seed"), 7);
  EXPECT_EQ(start.at("data").at("train").at("hash").get<std::string>().size(), 64U);
  EXPECT_EQ(start.at("data").at("train").at("tokens"), 40 * 49);
  EXPECT_TRUE(start.at("environment").contains("torch"));
  EXPECT_GT(start.at("flops_per_token"), 0);
}

TEST(Plan, CountsParametersAndOperationsAndMeasuresAStep) {
  const auto folder = corpus("plan");
  auto flags = tiny_run(folder, "run");
  flags.erase(flags.begin(), flags.begin() + 3);  // "train", "--out", …
  const auto result = run_fwl(std::vector<std::string>{"plan", "--json"} + flags);
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  const auto plan = nlohmann::json::parse(result.out);
  int64_t parameters = 0;
  for (const auto& part : plan.at("parts")) parameters += part.at("parameters").get<int64_t>();
  ASSERT_EQ(train(tiny_run(folder, "run")).exit_code, 0);
  EXPECT_EQ(parameters, record_of(folder + "/run").front().at("parameters"));
  EXPECT_GT(plan.at("seconds_per_step"), 0);
  EXPECT_EQ(plan.at("tokens_per_step"), 2 * 48);
  const auto unknown = run_fwl({"plan", "--data.train", folder + "/none.tokens"});
  EXPECT_EQ(unknown.exit_code, 1);
  EXPECT_NE(unknown.errors.find("--vocabulary-size"), std::string::npos);
}

TEST(Train, BadInputIsOneClearLine) {
  const auto folder = corpus("bad_input");
  const auto error_of = [&](const std::vector<std::string>& more, int exit_code = 1) {
    const auto result = train(tiny_run(folder, "bad") + more);
    EXPECT_EQ(result.exit_code, exit_code);
    return last_line(result.errors);
  };
  EXPECT_NE(error_of({"--model.heads", "3"}).find("hidden size 16, 3 heads"), std::string::npos);
  EXPECT_NE(error_of({"--data.train", folder + "/none.tokens"}).find("none.tokens"), std::string::npos);
  EXPECT_NE(error_of({"--data.train", folder + "/train.txt"}).find("train.txt"), std::string::npos);
  EXPECT_NE(error_of({"--optimizer.lr", "-1"}).find("optimizer.lr"), std::string::npos);
  EXPECT_NE(error_of({"--set", "optimizer.rl=1"}).find("optimizer.lr"), std::string::npos);
  EXPECT_NE(error_of({"--memory.kind", "none"}).find("without a memory"), std::string::npos);
  EXPECT_NE(error_of({"--layer.decay", "0.9"}).find("segment_tokens"), std::string::npos);
  EXPECT_NE(error_of({"--device", "tpu"}).find("cpu, cuda"), std::string::npos);
  const auto words = write_text(folder + "/words.vocab", "");
  EXPECT_NE(error_of({"--data.tokenizer", words}).find("words.vocab"), std::string::npos);
}

TEST(Train, ARunGoesOnOnlyWithItsOwnSettingsAndOnlyWhenAsked) {
  const auto folder = corpus("own_settings");
  ASSERT_EQ(train(tiny_run(folder, "run")).exit_code, 0);
  EXPECT_NE(last_line(train(tiny_run(folder, "run")).errors).find("--resume"), std::string::npos);
  const auto other = train(tiny_run(folder, "run") + std::vector<std::string>{"--resume", "--optimizer.lr", "0.5"});
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_NE(last_line(other.errors).find("optimizer/lr = 0.001"), std::string::npos) << other.errors;
  const auto again = train(tiny_run(folder, "run") + std::vector<std::string>{"--resume", "--run.log-every", "2"});
  EXPECT_EQ(again.exit_code, 0) << again.errors;
}

}  // namespace
}  // namespace fwl
