// Files for tests: a fresh folder per name, and short ways to write and read files in it.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace fwl {

// Of this process, so that test programs can run at the same time; gone when it ends.
struct ScratchRoot {
  std::string path = testing::TempDir() + "fwl_tests." + std::to_string(getpid());
  ~ScratchRoot() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};

inline std::string fresh_folder(const std::string& name) {
  static const ScratchRoot root;
  const auto folder = root.path + "/" + name;
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

inline std::string write_text(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

inline std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace fwl
