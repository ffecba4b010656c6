package server

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A client in another language, generated from the document, starts a run, follows it and answers.
func TestGeneratedClient(t *testing.T) {
	tools := os.Getenv("HOCKET_API_CLIENT")
	if tools == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			t.Skip(err)
		}
		tools = filepath.Join(cache, "hocket-api-client")
	}
	modules := filepath.Join(tools, "node_modules")
	if _, err := os.Stat(filepath.Join(modules, "openapi-fetch")); err != nil {
		t.Skip("server/setup installs what this needs")
	}
	f := newFixture(t, nil)
	dir := t.TempDir()
	source, err := os.ReadFile("testdata/client.ts")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "client.ts"), source, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"type": "module"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	document, err := filepath.Abs("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	run := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
		return string(out)
	}
	run(filepath.Join(modules, ".bin", "openapi-typescript"), document, "-o", "api.d.ts")
	run(filepath.Join(modules, ".bin", "tsc"), "--strict", "--target", "es2022", "--module", "es2022", "--moduleResolution", "bundler", "--types", "node", "client.ts")
	got := strings.TrimSpace(run("node", "client.js", f.base, f.admin, f.name()))
	want := `{"names":["gated","hello"],"status":"success","steps":["draft","approve","publish"],"refused":"urn:hocket:refused"}`
	if got != want {
		t.Errorf("the client printed\n%s\nwant\n%s", got, want)
	}
}
