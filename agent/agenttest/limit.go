package agenttest

import (
	"os"
	"path/filepath"
	"testing"
)

// Writes is a script of the shell that writes in the directories out and src of a project,
// in many ways.
const Writes = `touch out/made; touch src/made; sh -c 'touch src/grandchild'; (setsid touch src/background & wait)
mv src/old out/moved; ln src/old out/linked; rm -f src/old; echo new >src/old; ln -s ../src out/way && touch out/way/made`

// Project creates a project for [Writes].
func Project(t testing.TB) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, name := range []string{"src", "out"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "src", "old"), []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// CheckWrites checks what [Writes] did where it may write in out only.
func CheckWrites(t testing.TB, dir string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(dir, "out", "made")); err != nil {
		t.Error("it wrote nothing:", err)
	}
	entries, err := os.ReadDir(filepath.Join(dir, "src"))
	data, wrong := os.ReadFile(filepath.Join(dir, "src", "old"))
	if err != nil || wrong != nil || len(entries) != 1 || string(data) != "old" {
		t.Errorf("it wrote in src: %v, %q, %v, %v", entries, data, err, wrong)
	}
}
