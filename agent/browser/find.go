package browser

import (
	"os/exec"
	"runtime"
)

// names are the programs under which Chromium and its relatives are installed.
func names() []string {
	switch runtime.GOOS {
	case "darwin":
		return []string{"chromium", "/Applications/Chromium.app/Contents/MacOS/Chromium", "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"}
	case "windows":
		return []string{"chrome", "msedge", `C:\Program Files\Google\Chrome\Application\chrome.exe`, `C:\Program Files (x86)\Google\Chrome\Application\chrome.exe`,
			`C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe`}
	}
	return []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "headless-shell", "/snap/bin/chromium"}
}

// find returns the path of a browser; "" if there is none.
func find(wanted string) string {
	candidates := names()
	if wanted != "" {
		candidates = []string{wanted}
	}
	for _, name := range candidates {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// install says how to install one.
func install() string {
	switch runtime.GOOS {
	case "darwin":
		return "brew install --cask chromium"
	case "windows":
		return "install Google Chrome"
	}
	return "apt-get install chromium, or the equivalent for your system"
}
