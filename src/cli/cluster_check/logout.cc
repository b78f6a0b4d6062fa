#include "src/cli/cluster_check/logout.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string_view>

namespace granary::cluster_check {
namespace {

constexpr std::uint32_t kGreatestSystemUser = 999;
constexpr const char* kMainFile = "/systemd/logind.conf";

/// The folders of configuration files. A file in a later folder replaces those of the same name in earlier ones.
constexpr std::array kFolders{"/usr/lib", "/usr/local/lib", "/run", "/etc"};

std::string without_blanks(std::string text) {
  std::erase_if(text, [](char letter) { return letter == ' ' || letter == '\t' || letter == '\r'; });
  return text;
}

/// Returns the truth value that the text has in systemd's words; none if it has none.
std::optional<bool> truth_of(std::string text) {
  constexpr std::array<std::string_view, 6> kYes{"1", "yes", "y", "true", "t", "on"};
  constexpr std::array<std::string_view, 6> kNo{"0", "no", "n", "false", "f", "off"};
  for (char& letter : text) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  if (std::find(kYes.begin(), kYes.end(), text) != kYes.end()) return true;
  if (std::find(kNo.begin(), kNo.end(), text) != kNo.end()) return false;
  return std::nullopt;
}

/// Reads the setting from a file. The last line that sets it to something systemd can read counts.
void read_setting(const std::filesystem::path& path, std::optional<bool>& removes) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::string text = without_blanks(line);
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || text.substr(0, equals) != "RemoveIPC") continue;
    if (const std::optional<bool> told = truth_of(text.substr(equals + 1)); told.has_value()) removes = told;
  }
}

}  // namespace

bool logout_removes_rings(const std::string& root, std::uint32_t user) {
  std::error_code none;
  if (user <= kGreatestSystemUser || !std::filesystem::is_directory(root + "/run/systemd/system", none)) return false;
  std::string main_file;
  std::map<std::string, std::filesystem::path> others;  // by name, because files are read in the order of their names
  for (const char* const folder : kFolders) {
    const std::string path = root + folder + kMainFile;
    if (std::filesystem::exists(path, none)) main_file = path;
    for (const auto& entry : std::filesystem::directory_iterator(path + ".d", none)) {
      if (entry.path().extension() == ".conf") others[entry.path().filename()] = entry.path();
    }
  }
  std::optional<bool> removes;
  read_setting(main_file, removes);
  for (const auto& [name, path] : others) read_setting(path, removes);
  return removes.value_or(true);
}

Finding check_logout(bool removes_rings) {
  Finding finding{.subject = "logout", .found = "leaves what this user has in /dev/shm"};
  if (removes_rings) {
    finding.verdict = Verdict::kWarning;
    finding.found =
        "systemd-logind removes what this user has in /dev/shm, log rings of running nodes, too, when the user's last "
        "session ends";
    finding.mend =
        "'RemoveIPC=no' in [Login] of /etc/systemd/logind.conf, then systemctl restart systemd-logind; or run nodes as "
        "a system user";
  }
  return finding;
}

}  // namespace granary::cluster_check
