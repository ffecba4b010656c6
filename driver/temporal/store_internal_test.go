package temporal

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// After a power failure, a value that was stored has its name: its folder was synced with the name in it, and so was every folder that is
// new, also if another process has made it.
func TestStoreSyncsNames(t *testing.T) {
	dir := t.TempDir()
	store := Folder(filepath.Join(dir, "shared", "store"))
	var synced []string
	sync := func(at string) error {
		if key := store.path("runs/one/values/a"); at == filepath.Dir(key) {
			if _, err := os.Stat(key); err != nil {
				t.Errorf("synced without the value: %v", err)
			}
		}
		if name, err := filepath.Rel(dir, at); err == nil && filepath.IsLocal(name) {
			synced = append(synced, name)
		}
		return nil
	}
	link := func(root *os.Root, from, to string) error { return errors.Join(root.Link(from, to), root.Remove(from)) }
	folders := []string{"shared/store/runs/one/values", "shared/store/runs/one", "shared/store/runs", "shared/store"}
	for _, c := range []struct {
		key  string
		name func(root *os.Root, from, to string) error
		err  error
		want []string
	}{
		{idKey, link, nil, []string{"shared", ".", "shared/store"}},
		{"runs/one/values/a", (*os.Root).Rename, nil, folders},
		{"runs/one/values/a", link, fs.ErrExist, folders}, // whoever has created it may not have synced it yet
	} {
		synced = nil
		if err := store.write(c.key, []byte("x"), c.name, sync); !errors.Is(err, c.err) {
			t.Errorf("%v, want %v", err, c.err)
		}
		if !slices.Equal(synced, c.want) {
			t.Errorf("synced %q, want %q", synced, c.want)
		}
	}
	broken := errors.New("broken")
	if err := store.write("b", nil, (*os.Root).Rename, func(string) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("a value whose name may be lost: %v", err)
	}
}
