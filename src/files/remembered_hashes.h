// SHA-256 of large files that were read before, remembered by path, size and time stamps.
#pragma once

#include <string>

#include "support/progress.h"

namespace fwl {

// "sha256:…" of a file: remembered, or computed and remembered. What is remembered is a hint in the user's own cache
// folder. It is used only if nobody else could have written it and the file has not changed since: the same device,
// file number, size, and times of modification and of status change, which no program can set.
std::string remembered_hash_of_file(const std::string& path, const ProgressReport& progress = {});

// Whether the hash is remembered. Hashes are asked for by those who have checked what the file says, or who know the
// hash that it should have; so a file that is remembered need not be checked again.
bool is_remembered(const std::string& path);

}  // namespace fwl
