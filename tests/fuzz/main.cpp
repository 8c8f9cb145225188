// fwl_fuzz: mutated files against every reader, with a limit on memory and time; the input that breaks one is kept.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <fstream>

#include "fuzz/fuzz_run.h"
#include "fuzz/guard.h"
#include "support/error.h"

namespace {

void keep_input(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

// Returns whether every input was accepted or rejected in order.
bool run(const fwl::FuzzTarget& target, int64_t inputs, uint64_t seed) {
  const auto result = fwl::fuzz(target, inputs, seed, [&](int64_t index, std::string_view bytes) {
    fwl::guard_input(target.name, index, bytes);
  });
  fwl::unguard();
  fmt::print(
      "{:<16} {:>10} inputs  {:>9} accepted  {:>9} rejected  {:>8.0f} inputs/s  slowest {:.1f} ms  peak {:.1f} MB\n",
      target.name, result.inputs, result.accepted, result.rejected, static_cast<double>(result.inputs) / result.seconds,
      result.slowest_seconds * 1e3, static_cast<double>(fwl::peak_input_bytes()) / 1e6);
  std::fflush(stdout);
  if (result.failure.empty()) return true;
  const auto path = fwl::failing_input_path(target.name);
  keep_input(path, result.failing_input);
  fmt::print(stderr, "{}: input {} ended with '{}', which is no UserError; kept as {}\n", target.name,
             result.inputs - 1, result.failure, path);
  return false;
}

void run_file(const fwl::FuzzTarget& target, const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  fwl::guard_input(target.name, 0, bytes);
  try {
    target.run(bytes);
    fmt::print("{}: accepted\n", target.name);
  } catch (const fwl::UserError& error) {
    fmt::print("{}: rejected: {}\n", target.name, error.what());
  }
}

}  // namespace

int main(int argument_count, char** arguments) {
  CLI::App app("mutated files against every reader of files");
  int64_t inputs = 1000000;
  uint64_t seed = 1;
  std::string only, file;
  app.add_option("--inputs", inputs, "in total, shared by the targets")->capture_default_str();
  app.add_option("--target", only, "only this one");
  app.add_option("--seed", seed, "another seed gives other inputs")->capture_default_str();
  app.add_option("--file", file, "run the target on this file instead, to repeat a failure")->needs("--target");
  CLI11_PARSE(app, argument_count, arguments);

  auto targets = fwl::all_fuzz_targets();
  if (!only.empty()) std::erase_if(targets, [&](const fwl::FuzzTarget& target) { return target.name != only; });
  if (targets.empty()) {
    fmt::print(stderr, "fwl_fuzz: no target '{}'\n", only);
    return 2;
  }
  fwl::start_guard();
  if (!file.empty()) {
    run_file(targets.front(), file);
    return 0;
  }
  bool is_good = true;
  const auto share = (inputs + static_cast<int64_t>(targets.size()) - 1) / static_cast<int64_t>(targets.size());
  for (const auto& target : targets) is_good &= run(target, share, seed);
  return is_good ? 0 : 1;
}
