package cassette

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"sort"
	"unicode/utf8"

	"github.com/hocket-dev/hocket/internal/projectfile"
	"github.com/hocket-dev/hocket/internal/sorted"
)

// Change is a file that an attempt wrote or deleted.
type Change struct {
	Path       string // in the directory of the step, with slashes
	Was        string // digest of its content before; "": there was no such file
	Deleted    bool
	Executable bool
	Content    []byte
}

// Text says what a change does to its file; nil changes nothing.
func (c *Change) Text() string {
	switch {
	case c == nil:
		return "not changed"
	case c.Deleted:
		return "deleted"
	case c.Was == "" && c.Executable:
		return "created as a program"
	case c.Was == "":
		return "created"
	case c.Executable:
		return "changed, and executable"
	}
	return "changed"
}

// Files is the content of a directory at one time, by path. It has no repository of git.
type Files map[string]File

// File is one file of a directory.
type File struct {
	Content    []byte
	Executable bool
}

// MostFile is how large a file can be that is recorded.
const MostFile = 4 << 20

const mostFiles = 64 << 20 // of one attempt

// ReadFiles reads a directory. Symbolic links, names that a cassette cannot hold, and files that are too large are errors.
func ReadFiles(dir string) (Files, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("cassette: %w", err)
	}
	defer root.Close()
	files, total := Files{}, 0
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case !utf8.ValidString(name):
			return fmt.Errorf("the name %q is not UTF-8; have the step use another name, or give it a reply", name)
		case d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		case d.IsDir():
			return nil
		case !d.Type().IsRegular():
			return fmt.Errorf("%s is a link or another special file; have the step write a regular file, or give it a reply", name)
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if total += int(info.Size()); info.Size() > MostFile || total > mostFiles {
			return fmt.Errorf("%s is %w", name, errLarge)
		}
		content, err := root.ReadFile(name)
		files[name] = File{content, info.Mode()&0o100 != 0}
		return err
	})
	return files, err
}

// CheckRecorded returns an error if a cassette that has these changes could not be read again.
func CheckRecorded(changes []Change) error {
	for _, c := range changes {
		if err := projectfile.CheckPath(c.Path); err != nil {
			return fmt.Errorf("%w; have the step use another name, or give it a reply", err)
		}
	}
	return nil
}

// Digest returns the digest of all files.
func (f Files) Digest() string { return f.Listing().Digest() }

func contentDigest(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Changes returns what is different now, by path.
func (f Files) Changes(now Files) []Change {
	var all []Change
	for _, name := range sorted.Keys(f) {
		if _, ok := now[name]; !ok {
			all = append(all, Change{Path: name, Was: contentDigest(f[name].Content), Deleted: true})
		}
	}
	for _, name := range sorted.Keys(now) {
		was, existed := f[name]
		is := now[name]
		if existed && was.Executable == is.Executable && bytes.Equal(was.Content, is.Content) {
			continue
		}
		c := Change{Path: name, Executable: is.Executable, Content: is.Content}
		if existed {
			c.Was = contentDigest(was.Content)
		}
		all = append(all, c)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Path < all[j].Path })
	return all
}

// Apply makes changes in a directory. Nothing outside of it can be reached: not through a path, and not through a
// symbolic link in the directory. A file that is not as it was is an error. Nil places mean that the changes are of files as
// they are, without placeholders.
func Apply(dir string, changes []Change, p *Places) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("cassette: %w", err)
	}
	defer root.Close()
	for _, c := range changes {
		if err := c.apply(root, p); err != nil {
			return fmt.Errorf("cannot replay the change of %s: %w", c.Path, err)
		}
	}
	return nil
}

func (c Change) apply(root *os.Root, p *Places) error {
	if err := projectfile.CheckPath(c.Path); err != nil {
		return err
	}
	if err := projectfile.NoLinks(root, c.Path); err != nil {
		return err
	}
	was := ""
	before, err := root.ReadFile(c.Path)
	switch {
	case err == nil:
		was = contentDigest(p.hideContent(before))
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if c.Was != was {
		if c.Was == "" {
			return errors.New("there is already such a file")
		}
		return errors.New("the file is not as it was when the change was recorded")
	}
	if c.Deleted {
		return root.Remove(c.Path)
	}
	if err := root.MkdirAll(path.Dir(c.Path), 0o755); err != nil {
		return err
	}
	mode := fs.FileMode(0o644)
	if c.Executable {
		mode = 0o755
	}
	if err := root.WriteFile(c.Path, p.showContent(c.Content), mode); err != nil {
		return err
	}
	return root.Chmod(c.Path, mode)
}

// hideContent is Hide for the content of a file. Binary content has no placeholders.
func (p *Places) hideContent(content []byte) []byte {
	if p == nil || bytes.IndexByte(content, 0) >= 0 {
		return content
	}
	return []byte(p.Hide(string(content)))
}

// showContent is Show for the content of a file.
func (p *Places) showContent(content []byte) []byte {
	if p == nil || bytes.IndexByte(content, 0) >= 0 {
		return content
	}
	return []byte(p.Show(string(content)))
}

// Hide returns files with placeholders in their texts.
func (f Files) Hide(p *Places) Files {
	hidden := Files{}
	for name, file := range f {
		hidden[name] = File{p.hideContent(file.Content), file.Executable}
	}
	return hidden
}
