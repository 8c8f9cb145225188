#include "files/atomic_file.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "files/memory_map.h"
#include "support/error.h"

namespace fwl {
namespace {

size_t files_in(const std::string& folder) {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

std::string fresh_folder(const std::string& name) {
  const auto folder = testing::TempDir() + name;
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

TEST(AtomicFile, AppearsOnlyWithCommitAndLeavesNothingElseBehind) {
  const auto folder = fresh_folder("atomic_commit"), path = folder + "/a";
  {
    AtomicFile file(path);
    file.write("head");
    file.write(std::string(3 << 20, 'x'));
    file.write_at(0, "HEAD", 4);
    EXPECT_FALSE(std::filesystem::exists(path));
    file.commit();
  }
  const MemoryMap map(path);
  EXPECT_EQ(map.size(), 4U + (3 << 20));
  EXPECT_EQ(map.text().substr(0, 6), "HEADxx");
  EXPECT_EQ(files_in(folder), 1U);
}

TEST(AtomicFile, AnAbandonedWriteKeepsTheOlderFile) {
  const auto folder = fresh_folder("atomic_abandon"), path = folder + "/a";
  write_file_atomically(path, "old");
  { AtomicFile(path).write("new"); }
  EXPECT_EQ(MemoryMap(path).text(), "old");
  EXPECT_EQ(files_in(folder), 1U);
}

TEST(AtomicFile, AFullDiskIsOneClearErrorAndKeepsTheOlderFile) {
  EXPECT_THROW(write_file_atomically("/dev/full/x", "new"), UserError);
  EXPECT_THROW(write_file_atomically("/nowhere/at/all", "new"), UserError);
}

TEST(MemoryMap, MissingFilesAndFoldersAreClearErrors) {
  EXPECT_THROW(MemoryMap("/nowhere/at/all"), UserError);
  EXPECT_THROW(MemoryMap("/tmp"), UserError);
  const auto path = fresh_folder("empty_map") + "/empty";
  write_file_atomically(path, "");
  EXPECT_EQ(MemoryMap(path).size(), 0U);
}

}  // namespace
}  // namespace fwl
