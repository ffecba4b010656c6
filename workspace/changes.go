package workspace

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path"
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	"github.com/hocket-dev/hocket/internal/sorted"
)

// Change is a file that differs between two commits. A file that was renamed is two of them.
type Change struct {
	Path    string   // from the project's directory, with slashes
	Was, Is *Version // nil: there was or is no such file
}

// Version is what a file is in a commit.
type Version struct {
	Special    bool // a symbolic link or another repository, which has no content here
	Large      bool // its content was left out
	Executable bool
	Content    []byte
}

// Changes returns what differs between two commits, by path, with the contents of files that have at most so many bytes.
func (s *Store) Changes(ctx context.Context, a, b string, most int) ([]Change, error) {
	if err := checkCommits(a, b); err != nil {
		return nil, err
	}
	moves, err := s.git.moves(ctx, [2]tree{a, b})
	if err != nil || len(moves) == 0 {
		return nil, err
	}
	objects, err := s.git.readObjects(ctx)
	if err != nil {
		return nil, err
	}
	all, err := objects.changes(moves, most)
	if err = errors.Join(err, objects.close(ctx)); err != nil {
		return nil, err
	}
	for i := range all {
		all[i].Path = relative(filepath.ToSlash(s.sub), all[i].Path)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Path < all[j].Path })
	return all, nil
}

// Files returns some files of a commit, by path; those that are not there are missing. Contents have at most so many bytes.
func (s *Store) Files(ctx context.Context, commit string, paths []string, most int) (files map[string]*Version, err error) {
	if err := checkCommits(commit); err != nil {
		return nil, err
	}
	names := map[string]bool{} // from the top of the checkout
	for _, p := range paths {
		names[path.Join(filepath.ToSlash(s.sub), p)] = true
	}
	found, err := s.git.filesOf(ctx, commit, names, most)
	if err != nil {
		return nil, err
	}
	files = map[string]*Version{}
	for _, p := range paths {
		if v := found[path.Join(filepath.ToSlash(s.sub), p)]; v != nil {
			files[p] = v
		}
	}
	return files, nil
}

// filesOf returns those of some files that a commit has. Contents have at most so many bytes.
func (g git) filesOf(ctx context.Context, commit string, names map[string]bool, most int) (map[string]*Version, error) {
	entries := map[string][]string{} // mode, kind, object
	err := g.eachEntry(ctx, commit, sorted.Keys(names), func(info, name string) error {
		if f := strings.Fields(info); names[name] && len(f) == 3 { // otherwise it is below a folder of this name
			entries[name] = f
		}
		return nil
	})
	if err != nil || len(entries) == 0 {
		return nil, err
	}
	objects, err := g.readObjects(ctx)
	if err != nil {
		return nil, err
	}
	files := map[string]*Version{}
	for name, f := range entries {
		if files[name], err = objects.version(f[0], f[2], most); err != nil {
			break
		}
	}
	return files, errors.Join(err, objects.close(ctx))
}

// relative returns a path as seen from a directory that need not contain it.
func relative(dir, name string) string {
	up := ""
	for ; dir != "" && dir != "."; dir = path.Dir(dir) {
		if rest, ok := strings.CutPrefix(name, dir+"/"); ok {
			return up + rest
		}
		up += "../"
	}
	return up + name
}

// objectReader is a git process that reads any number of objects.
type objectReader struct {
	cmd      *exec.Cmd
	done     func() // when it has ended
	ask      io.WriteCloser
	answers  *bufio.Reader
	messages bytes.Buffer
}

func (g git) readObjects(ctx context.Context) (*objectReader, error) {
	cmd, done, err := g.command(ctx, "cat-file", "--batch-command")
	if err != nil {
		return nil, err
	}
	o := &objectReader{cmd: cmd, done: done}
	if err := o.start(); err != nil {
		done()
		return nil, explain(ctx, "cat-file", err, &o.messages)
	}
	return o, nil
}

func (o *objectReader) start() error {
	o.cmd.Stderr = limited(&o.messages)
	ask, err := o.cmd.StdinPipe()
	if err != nil {
		return err
	}
	answers, err := o.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	o.ask, o.answers = ask, bufio.NewReader(answers)
	return o.cmd.Start()
}

// close ends the process. Its error says more than that of a question that it did not answer.
func (o *objectReader) close(ctx context.Context) error {
	defer o.done()
	o.ask.Close()
	return explain(ctx, "cat-file", o.cmd.Wait(), &o.messages)
}

func (o *objectReader) changes(moves []move, most int) (all []Change, err error) {
	for _, m := range moves {
		c := Change{Path: m.Path}
		if c.Was, err = o.version(m.Was, m.Old, most); err != nil {
			return nil, err
		}
		if c.Is, err = o.version(m.Mode, m.Object, most); err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// version reads an object of a tree.
func (o *objectReader) version(mode, object string, most int) (*Version, error) {
	switch mode {
	case "":
		return nil, nil //nolint:nilnil // there is no such file
	case "100644", "100755":
	default:
		return &Version{Special: true}, nil
	}
	v := &Version{Executable: mode == "100755"}
	size, err := o.question("info", object)
	if v.Large = size > most; v.Large || err != nil {
		return v, err
	}
	if _, err := o.question("contents", object); err != nil {
		return nil, err
	}
	v.Content = make([]byte, size+1) // and a line end
	if _, err = io.ReadFull(o.answers, v.Content); err != nil {
		return nil, fmt.Errorf("git cat-file: %w", err)
	}
	v.Content = v.Content[:size]
	if !isBlob(object, v.Content) {
		return nil, fmt.Errorf("the store of Hocket has other content for object %.12s than was recorded: a step may have changed the store, so look at what the steps do, and start the run again", object)
	}
	return v, nil
}

// isBlob reports whether an object has a content, which git does not compare.
func isBlob(object string, content []byte) bool {
	sum := sha1.New()
	if len(object) == hex.EncodedLen(sha256.Size) {
		sum = sha256.New()
	}
	fmt.Fprintf(sum, "blob %d\x00", len(content))
	sum.Write(content)
	return hex.EncodeToString(sum.Sum(nil)) == object
}

// question asks about an object, and returns its size.
func (o *objectReader) question(command, object string) (size int, err error) {
	if _, err := fmt.Fprintf(o.ask, "%s %s\n", command, object); err != nil {
		return 0, fmt.Errorf("git cat-file: %w", err)
	}
	answer, err := o.answers.ReadString('\n')
	if err != nil {
		return 0, fmt.Errorf("git cat-file: %w", err)
	}
	fields := strings.Fields(answer) // object, type, size
	if len(fields) == 3 && fields[0] == object && fields[1] == "blob" {
		if size, err = strconv.Atoi(fields[2]); err == nil {
			return size, nil
		}
	}
	return 0, fmt.Errorf("git cat-file: unexpected output %.80q", answer)
}
