//go:build unix

package temporal_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/hocket-dev/hocket/driver/temporal"
)

// TestLinksInAFolder: links and pipes that others put into a shared folder lead nowhere.
func TestLinksInAFolder(t *testing.T) {
	ctx, dir, outside := t.Context(), t.TempDir(), t.TempDir()
	s := temporal.Folder(dir)
	secret := filepath.Join(outside, "secret")
	for _, err := range []error{
		os.WriteFile(secret, []byte("secret"), 0o600), s.Put(ctx, "id", []byte("{}")), os.MkdirAll(filepath.Join(dir, "runs/good"), 0o700),
		os.Symlink(secret, filepath.Join(dir, "runs/good/link")), os.Symlink(outside, filepath.Join(dir, "runs/evil")),
		syscall.Mkfifo(filepath.Join(dir, "runs/good/pipe"), 0o600), s.Put(ctx, "runs/good/value", []byte("value")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range []string{"runs/good/link", "runs/evil/secret", "runs/good/pipe"} {
		if value, err := s.Get(ctx, key); err == nil {
			t.Errorf("%s is %q", key, value)
		}
	}
	if err := s.Put(ctx, "runs/evil/new", nil); err == nil {
		t.Error("stored outside")
	}
	if err := s.Delete(ctx, "runs/evil/secret"); err == nil {
		t.Error("deleted outside")
	}
	if keys, err := s.List(ctx, "runs"); strings.Join(keys, " ") != "runs/good/value" || err != nil {
		t.Errorf("%q, %v", keys, err)
	}
	if err := s.Put(ctx, "runs/good/link", []byte("mine")); err != nil {
		t.Error(err)
	}
	if err := s.Delete(ctx, "runs"); err != nil {
		t.Error(err)
	}
	all, err := os.ReadDir(outside)
	if text, wrong := os.ReadFile(secret); !bytes.Equal(text, []byte("secret")) || len(all) != 1 || err != nil || wrong != nil {
		t.Errorf("%q, %v, %v, %v", text, all, err, wrong)
	}
}
