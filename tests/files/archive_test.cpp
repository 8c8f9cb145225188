#include "files/archive.h"

#include "files/sample_archive.h"
#include "support/message_of.h"
#include "support/scratch.h"

namespace fwl {
namespace {

std::string member_of(const std::string& path, const std::string& member, int64_t largest_bytes = 1 << 20) {
  std::string text;
  read_archive_member(path, member, largest_bytes, [&](auto block) { text.append(block.data(), block.size()); });
  return text;
}

TEST(Archive, GivesOneMemberOfAZipAndOfACompressedTar) {
  const auto folder = fresh_folder("archive");
  const std::string large(500000, 'x');
  for (const auto* name : {"/a.zip", "/a.tar.gz"}) {
    const auto path = write_archive(folder + name, {{"other", "no"}, {"data/large", large}, {"data/small", "yes"}});
    EXPECT_EQ(member_of(path, "data/small"), "yes");
    EXPECT_EQ(member_of(path, "data/large"), large);
  }
}

TEST(Archive, MissingLinkedAndTooLargeMembersAreClearErrors) {
  const auto folder = fresh_folder("archive");
  const auto path = write_archive(folder + "/a.tar.gz", {{"link", "/etc/passwd", AE_IFLNK}, {"large", "12345"}});
  EXPECT_NE(message_of([&] { member_of(path, "absent"); }).find("a member 'absent', got none"), std::string::npos);
  EXPECT_NE(message_of([&] { member_of(path, "link"); }).find("plain file"), std::string::npos);
  EXPECT_NE(message_of([&] { member_of(path, "large", 4); }).find("at most 4 bytes"), std::string::npos);
  EXPECT_EQ(member_of(path, "large", 5), "12345");
}

TEST(Archive, DamagedFilesAreClearErrors) {
  const auto folder = fresh_folder("archive");
  const auto path = write_archive(folder + "/a.tar.gz", {{"a", std::string(100000, 'x')}, {"b", "y"}});
  const auto whole = read_text(path);
  write_text(path, whole.substr(0, whole.size() / 2));
  EXPECT_NE(message_of([&] { member_of(path, "b"); }).find("expected a readable archive"), std::string::npos);
  write_text(path, "no archive at all");
  EXPECT_NE(message_of([&] { member_of(path, "b"); }), "no error");
}

TEST(Archive, ACompressedFileIsReadWhole) {
  const auto path = write_archive(fresh_folder("archive") + "/a.gz", {{"a", "content"}});
  std::string text;
  read_compressed_file(path, 100, [&](auto block) { text.append(block.data(), block.size()); });
  EXPECT_EQ(text, "content");
  EXPECT_NE(message_of([&] { read_compressed_file(path, 6, [](auto) {}); }).find("at most 6"), std::string::npos);
}

}  // namespace
}  // namespace fwl
