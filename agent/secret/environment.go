package secret

import (
	"runtime"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/internal/lazy"
)

// harmless are the variables that a program needs to work at all.
var harmless = strings.Fields(`PATH HOME USER LOGNAME LANG LANGUAGE TZ TMPDIR TEMP TMP TERM
	SystemRoot SystemDrive ComSpec PATHEXT USERPROFILE APPDATA LOCALAPPDATA ProgramData ProgramFiles WINDIR`)

// Harmless returns the variables of an environment that are safe for any program: any other
// variable may hold a secret.
func Harmless(env []string) []string {
	var kept []string
	for _, pair := range env {
		name, _, _ := strings.Cut(pair, "=")
		if among(harmless, name) || strings.HasPrefix(name, "LC_") {
			kept = append(kept, pair)
		}
	}
	return kept
}

// among reports whether a variable is in a list. On Windows, letter case does not matter.
func among(list []string, name string) bool {
	return slices.ContainsFunc(list, func(other string) bool {
		return other == name || runtime.GOOS == "windows" && strings.EqualFold(other, name)
	})
}

// usual are further variables that programs need and that do not hold secrets: for
// terminals, for languages and their tools, and for the network.
var usual = strings.Fields(`_ SHELL PWD OLDPWD SHLVL HOSTNAME COLORTERM TERM_PROGRAM NO_COLOR FORCE_COLOR CLICOLOR COLUMNS LINES EDITOR VISUAL PAGER CI DISPLAY WAYLAND_DISPLAY
	XDG_CONFIG_HOME XDG_CACHE_HOME XDG_DATA_HOME XDG_STATE_HOME XDG_RUNTIME_DIR XDG_CONFIG_DIRS XDG_DATA_DIRS
	GOPATH GOROOT GOBIN GOCACHE GOMODCACHE GOFLAGS GOOS GOARCH GOTOOLCHAIN GOPROXY GOPRIVATE GOSUMDB GOTMPDIR CGO_ENABLED CARGO_HOME RUSTUP_HOME RUSTUP_TOOLCHAIN RUSTFLAGS
	JAVA_HOME MAVEN_HOME GRADLE_HOME GRADLE_USER_HOME ANDROID_HOME NVM_DIR NODE_ENV NODE_PATH NODE_OPTIONS PNPM_HOME VOLTA_HOME BUN_INSTALL DENO_DIR
	VIRTUAL_ENV CONDA_PREFIX CONDA_DEFAULT_ENV PYENV_ROOT PYTHONPATH PYTHONHOME RBENV_ROOT GEM_HOME GEM_PATH DOTNET_ROOT
	CC CXX CFLAGS CXXFLAGS CPPFLAGS LDFLAGS MAKEFLAGS PKG_CONFIG_PATH LIBRARY_PATH LD_LIBRARY_PATH HOMEBREW_PREFIX NIX_PATH NIX_PROFILES LOCALE_ARCHIVE
	SSL_CERT_FILE SSL_CERT_DIR NIX_SSL_CERT_FILE NODE_EXTRA_CA_CERTS CURL_CA_BUNDLE REQUESTS_CA_BUNDLE
	http_proxy https_proxy all_proxy no_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY
	OS HOMEDRIVE HOMEPATH USERNAME USERDOMAIN COMPUTERNAME NUMBER_OF_PROCESSORS PROCESSOR_ARCHITECTURE PUBLIC CommonProgramFiles PSModulePath`)

// Usual returns the variables that the steps of an untrusted project see, and the names of
// the others: any variable that is not usual may be a secret, and so are those that are
// named, and URLs with a password.
func Usual(env []string, names ...string) (kept, withheld []string) {
	for _, pair := range env {
		name, value, _ := strings.Cut(pair, "=")
		known := among(harmless, name) || among(usual, name) || strings.HasPrefix(name, "LC_") || strings.HasPrefix(name, "HOCKET_") && !telling().MatchString(name)
		switch {
		case known && !among(names, name) && !hasLogin(value) && !(proxy(name) && strings.Contains(value, "@")):
			kept = append(kept, pair)
		case name != "":
			withheld = append(withheld, name)
		}
	}
	return kept, withheld
}

// LikelyFirst sorts names of variables, beginning with those whose names indicate a secret.
func LikelyFirst(names []string) []string {
	var likely, others []string
	for _, name := range names {
		if telling().MatchString(name) {
			likely = append(likely, name)
		} else {
			others = append(others, name)
		}
	}
	slices.Sort(likely)
	slices.Sort(others)
	return slices.Compact(append(likely, others...))
}

// telling matches names of variables that hold secrets.
var telling = lazy.Regexp(`(?i)(^|_)(keys?|pat|pass|credentials?|auth|jwt|bearer|cookies?|dsn|webhook|sas)(_|$)|apikey|tokens?(_|$)|secret|passw|passphrase|._pwd$|sshpass|privkey|^otel_exporter_otlp_([a-z]+_)?(headers|client_key)$|^aws_(access|session|container|web|role)`)

// proxy reports whether a variable holds a URL that often contains a password or a token,
// in any form.
func proxy(name string) bool { return strings.HasSuffix(strings.ToLower(name), "proxy") }

// hasLogin reports whether a value is a URL with a password in it.
func hasLogin(value string) bool {
	return strings.Contains(value, "://") && loginURL().MatchString(value)
}

// loginURL matches a value with a password in it: postgres://me:password@host/db.
var loginURL = lazy.Regexp(`://[^/?#\s:@]*:[^/?#\s@]+@`)

// Unsecret returns an environment without the variables that are named, those whose names
// indicate a secret, and URLs with a password: for commands of a model, which may need any
// other variable.
func Unsecret(env []string, names ...string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(pair string) bool {
		name, value, _ := strings.Cut(pair, "=")
		return among(names, name) || telling().MatchString(name) || hasLogin(value)
	})
}
