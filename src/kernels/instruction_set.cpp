#include "kernels/instruction_set.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string>

#include "support/cpu.h"
#include "support/error.h"

namespace fwl {
namespace {

constexpr std::string_view names[] = {"portable", "avx2", "avx512", "avx512_vnni"};
constexpr const char* variable = "FWL_INSTRUCTION_SET";

InstructionSet best_of_machine() {
  const auto& cpu = cpu_features();
  if (cpu.avx512_vnni) return InstructionSet::avx512_vnni;
  if (cpu.avx512) return InstructionSet::avx512;
  return cpu.avx2 ? InstructionSet::avx2 : InstructionSet::portable;
}

InstructionSet chosen() {
  const auto best = best_of_machine();
  const char* wanted = std::getenv(variable);
  if (!wanted || !*wanted) return best;
  const auto* found = std::ranges::find(names, std::string_view(wanted));
  if (found == std::end(names))
    fail(variable, "portable, avx2, avx512 or avx512_vnni", "'" + std::string(wanted) + "'");
  return std::min(best, static_cast<InstructionSet>(found - std::begin(names)));
}

std::atomic<InstructionSet>& current() {
  static std::atomic<InstructionSet> set = chosen();
  return set;
}

}  // namespace

std::string_view name_of(InstructionSet set) {
  return names[static_cast<size_t>(set)];
}

std::vector<InstructionSet> available_instruction_sets() {
  std::vector<InstructionSet> sets;
  for (int set = 0; set <= static_cast<int>(best_of_machine()); ++set) sets.push_back(static_cast<InstructionSet>(set));
  return sets;
}

InstructionSet instruction_set() {
  return current().load(std::memory_order_relaxed);
}

InstructionSetScope::InstructionSetScope(InstructionSet set) : before_(instruction_set()) {
  current() = std::min(set, best_of_machine());
}

InstructionSetScope::~InstructionSetScope() {
  current() = before_;
}

}  // namespace fwl
