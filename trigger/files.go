package trigger

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/internal/glob"
	"github.com/hocket-dev/hocket/workflow"
)

const (
	// scanEvery is how often files are looked for. If that takes long, it is done less often.
	scanEvery = time.Second
	// maxNames is how many names are read to find the files of a trigger, maxFiles how many it can watch.
	maxNames, maxFiles = 100_000, 10_000
	// maxSize is the size of a file that can fire, maxContent of one whose content is an input.
	maxSize, maxContent = 1 << 30, 1 << 20
	// maxHold is how long other servers have to wait for one that reads files.
	maxHold = 5 * time.Second
	// maxChain is how many runs may follow each other, each for a file that has changed while the one before was in
	// progress.
	maxChain = 10
)

// watching is what the service knows about the files of a trigger. It belongs to the goroutine of watch.
type watching struct {
	since   time.Time // of the state that known is from
	known   map[string]version
	changed map[string]change // files that differ from those that are known
	looked  time.Time         // when the files were last looked at; zero: never
	retry   time.Time         // until when nothing can be started
}

// change is a file that was seen to differ.
type change struct {
	info  fs.FileInfo
	at    time.Time // since when it has looked like this
	after time.Time // when it did not yet, if that is known
}

// version is what a file looked like when it was handled.
type version struct {
	Size   int64  `json:"size"`
	Time   int64  `json:"time"`             // of its last change, in nanoseconds
	Digest string `json:"digest,omitempty"` // "": it was there before
}

func versionOf(info fs.FileInfo, digest string) version {
	return version{info.Size(), info.ModTime().UnixNano(), digest}
}

func (v version) looksLike(info fs.FileInfo) bool { return v == versionOf(info, v.Digest) }

func sameFile(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && versionOf(a, "") == versionOf(b, "")
}

// watch fires the triggers that watch files until ctx is done.
func (s *Service) watch(ctx context.Context) {
	for ctx.Err() == nil {
		begun := time.Now()
		s.scan(ctx)
		select {
		case <-ctx.Done():
		case <-time.After(max(scanEvery, 20*time.Since(begun))):
		}
	}
}

// scan looks once at the files of all triggers.
func (s *Service) scan(ctx context.Context) {
	s.mu.Lock()
	triggers, since := s.watched, maps.Clone(s.since)
	s.mu.Unlock()
	for _, t := range triggers {
		if ctx.Err() != nil {
			return
		}
		w := s.watching[t.Name]
		if w == nil || !w.since.Equal(since[t.Name]) {
			w = &watching{since: since[t.Name], changed: map[string]change{}}
			s.watching[t.Name] = w
		}
		if err := s.scanFor(ctx, t, w); ctx.Err() == nil {
			s.report(t.Name, "files", err)
		}
	}
}

// scanFor looks at the files of a trigger, and fires for those that have changed and settled.
func (s *Service) scanFor(ctx context.Context, t *hocket.Trigger, w *watching) error {
	root, err := os.OpenRoot(s.p.Root())
	if err != nil {
		return err
	}
	defer root.Close()
	on := t.On.(*hocket.Files)
	files, unreadable := findFiles(ctx, root, on.Globs())
	if files == nil {
		return unreadable
	}
	if w.known == nil {
		if err := s.begin(t, w, files); err != nil {
			return err
		}
	}
	settled := w.compare(files, s.o.Now(), on.Settle)
	gone := slices.DeleteFunc(slices.Collect(maps.Keys(w.known)), func(name string) bool { return unreadable != nil || files[name] != nil })
	if len(settled) == 0 && len(gone) == 0 || s.o.Now().Before(w.retry) {
		return unreadable
	}
	return cmp.Or(s.handle(ctx, t, w, root, settled, gone), unreadable)
}

// begin reads which files were handled. When a trigger is served for the first time, that is all that are there.
func (s *Service) begin(t *hocket.Trigger, w *watching, files map[string]fs.FileInfo) error {
	return s.states.change(t.Name, func(st *state) error {
		if st.Files == nil {
			st.Files = map[string]version{}
			for name, info := range files {
				st.Files[name] = versionOf(info, "")
			}
		}
		w.known = maps.Clone(st.Files)
		return nil
	})
}

// compare returns the files that are not as they were handled, and have not changed for some time: the oldest first.
func (w *watching) compare(files map[string]fs.FileInfo, now time.Time, settle time.Duration) (settled []string) {
	for name, info := range files {
		before, seen := w.changed[name]
		known, ok := w.known[name]
		switch {
		case ok && known.looksLike(info):
			delete(w.changed, name)
			continue
		case !seen || !sameFile(before.info, info):
			before = change{info: info, at: now, after: now}
			if !w.looked.IsZero() {
				before.after = w.looked
			}
			w.changed[name] = before
		}
		if now.Sub(before.at) >= settle {
			settled = append(settled, name)
		}
	}
	w.looked = now
	maps.DeleteFunc(w.changed, func(name string, _ change) bool { return files[name] == nil })
	slices.SortFunc(settled, func(a, b string) int {
		return cmp.Or(w.changed[a].info.ModTime().Compare(w.changed[b].info.ModTime()), strings.Compare(a, b))
	})
	return settled
}

// handle fires for files, and forgets those that are gone. A file stays where it is: one that cannot fire now, because
// the trigger is not trusted, too fast or has too many runs, does so later.
func (s *Service) handle(ctx context.Context, t *hocket.Trigger, w *watching, root *os.Root, settled, gone []string) error {
	var refused, unreadable error
	if len(settled) > 0 {
		_ = s.p.Reload() // if the files have mistakes, the old ones stay in use
		_, refused = s.p.As("trigger "+t.Name, "trigger").LoadTrigger(t)
	}
	err := s.states.change(t.Name, func(st *state) error {
		if !st.Since.Equal(w.since) || st.Files == nil { // for another server, the trigger has begun anew
			s.mu.Lock()
			defer s.mu.Unlock()
			s.since[t.Name] = st.Since
			return nil
		}
		for _, name := range gone {
			if st.Files[name] == w.known[name] {
				delete(st.Files, name)
			}
		}
		chain, err := s.chain(ctx, t, st, w, settled)
		if err != nil {
			return err
		}
		if refused == nil && chain > maxChain {
			refused = errLoops
		}
		for begun := time.Now(); len(settled) > 0 && ctx.Err() == nil && time.Since(begun) < maxHold; settled = settled[1:] {
			name := settled[0]
			if known, ok := st.Files[name]; ok && known.looksLike(w.changed[name].info) { // by another server
				continue
			}
			if err := s.ready(ctx, t, st, refused); err != nil {
				w.retry = s.o.Now().Add(reread)
				if err := s.pause(t, st, err); err != nil {
					return err
				}
				break
			}
			err := s.fireFile(ctx, t, st, root, name, w.changed[name].info, chain)
			if errors.Is(err, errChanging) || errors.Is(err, fs.ErrNotExist) {
				delete(w.changed, name)
			} else if err != nil {
				unreadable = err
			}
		}
		w.known = maps.Clone(st.Files)
		return nil
	})
	return cmp.Or(err, unreadable)
}

// errLoops means that a trigger seems to fire because of what its own runs do.
var errLoops = fmt.Errorf("%d runs have followed each other, each for a file that changed while the one before was in progress: the workflow seems to change files that its own trigger watches. "+
	"Write results elsewhere. The trigger continues when a file changes while none of its runs is in progress", maxChain)

// chain returns how many runs have followed each other, the next one included, each for a file that changed while the one
// before was in progress. Nothing says who has changed a file. But if only runs of the trigger do, none changes while none
// is in progress: one that does ends the chain.
func (s *Service) chain(ctx context.Context, t *hocket.Trigger, st *state, w *watching, settled []string) (int, error) {
	if len(settled) == 0 {
		return 0, nil
	}
	runs, err := s.p.Runs(ctx, hocket.Filter{Label: hocket.TriggerLabel, Limit: maxQueue})
	if err != nil {
		return 0, err
	}
	runs = slices.DeleteFunc(runs, func(r hocket.Info) bool { return r.Owner.Labels[hocket.TriggerLabel] != t.Name || r.Pending })
	shortest := math.MaxInt
	for _, name := range settled {
		file, chain := w.changed[name], math.MaxInt
		for _, r := range runs {
			if !file.at.Before(r.Created) && (!r.Status.Done() || file.after.Before(r.Changed)) {
				chain = min(chain, st.chainOf(r.ID)+1)
			}
		}
		if chain == math.MaxInt {
			return 0, nil
		}
		shortest = min(shortest, chain)
	}
	return shortest, nil
}

// ready returns why a trigger cannot start a run now.
func (s *Service) ready(ctx context.Context, t *hocket.Trigger, st *state, refused error) error {
	switch {
	case refused != nil:
		return refused
	case s.tooFast(st):
		return ErrTooFast
	case t.Overlap == hocket.QueueRuns:
		active, err := inProgress(ctx, s.p, t.Name)
		return cmp.Or(err, s.makeRoom(ctx, s.p, t, active))
	}
	return nil
}

// errChanging means that a file was changed while it was read.
var errChanging = errors.New("the file is being changed")

// fireFile fires for a file, unless only its time has changed.
func (s *Service) fireFile(ctx context.Context, t *hocket.Trigger, st *state, root *os.Root, name string, info fs.FileInfo, chain int) error {
	if info.Size() > maxSize {
		st.Files[name] = versionOf(info, "")
		_, err := s.fire(ctx, t, st, firing{key: fmt.Sprintf("%s%s of %d bytes", fileKey, name, info.Size()), wrong: errors.New("the file has more than 1 GB")})
		return err
	}
	content := t.Uses("content")
	digest, text, err := readFile(ctx, root, name, info, content)
	if err != nil {
		return err
	}
	if st.Files[name].Digest != digest {
		f := firing{key: fileKey + name + " " + digest, chain: chain, values: map[string]any{"path": name, "name": path.Base(name), "digest": digest}}
		switch {
		case content && info.Size() > maxContent:
			f.wrong = errors.New("the file has more than 1 MB, which is too much for ${content}; use ${path}")
		case content:
			f.values["content"] = contentOf(name, text)
		}
		if _, err := s.fire(ctx, t, st, f); err != nil {
			return err
		}
	}
	st.Files[name] = versionOf(info, digest)
	return nil
}

// contentOf returns what a file says: the value of JSON, otherwise the text.
func contentOf(name string, text []byte) any {
	if strings.EqualFold(path.Ext(name), ".json") {
		if v, err := workflow.ParseJSON(text); err == nil {
			return v
		}
	}
	return strings.ToValidUTF8(string(text), "�")
}

// findFiles returns the files that match a pattern. The error says what could not be read; if it is more than a
// directory, there are no files.
func findFiles(ctx context.Context, root *os.Root, patterns []glob.Pattern) (map[string]fs.FileInfo, error) {
	dir := &names{FS: root.FS(), root: root, left: maxNames}
	var unreadable error
	o := glob.Options{
		Enter: func(string) error { return ctx.Err() },
		Unreadable: func(_ string, err error) error {
			switch {
			case errors.Is(err, errTooMany):
				return err
			case !errors.Is(err, fs.ErrNotExist):
				unreadable = err
			}
			return nil
		},
	}
	files := map[string]fs.FileInfo{}
	for _, p := range patterns {
		found, err := p.Find(dir, ".", o)
		if err != nil {
			return nil, err
		}
		for _, name := range found {
			info, err := root.Lstat(filepath.FromSlash(name))
			if err != nil || !info.Mode().IsRegular() || !printable(name) {
				continue
			}
			if files[name] = info; len(files) > maxFiles {
				return nil, fmt.Errorf("more than %d files match; narrow the patterns", maxFiles)
			}
		}
	}
	return files, unreadable
}

// printable reports whether a name can be shown and recorded as it is.
func printable(name string) bool {
	return utf8.ValidString(name) && !strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) })
}

// names is a directory of which only so many names are read.
type names struct {
	fs.FS
	root *os.Root
	left int
}

var errTooMany = fmt.Errorf("the directories have more than %d names; narrow the patterns", maxNames)

func (n *names) ReadDir(name string) ([]fs.DirEntry, error) {
	dir, err := n.root.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	entries, err := dir.ReadDir(n.left + 1)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if n.left -= len(entries); n.left < 0 {
		return nil, errTooMany
	}
	return entries, err
}

// readFile returns the digest of a file and, with keep, the beginning of its content. The file must be the one that
// was found, and must not change meanwhile.
func readFile(ctx context.Context, root *os.Root, name string, info fs.FileInfo, keep bool) (digest string, text []byte, err error) {
	f, err := root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may be a pipe by now
	if err != nil {
		return "", nil, err
	}
	defer f.Close()
	if is, err := f.Stat(); err != nil || !is.Mode().IsRegular() || !sameFile(is, info) {
		return "", nil, errChanging
	}
	sum, buffer, left := sha256.New(), make([]byte, 256<<10), info.Size()
	for {
		n, err := f.Read(buffer)
		sum.Write(buffer[:n])
		if left -= int64(n); left < 0 {
			return "", nil, errChanging
		}
		if keep && len(text) <= maxContent {
			text = append(text, buffer[:n]...)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return "", nil, err
		}
	}
	if is, err := f.Stat(); err != nil || !sameFile(is, info) {
		return "", nil, errChanging
	}
	return hex.EncodeToString(sum.Sum(nil)), text, nil
}
