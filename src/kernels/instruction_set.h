// The instruction sets that kernels are compiled for, and the one that this process uses.
#pragma once

#include <string_view>
#include <vector>

namespace fwl {

// In ascending order: each includes those before it.
enum class InstructionSet { portable, avx2, avx512, avx512_vnni };

std::string_view name_of(InstructionSet set);

// Those of this machine, without regard to the environment.
std::vector<InstructionSet> available_instruction_sets();

// The best of this machine, or what FWL_INSTRUCTION_SET names (portable, avx2, avx512 or avx512_vnni) if that is lower.
InstructionSet instruction_set();

// Another one while the scope lives, for all threads: for tests and measurements.
class InstructionSetScope {
 public:
  explicit InstructionSetScope(InstructionSet set);
  ~InstructionSetScope();
  InstructionSetScope(const InstructionSetScope&) = delete;
  InstructionSetScope& operator=(const InstructionSetScope&) = delete;

 private:
  InstructionSet before_;
};

}  // namespace fwl
