package trust

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/internal/projectfile"
)

// What a power starts may be a program in the project itself. To approve its name would
// approve whatever a later commit puts there, so that the digest covers what it holds.
// What such a program reads in turn is not covered.

// Contents names by content the files of the project among some words of a command, seen
// from a directory of it. A word may be an option with a file behind the equals sign.
func Contents(root, dir string, words ...string) string {
	var found []string
	for _, word := range words {
		if _, value, ok := strings.Cut(word, "="); ok && strings.HasPrefix(word, "-") {
			word = value
		}
		file := word
		if found, err := exec.LookPath(word); err == nil && filepath.IsAbs(found) && !strings.ContainsAny(word, `/\`) {
			file = found // the PATH may lead into the project
		}
		if !filepath.IsAbs(file) {
			file = filepath.Join(dir, filepath.FromSlash(file))
		}
		if sum := content(root, file); sum != "" && word != "" {
			found = append(found, word+" "+sum)
		}
	}
	return strings.Join(found, "\n")
}

// most is how many files of a folder are looked at, and large what of one file is read.
const (
	most  = 2000
	large = 256 << 20
)

// Tree names files and folders of the project by all that they hold.
func Tree(root string, names ...string) string {
	var found []string
	for _, name := range names {
		count := 0
		err := filepath.WalkDir(filepath.Join(root, filepath.FromSlash(name)), func(path string, e fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case e.IsDir() && e.Name() == "node_modules":
				return filepath.SkipDir
			case e.IsDir():
				return nil
			}
			if count++; count > most {
				return errors.New("too many files")
			}
			rel, err := filepath.Rel(root, path)
			found = append(found, filepath.ToSlash(rel)+" "+content(root, path))
			return err
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			found = append(found, name+" "+err.Error())
		}
	}
	slices.Sort(found)
	return hash([]byte(strings.Join(found, "\n")))
}

// content is the hash of a file in the project; "" there is none.
func content(root, file string) string {
	path, err := projectfile.Resolve(file, root)
	if outside := (*projectfile.OutsideError)(nil); errors.As(err, &outside) {
		return "" // it belongs to the user, as /bin/sh does
	}
	if err != nil {
		return ""
	}
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	if info.Size() > large {
		return fmt.Sprintf("%d bytes of %d", info.Size(), info.ModTime().UnixNano())
	}
	f, err := os.Open(path)
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return err.Error()
	}
	return hex.EncodeToString(sum.Sum(nil))
}

func hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
