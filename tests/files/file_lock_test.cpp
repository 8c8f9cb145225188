#include "files/file_lock.h"

#include <fcntl.h>
#include <unistd.h>

#include "files/block_checksums.h"
#include "files/temporary_file.h"
#include "support/message_of.h"
#include "support/scratch.h"

namespace fwl {
namespace {

TEST(FileLock, TheSecondHolderReadsWhoIsTheFirst) {
  const auto folder = fresh_folder("locks"), path = folder + "/a.session";
  {
    const FileLock lock(path);
    const auto message = message_of([&] { const FileLock second(path); });
    EXPECT_NE(message.find("in use by process " + std::to_string(getpid()) + " on "), std::string::npos) << message;
    EXPECT_NE(message.find("fwl_tests"), std::string::npos) << message;
    EXPECT_EQ(message_of([&] { const FileLock other(folder + "/b.session"); }), "no error");
  }
  EXPECT_EQ(message_of([&] { const FileLock again(path); }), "no error");
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

TEST(FileLock, ReadersShareAndTheLastOneRemovesTheFile) {
  const auto folder = fresh_folder("locks"), path = folder + "/cache";
  auto first = FileLock::try_take(path, LockKind::exclusive);
  ASSERT_TRUE(first);
  EXPECT_FALSE(FileLock::try_take(path, LockKind::shared));
  first->share();
  auto second = FileLock::try_take(path, LockKind::shared);
  EXPECT_TRUE(second);
  EXPECT_FALSE(FileLock::try_take(path, LockKind::exclusive));
  first.reset();
  EXPECT_FALSE(FileLock::try_take(path, LockKind::exclusive));
  second.reset();
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

TEST(FileLock, AFileThatAKilledProcessLeftDoesNotMatter) {
  const auto folder = fresh_folder("locks");
  write_text(folder + "/.lock", "process 1 on nowhere: fwl train");
  EXPECT_EQ(message_of([&] { const FileLock lock(folder); }), "no error");
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

TEST(TemporaryFile, OnlyUnlockedRemainsAreStale) {
  const auto folder = fresh_folder("stale"), busy = write_text(folder + "/a.partial.x", "busy");
  write_text(folder + "/a.partial.y", "stale");
  const int file = open(busy.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_TRUE(try_lock(file, LockKind::exclusive));
  remove_stale_files(folder, "a.partial.");
  EXPECT_TRUE(std::filesystem::exists(busy));
  EXPECT_FALSE(std::filesystem::exists(folder + "/a.partial.y"));
  close(file);
  remove_stale_files(folder, "a.partial.");
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

TEST(TemporaryFile, HasNoNameUntilItIsRenamed) {
  const auto folder = fresh_folder("unnamed");
  TemporaryFile file("a file", folder);
  file.write_at(0, "text", 4);
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  file.rename_to(folder + "/a");
  EXPECT_EQ(read_text(folder + "/a"), "text");
}

TEST(TemporaryFile, WithANameIsPrivateLockedAndRemoved) {
  const auto folder = fresh_folder("named");
  const auto files = [&] { return std::distance(std::filesystem::directory_iterator(folder), {}); };
  {
    TemporaryFile file("a file", folder, "a.partial.", 0600, Naming::always);
    file.write_at(0, "text", 4);
    ASSERT_EQ(files(), 1);
    const auto path = std::filesystem::directory_iterator(folder)->path();
    EXPECT_TRUE(path.filename().string().starts_with("a.partial."));
    EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms(0600));
    remove_stale_files(folder, "a.partial.");
    EXPECT_EQ(files(), 1);  // it is locked
    TemporaryFile other("a file", folder, "a.partial.", 0600, Naming::always);
    EXPECT_EQ(files(), 2);
    file.rename_to(folder + "/a");
    EXPECT_EQ(read_text(folder + "/a"), "text");
  }
  EXPECT_EQ(files(), 1);  // the other one is gone
}

TEST(BlockChecksums, OnlyBlocksThatAreReadAreChecked) {
  std::string text(1000, 'x');
  BlockHasher hasher(256);
  for (size_t start = 0; start < text.size(); start += 99)
    hasher.update(text.data() + start, std::min<size_t>(99, text.size() - start));
  const auto digests = hasher.finish();
  EXPECT_EQ(digests.size(), 4U);
  text[600] = 'y';
  const BlockChecksums blocks("a file", std::as_bytes(std::span(text)), 256, digests);
  EXPECT_EQ(message_of([&] { blocks.expect_whole(0, 512); }), "no error");
  EXPECT_EQ(message_of([&] { blocks.expect_whole(768, 232); }), "no error");
  EXPECT_NE(message_of([&] { blocks.expect_whole(500, 13); }).find("others from byte 512 on"), std::string::npos);
  EXPECT_NE(
      message_of([&] { BlockChecksums("a file", std::as_bytes(std::span(text)), 100, digests); }).find("10 blocks"),
      std::string::npos);
}

}  // namespace
}  // namespace fwl
