#include "files/fetch.h"

#include <cstdlib>

#include "files/checksum.h"
#include "files/sample_archive.h"
#include "files/temporary_folder.h"
#include "support/message_of.h"
#include "support/scratch.h"
#include "support/sha256.h"

namespace fwl {
namespace {

std::string program(const std::string& path, const std::string& script) {
  write_text(path, "#!/bin/sh\n" + script);
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return path;
}

// Stands for curl: it copies `file` to --output.
std::string fake_curl(const std::string& folder, const std::string& file) {
  return program(folder + "/curl", "while [ \"$1\" != --output ]; do shift; done\ncp '" + file + "' \"$2\"\n");
}

// Stands for a Python with pip, which names a link.
std::string fake_python(const std::string& folder) {
  return program(folder + "/python", "echo a warning >&2\necho link file:///somewhere/sample-1.0.whl\n");
}

std::string published(const std::string& content) {
  return "sha256:" + to_hex(sha256(content));
}

KnownData packaged(const std::string& content, const std::string& archive) {
  return {.name = "sample",
          .package = "sample==1.0",
          .archive_name = "sample-1.0.whl",
          .archive_checksum = published(read_text(archive)),
          .files = {{"file", "sample/file", static_cast<int64_t>(content.size()), published(content)}}};
}

struct Fixture {
  std::string folder = fresh_folder("fetch");
  std::string data = folder + "/data";
  FetchOptions with(const std::string& archive) const {
    return {.folder = data, .python = fake_python(folder), .curl = fake_curl(folder, archive), .progress = {}};
  }
  size_t files_left() const {
    size_t count = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(data)) count += !entry.is_directory();
    return count;
  }
};

TEST(Fetch, BringsAMemberOfAPackageOnceAndThenFindsItThere) {
  const Fixture fixture;
  const auto archive = write_archive(fixture.folder + "/a.whl", {{"sample/file", "content"}});
  const auto first = fetch(packaged("content", archive), fixture.with(archive));
  EXPECT_FALSE(first.was_there);
  EXPECT_EQ(first.path, fixture.data + "/sample/file");
  EXPECT_EQ(read_text(first.path), "content");
  EXPECT_EQ(fixture.files_left(), 1U);
  const auto second =
      fetch(packaged("content", archive), {.folder = fixture.data, .python = "/nowhere", .progress = {}});
  EXPECT_TRUE(second.was_there);
  EXPECT_EQ(second.path, first.path);
}

TEST(Fetch, UnpacksAGzipFileInsideASourcePackage) {
  const Fixture fixture;
  const auto packed = read_text(write_archive(fixture.folder + "/file.gz", {{"file", std::string(1000, 'x')}}));
  const auto archive = write_archive(fixture.folder + "/a.tar.gz", {{"s/file.gz", packed}});
  auto data = packaged(std::string(1000, 'x'), archive);
  data.files[0].member = "s/file.gz";
  EXPECT_EQ(read_text(fetch(data, fixture.with(archive)).path), std::string(1000, 'x'));
  EXPECT_EQ(fixture.files_left(), 1U);
}

TEST(Fetch, AWrongMemberIsAnErrorThatLeavesNothing) {
  const Fixture fixture;
  const auto error_with = [&](const std::string& name, const std::string& content) {
    const auto archive = write_archive(fixture.folder + "/a.whl", {{name, content}});
    const auto message = message_of([&] { fetch(packaged("content", archive), fixture.with(archive)); });
    EXPECT_EQ(fixture.files_left(), 0U);
    return message;
  };
  EXPECT_NE(error_with("sample/file", "CONTENT").find("file: expected sha256:"), std::string::npos);
  EXPECT_NE(error_with("sample/file", "short").find("expected 7 bytes, got 5"), std::string::npos);
  EXPECT_NE(error_with("sample/file", "much too long").find("at most 7 bytes"), std::string::npos);
  EXPECT_NE(error_with("other/file", "content").find("a member 'sample/file', got none"), std::string::npos);
  EXPECT_NE(error_with("../sample/file", "content").find("got none"), std::string::npos);
}

TEST(Fetch, AnotherArchiveThanThePinnedOneIsNotOpened) {
  const Fixture fixture;
  const auto archive = write_archive(fixture.folder + "/a.whl", {{"sample/file", "content"}});
  auto data = packaged("content", archive);
  data.archive_checksum = published("another archive");
  EXPECT_NE(message_of([&] { fetch(data, fixture.with(archive)); }).find("not the known one"), std::string::npos);
  EXPECT_EQ(fixture.files_left(), 0U);
}

// With the real pip and curl: a package in a local index, whose build code would leave a trace.
TEST(Fetch, TheBuildCodeOfASourcePackageIsNeverRun) {
  const Fixture fixture;
  const auto trace = fixture.folder + "/trace", index = fixture.folder + "/simple";
  const auto archive = write_archive(fixture.folder + "/sample-1.0.tar.gz",
                                     {{"sample-1.0/setup.py", "open('" + trace + "', 'w')\n"},
                                      {"sample-1.0/PKG-INFO", "Metadata-Version: 2.1\nName: sample\nVersion: 1.0\n"},
                                      {"sample/file", "content"}});
  write_text(index + "/sample/index.html",
             "<html><body><a href=\"file://" + archive + "\">sample-1.0.tar.gz</a></body></html>");
  auto data = packaged("content", archive);
  data.archive_name = "sample-1.0.tar.gz";
  setenv("PIP_INDEX_URL", ("file://" + index).c_str(), 1);
  setenv("PIP_CONFIG_FILE", "/dev/null", 1);
  const auto message = message_of(
      [&] { fetch(data, {.folder = fixture.data, .python = FWL_SOURCE_DIR "/.venv/bin/python", .progress = {}}); });
  unsetenv("PIP_INDEX_URL");
  unsetenv("PIP_CONFIG_FILE");
  EXPECT_EQ(message, "no error");
  EXPECT_EQ(read_text(fixture.data + "/sample/file"), "content");
  EXPECT_FALSE(std::filesystem::exists(trace));
}

TEST(Fetch, FoldersOfKilledDownloadsAreRemovedAndThoseInUseStay) {
  const Fixture fixture;
  write_text(fixture.data + "/sample/.download-abcdef/archive", "half");
  const TemporaryFolder busy(fixture.data + "/sample", ".download-");
  EXPECT_FALSE(std::filesystem::exists(fixture.data + "/sample/.download-abcdef"));
  const auto archive = write_archive(fixture.folder + "/a.whl", {{"sample/file", "content"}});
  fetch(packaged("content", archive), fixture.with(archive));
  EXPECT_TRUE(std::filesystem::exists(busy.path()));
}

TEST(Fetch, AnotherFileInItsPlaceIsAnErrorAndStays) {
  const Fixture fixture;
  write_text(fixture.data + "/sample/file", "CONTENT");
  const auto message =
      message_of([&] { fetch(packaged("content", "/dev/null"), {.folder = fixture.data, .progress = {}}); });
  EXPECT_NE(message.find("move it away and repeat"), std::string::npos);
  EXPECT_EQ(read_text(fixture.data + "/sample/file"), "CONTENT");
}

TEST(Fetch, WithoutAWorkingDownloaderTheErrorSaysWhatIsNeeded) {
  const Fixture fixture;
  const auto absent = message_of([&] {
    fetch(packaged("content", "/dev/null"), {.folder = fixture.data, .python = "/nowhere/python", .progress = {}});
  });
  EXPECT_EQ(absent,
            "sample: cannot download sample==1.0: cannot start /nowhere/python: No such file or directory; this "
            "needs a network and a Python with pip");
  const auto failing =
      message_of([&] { fetch(packaged("content", "/dev/null"), fixture.with(fixture.folder + "/no archive")); });
  EXPECT_NE(failing.find("No such file"), std::string::npos) << failing;
  EXPECT_EQ(fixture.files_left(), 0U);
}

TEST(Fetch, BringsSeveralFilesOfAPublicArchiveAndKeepsPlacedOnes) {
  const Fixture fixture;
  const auto archive = write_archive(fixture.folder + "/a.zip", {{"w/train", "1"}, {"w/test", "2"}});
  KnownData data{.name = "words",
                 .url = "https://example.org/words.zip",
                 .archive_checksum = published(read_text(archive)),
                 .files = {{"train", "w/train", 0, "sha1:356a192b7913b04c54574d18c28d46e6395428ab"},
                           {"test", "w/test", 1, published("2")}}};
  write_text(fixture.data + "/words/test", "2");
  const auto options = fixture.with(archive);
  EXPECT_EQ(fetch(data, options).path, fixture.data + "/words");
  EXPECT_EQ(read_text(fixture.data + "/words/train"), "1");
  EXPECT_TRUE(fetch(data, options).was_there);
  std::filesystem::remove(fixture.data + "/words/train");
  data.archive_checksum = published("another archive");
  EXPECT_NE(message_of([&] { fetch(data, options); }).find("not the known one"), std::string::npos);
  EXPECT_EQ(fixture.files_left(), 1U);
}

TEST(Fetch, TheDataFolderFollowsTheEnvironment) {
  const auto set = [](const char* name, const char* value) { setenv(name, value, 1); };
  const std::string home = std::getenv("HOME") ? std::getenv("HOME") : "";
  unsetenv("FWL_DATA");
  unsetenv("XDG_CACHE_HOME");
  set("HOME", "/h");
  EXPECT_EQ(default_data_folder(), "/h/.cache/fwl");
  set("XDG_CACHE_HOME", "/x");
  EXPECT_EQ(default_data_folder(), "/x/fwl");
  set("FWL_DATA", "/d");
  EXPECT_EQ(default_data_folder(), "/d");
  unsetenv("FWL_DATA");
  unsetenv("XDG_CACHE_HOME");
  set("HOME", home.c_str());
}

}  // namespace
}  // namespace fwl
