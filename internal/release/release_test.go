package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Building the real program for the first time takes minutes, so the tests release a
// small one that answers the same questions. make release-test releases the real one.
var repo = flag.String("repo", "", "the repository to release, instead of a small one made for the test")

const standIn = `package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
)

func main() {
	switch os.Args[1] {
	case "completion":
		fmt.Println("complete", os.Args[2])
	case "man":
		os.MkdirAll(os.Args[2], 0o777)
		os.WriteFile(filepath.Join(os.Args[2], "hocket.1"), []byte(".TH HOCKET 1\n"), 0o666)
	case "--version":
		info, _ := debug.ReadBuildInfo()
		fmt.Println("hocket", info.Main.Version)
	case "run":
		fmt.Println("success")
	case "init":
	default:
		os.Exit(2)
	}
}
`

// built is a release for two platforms, built once for all tests.
type built struct{ repository, dir, number string }

var once sync.Once
var shared built

func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	if shared.dir != "" {
		os.RemoveAll(filepath.Dir(shared.dir))
	}
	os.Exit(code)
}

func aRelease(t *testing.T) built {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git, so no release can be built")
	}
	once.Do(func() {
		top, err := os.MkdirTemp("", "hocket-release-test-")
		if err != nil {
			t.Fatal(err)
		}
		b := built{repository: *repo, dir: filepath.Join(top, "dist")}
		if b.repository == "" {
			b.repository = filepath.Join(top, "repository")
			makeRepository(t, b.repository)
		}
		if err := run(b.repository, b.dir, platformsToTest()); err != nil {
			t.Fatal(err)
		}
		archives, err := filepath.Glob(filepath.Join(b.dir, "hocket_*_windows_amd64.zip"))
		if err != nil || len(archives) != 1 {
			t.Fatalf("%v %v", archives, err)
		}
		_, rest, _ := strings.Cut(filepath.Base(archives[0]), "_")
		b.number, _, _ = strings.Cut(rest, "_")
		shared = b
	})
	if shared.dir == "" {
		t.Fatal("there is no release to test")
	}
	return shared
}

// platformsToTest returns this machine's platform and one of the other kind.
func platformsToTest() string {
	here := runtime.GOOS + "/" + runtime.GOARCH
	if here == "windows/amd64" {
		return here
	}
	return here + ",windows/amd64"
}

func makeRepository(t *testing.T, dir string) {
	t.Helper()
	for name, text := range map[string]string{
		"go.mod": "module github.com/hocket-dev/hocket\n\ngo 1.26\n", "cmd/hocket/main.go": standIn,
		"cli/version.go":         "package cli\n\nvar version string\n\nfunc Version() string { return version }\n",
		"driver/temporal/go.mod": "module github.com/hocket-dev/hocket/driver/temporal\n\ngo 1.26\n", "driver/temporal/go.work": "go 1.26\n\nuse (\n\t.\n\t../..\n)\n",
		"driver/temporal/cmd/hocket-temporal/main.go": "package main\n\nimport \"github.com/hocket-dev/hocket/cli\"\n\nfunc main() { println(cli.Version()) }\n",
		"LICENSE": "a licence\n", "README.md": "# Hocket\n", "CHANGELOG.md": "# Changelog\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range []string{"init -q", "add .", "commit -qm first", "tag v1.2.3"} {
		command(t, nil, "git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.com"}, strings.Fields(args)...)...)
	}
	// Uncommitted changes are not part of a release.
	if err := os.WriteFile(filepath.Join(dir, "LICENSE"), []byte("changed\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

func command(t *testing.T, env []string, name string, args ...string) string {
	t.Helper()
	out, err := try(env, name, args...)
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return out
}

func try(env []string, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestArchives(t *testing.T) {
	b := aRelease(t)
	for _, p := range strings.Split(platformsToTest(), ",") {
		system, arch, _ := strings.Cut(p, "/")
		stem := filepath.Join(b.dir, fmt.Sprintf("hocket_%s_%s_%s", b.number, system, arch))
		files, modes := untar(t, stem+".tar.gz"), map[string]os.FileMode{}
		if system == "windows" {
			files = unzip(t, stem+".zip")
		}
		for _, f := range files {
			modes[f.name] = f.mode
		}
		if mode := modes[platform{system, arch}.binary(hocket)]; mode != 0o755 {
			t.Errorf("%s: the program has the mode %v", p, mode)
		}
		for _, name := range []string{"LICENSE", "LICENSES-OF-DEPENDENCIES.txt", "README.md", "completions/_hocket", "completions/hocket.bash", "completions/hocket.fish", "completions/hocket.ps1", "man/man1/hocket.1"} {
			if modes[name] != 0o644 {
				t.Errorf("%s: %s has the mode %v, or is missing", p, name, modes[name])
			}
		}
		i := slices.IndexFunc(files, func(f file) bool { return f.name == "LICENSES-OF-DEPENDENCIES.txt" })
		if !strings.Contains(string(files[i].data), "The Go standard library go") {
			t.Errorf("%s: the licence of Go is missing", p)
		}
		var list struct {
			BOMFormat string
			Metadata  struct {
				Component struct{ Version string }
			}
			Components []struct{ Name, Version, PURL string }
		}
		data, err := os.ReadFile(stem + ".sbom.json")
		if err == nil {
			err = json.Unmarshal(data, &list)
		}
		if err != nil || list.BOMFormat != "CycloneDX" || list.Metadata.Component.Version != "v"+b.number {
			t.Errorf("%s: SBOM %+v: %v", p, list.Metadata, err)
		}
		for _, c := range list.Components {
			if !strings.Contains(string(files[i].data), c.Name+" "+c.Version) {
				t.Errorf("%s: the licence of %s %s is missing", p, c.Name, c.Version)
			}
		}
		if info, err := os.Stat(stem + ".tar.gz"); err == nil && info.Size() > 25<<20 {
			t.Errorf("%s: the archive has %d bytes, more than 25 MB", p, info.Size())
		}
	}
}

func untar(t *testing.T, name string) (files []file) {
	t.Helper()
	data, err := os.ReadFile(name)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	r := tar.NewReader(z)
	for {
		h, err := r.Next()
		if err == io.EOF {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file{h.Name, data, h.FileInfo().Mode()})
	}
}

func unzip(t *testing.T, name string) (files []file) {
	t.Helper()
	r, err := zip.OpenReader(name)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, f := range r.File {
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file{f.Name, data, f.Mode()})
	}
	return files
}

// Only committed files are released, and a second build in another directory is identical
// byte for byte.
// The program for Temporal is in archives of its own, and has the version of the release.
func TestArchivesForTemporal(t *testing.T) {
	b := aRelease(t)
	here := runtime.GOOS + "_" + runtime.GOARCH
	if runtime.GOOS == "windows" {
		t.Skip("the archive is another one")
	}
	files := untar(t, filepath.Join(b.dir, "hocket-temporal_"+b.number+"_"+here+".tar.gz"))
	program, licences := filepath.Join(t.TempDir(), "hocket-temporal"), ""
	for _, f := range files {
		switch f.name {
		case "hocket-temporal":
			if err := os.WriteFile(program, f.data, 0o755); err != nil {
				t.Fatal(err)
			}
		case "LICENSES-OF-DEPENDENCIES.txt":
			licences = string(f.data)
		}
	}
	if !strings.Contains(licences, "The Go standard library") {
		t.Errorf("licences: %s", licences)
	}
	if out := command(t, nil, program, "--version"); !strings.Contains(out, b.number) {
		t.Errorf("the version is %s, not %s", out, b.number)
	}
	if _, err := os.Stat(filepath.Join(b.dir, "hocket-temporal_"+b.number+"_"+here+".sbom.json")); err != nil {
		t.Error(err)
	}
}

func TestReproducible(t *testing.T) {
	b := aRelease(t)
	again := filepath.Join(t.TempDir(), "dist")
	if err := run(b.repository, again, platformsToTest()); err != nil {
		t.Fatal(err)
	}
	first, second := command(t, nil, "sh", "-c", "cd \"$0\" && cat checksums.txt", b.dir), command(t, nil, "sh", "-c", "cd \"$0\" && cat checksums.txt", again)
	if first != second || strings.Count(first, "\n") < 8 {
		t.Errorf("the first build:\n%s\nthe second:\n%s", first, second)
	}
	command(t, nil, "sh", "-c", `cd "$0" && sha256sum -c --quiet checksums.txt`, again)
}

func TestInstallScript(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the install script is for Linux and macOS")
	}
	b := aRelease(t)
	script, archive := filepath.Join(b.dir, "install.sh"), fmt.Sprintf("hocket_%s_%s_%s.tar.gz", b.number, runtime.GOOS, runtime.GOARCH)
	server := httptest.NewServer(http.FileServer(http.Dir(b.dir)))
	defer server.Close()

	to := filepath.Join(t.TempDir(), "with a space")
	out := command(t, []string{"HOCKET_FROM=" + server.URL, "HOCKET_INSTALL=" + to}, "sh", script)
	if !strings.Contains(out, "is installed") || !strings.Contains(out, "add it to your PATH") {
		t.Errorf("the script says\n%s", out)
	}
	if out := command(t, nil, filepath.Join(to, "bin", "hocket"), "--version"); !strings.Contains(out, b.number) {
		t.Errorf("the installed program says %s", out)
	}
	if _, err := os.Stat(filepath.Join(to, "share/man/man1/hocket.1")); err != nil {
		t.Error(err)
	}

	// A tampered archive is not installed, and the existing program stays.
	evil := t.TempDir()
	data, err := os.ReadFile(filepath.Join(b.dir, archive))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(evil, archive), append(data, 0), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err = try([]string{"HOCKET_FROM=file://" + evil, "HOCKET_INSTALL=" + to}, "sh", script)
	if err == nil || !strings.Contains(out, "expected") || !strings.Contains(out, "nothing was installed") {
		t.Errorf("a changed archive: %v\n%s", err, out)
	}
	// A script that arrived incompletely does nothing either.
	text, err := os.ReadFile(script)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(strings.TrimSpace(string(text)), "\n")
	for n := range lines {
		part, fresh := filepath.Join(evil, "install.sh"), filepath.Join(evil, "fresh")
		if err := os.WriteFile(part, []byte(strings.Join(lines[:n], "")), 0o644); err != nil {
			t.Fatal(err)
		}
		out, _ := try([]string{"HOCKET_FROM=file://" + b.dir, "HOCKET_INSTALL=" + fresh}, "sh", part)
		if _, err := os.Stat(fresh); err == nil {
			t.Errorf("the first %d lines of the script installed something:\n%s", n, out)
			break
		}
	}
	out, err = try([]string{"HOCKET_FROM=" + server.URL + "/nothing", "HOCKET_INSTALL=" + to}, "sh", script)
	if err == nil || !strings.Contains(out, "cannot download") {
		t.Errorf("no archive: %v\n%s", err, out)
	}
	command(t, nil, filepath.Join(to, "bin", "hocket"), "--version")
}

func TestNPM(t *testing.T) {
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("no npm, so its packages are not installed")
	}
	b := aRelease(t)
	packages, err := filepath.Glob(filepath.Join(b.dir, "hocket-*-*-"+b.number+".npm.tgz"))
	if err != nil || len(packages) != 2 {
		t.Fatalf("%v %v", packages, err)
	}
	own := filepath.Join(b.dir, "hocket-"+npmOS[runtime.GOOS]+"-"+npmArch[runtime.GOARCH]+"-"+b.number+".npm.tgz")
	to := t.TempDir()
	install := func(env []string, files ...string) string {
		return command(t, append(env, "npm_config_cache="+filepath.Join(to, "cache")), "npm",
			append([]string{"install", "--prefix", to, "--offline", "--no-audit", "--no-fund", "--no-save", "--force"}, files...)...)
	}
	install(nil, own, filepath.Join(b.dir, "hocket-"+b.number+".npm.tgz"))
	started := filepath.Join(to, "node_modules", ".bin", "hocket")
	if out := command(t, nil, started, "--version"); !strings.Contains(out, b.number) {
		t.Errorf("the installed program says %s", out)
	}
	if out, err := try(nil, started, "nonsense"); err == nil || err.(*exec.ExitError).ExitCode() != 2 {
		t.Errorf("the code of the program is lost: %v\n%s", err, out)
	}
	if err := os.RemoveAll(filepath.Join(to, "node_modules", "@hocket-dev")); err != nil {
		t.Fatal(err)
	}
	if out, err := try(nil, started, "--version"); err == nil || !strings.Contains(out, "--omit=optional") {
		t.Errorf("without the package of the platform: %v\n%s", err, out)
	}
}

// Homebrew cannot be installed from packages, so Ruby evaluates the formula with stubs
// for the few Homebrew methods that it uses.
func TestFormula(t *testing.T) {
	if _, err := exec.LookPath("ruby"); err != nil {
		t.Skip("no ruby, so the Homebrew formula is not tried")
	}
	b := aRelease(t)
	to := t.TempDir()
	out := command(t, nil, "ruby", "testdata/brew.rb", filepath.Join(b.dir, "hocket.rb"), b.dir, to)
	if !strings.Contains(out, "installed and tested") {
		t.Errorf("ruby says\n%s", out)
	}
	for _, name := range []string{"bin/hocket", "share/man/man1/hocket.1", "etc/bash_completion.d/hocket", "share/zsh/site-functions/_hocket", "share/fish/vendor_completions.d/hocket.fish"} {
		if _, err := os.Stat(filepath.Join(to, name)); err != nil {
			t.Error(err)
		}
	}
}

func TestUnknownPlatform(t *testing.T) {
	err := run(".", t.TempDir(), "linux/amd46")
	if err == nil || !strings.Contains(err.Error(), `"linux/amd46"`) {
		t.Error(err)
	}
}
