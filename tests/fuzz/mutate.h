// Damages valid files the way broken downloads and attackers do, repeatably.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fwl {

// One of the seeds after one to eight random changes: flipped bits, overwritten numbers, chunks removed, inserted,
// repeated, moved or taken from another seed. The same arguments give the same bytes on every machine.
std::string mutate(const std::vector<std::string>& seeds, uint64_t random_seed);

}  // namespace fwl
