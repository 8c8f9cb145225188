#include "cli/failure.h"

#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <ios>
#include <new>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "support/error.h"
#include "support/interrupt.h"
#include "support/printable.h"

namespace fwl {
namespace {

constexpr size_t longest_line = 400;
constexpr auto out_of_memory = "out of memory: smaller sizes, a shorter context or fewer threads need less";

bool wants_trace() {
  const char* value = std::getenv("FWL_TRACE");
  return value && std::string_view(value) == "1";
}

std::string first_line(std::string_view text) {
  return printable(text.substr(0, text.find('\n')), longest_line);
}

// The engine says so in words only.
bool is_out_of_memory(std::string_view what) {
  for (const auto* words : {"DefaultCPUAllocator", "Storage size calculation overflowed",
                            "numel: integer multiplication", "Allocation failed", "Invalid storage size"})
    if (what.find(words) != std::string_view::npos) return true;
  return false;
}

std::string file_system_line(const std::filesystem::filesystem_error& error) {
  return fmt::format("{}: {}", printable(error.path1().string(), longest_line), error.code().message());
}

int unexpected(Console& console, std::string_view what, std::string_view all) {
  console.error(fmt::format("internal error: {}; this is a bug in fwl, please report it (FWL_TRACE=1 shows more)",
                            first_line(what)));
  if (wants_trace()) console.note(std::string(all));
  return 1;
}

int failed(Console& console, const std::string& line) {
  console.error(line);
  return 1;
}

}  // namespace

int report_failure(Console& console) {
  const int code = errno;
  console.out().exceptions(std::ios_base::goodbit);  // printing to the error stream flushes it
  try {
    throw;
  } catch (const UsageError& error) {
    console.error(error.what());
    return 2;
  } catch (const UserError& error) {
    return failed(console, error.what());
  } catch (const Interrupted& interrupt) {
    console.error("interrupted");
    return 128 + interrupt.signal();
  } catch (const std::filesystem::filesystem_error& error) {
    return failed(console, file_system_line(error));
  } catch (const std::ios_base::failure&) {  // only standard output throws
    return failed(console, fmt::format("standard output: cannot write: {}", std::strerror(code)));
  } catch (const nlohmann::json::exception& error) {
    return failed(console, fmt::format("a JSON file: expected other values, {}", first_line(error.what())));
  } catch (const std::bad_alloc&) {
    return failed(console, out_of_memory);
  } catch (const std::length_error&) {
    return failed(console, out_of_memory);
  } catch (const c10::Error& error) {
    if (is_out_of_memory(error.what_without_backtrace())) return failed(console, out_of_memory);
    return unexpected(console, error.what_without_backtrace(), error.what());
  } catch (const std::exception& error) {
    if (is_out_of_memory(error.what())) return failed(console, out_of_memory);
    return unexpected(console, error.what(), error.what());
  }
}

}  // namespace fwl
