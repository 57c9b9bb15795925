#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "core/files.h"
#include "core/json.h"
#include "study/page.h"
#include "support/text_folder.h"

namespace lookback {

/// The browser's program; empty where none is installed.
inline std::string find_browser() {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');)
    for (const char* name : {"chromium", "chromium-browser", "google-chrome"})
      if (access((folder + "/" + name).c_str(), X_OK) == 0) return folder + "/" + name;
  return "";
}

/// Held by one test program at a time, for browsers are large.
class BrowserTurn {
 public:
  BrowserTurn() : descriptor_(open(LOOKBACK_BINARY_DIR "/browser.lock", O_CREAT | O_RDWR, 0600)) {
    flock(descriptor_, LOCK_EX);
  }
  ~BrowserTurn() { close(descriptor_); }
  BrowserTurn(const BrowserTurn&) = delete;
  BrowserTurn& operator=(const BrowserTurn&) = delete;

 private:
  int descriptor_;
};

/// What a browser made of a page: what page_checks.js found at each width, and what it complained of.
struct Seen {
  Json widths;
  std::vector<std::string> complaints;
};

inline std::string percent_decoded(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      out += static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

/// Opens the page without a network, in a profile of its own that goes with it.
inline Seen look_at(const Page& page, bool dark = false) {
  BrowserTurn turn;
  TextFolder folder;
  // A browser without a screen draws frames when it likes; here they come by the clock.
  std::string report = html(page);
  report.insert(report.find("<title>"),
                "<script>window.requestAnimationFrame = (call) => setTimeout(() => "
                "call(performance.now()), 16);</script>\n");
  folder.write("report.html", report);
  folder.write("look.html",
               "<!doctype html><html><head><meta name=\"color-scheme\" content=\"light dark\">"
               "</head><body><script>" +
                   read_file(LOOKBACK_SOURCE_DIR "/tests/study/page_checks.js") +
                   "</script></body></html>");
  std::string command = format(
      "timeout -k 5 120 '{0}' --headless --no-sandbox --disable-gpu --disable-quic --no-first-run "
      "--disable-background-networking --disable-component-update --disable-sync --disable-extensions "
      "--user-data-dir='{1}' --allow-file-access-from-files --enable-logging=stderr --log-level=0 "
      "--window-size=1700,2000 --virtual-time-budget=60000 --blink-settings=preferredColorScheme={2} --dump-dom 'file://{3}' "
      "> '{4}' 2> '{5}' < /dev/null",
      find_browser(), folder.path("profile"), dark ? 0 : 1, folder.path("look.html"),
      folder.path("dom"), folder.path("log"));
  int status = std::system(command.c_str());
  std::string dom = read_file(folder.path("dom")), log = read_file(folder.path("log"));
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << log;
  Seen seen{.widths = Json::array(), .complaints = {}};
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);)
    if (line.find("CONSOLE") != std::string::npos) seen.complaints.push_back(line);
  const std::string start = "data-result=\"";
  size_t from = dom.find(start);
  if (from == std::string::npos) {
    ADD_FAILURE() << "page_checks.js came to no end:\n" << log << dom.substr(0, 2000);
    return seen;
  }
  from += start.size();
  seen.widths =
      parse_json(percent_decoded(dom.substr(from, dom.find('"', from) - from)), "data-result");
  return seen;
}

}  // namespace lookback
