package workspace

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/internal/filelock"
	"github.com/hocket-dev/hocket/internal/process"
)

// Attempt is an attempt of a step that has its own workspace.
type Attempt struct {
	Run     string `json:"run"`
	Address string `json:"address"` // of the instance of the step
	Number  int    `json:"attempt"` // from 1
}

// ref returns the name under which the store keeps what the attempt left, below those of its run.
func (a Attempt) ref() string { return "attempt/" + nameOf(a.Address) + "/" + strconv.Itoa(a.Number) }

// interruptedRef returns the name under which the store keeps what the attempt left when it was interrupted for the nth
// time.
func (a Attempt) interruptedRef(n int) string {
	return "interrupted/" + nameOf(a.Address) + "/" + strconv.Itoa(a.Number) + "/" + strconv.Itoa(n)
}

// roundRef returns the name under which the store keeps what the attempt made of a merge, before it went on with the next
// branch for the nth time.
func (a Attempt) roundRef(n int) string {
	return "round/" + nameOf(a.Address) + "/" + strconv.Itoa(a.Number) + "/" + strconv.Itoa(n)
}

// Workspace is a directory that one attempt works in, until Close. It is a clone of the store that
// shares its objects. Its home, the directory above it, has what agents do not need:
//
//	workspace.json  the marker: what the workspace is for, and whether it was captured
//	removed.json    the same from when files of the tree are removed; another attempt writes its own
//	tree            the workspace
//	fresh           the same until it is complete
//	gone            the same while it is removed
//	seen            which files it had when its removal began
//	files, now      of a copy: what was in it when it was opened, and when that was, see [Store.OpenCopy]
//	index           of the files as they were checked out
//	commands        marks of the commands that ran in it, see [process.WithNotes]
//	left-N          what attempt N left and could not be captured, or was saved while the rest was removed
//	git.agent       a .git of an agent that was replaced, see [Workspace.disarm]
//	NAME.agent      what an agent has put in place of one of these files, see [Store.repairFiles]
//	NAME.mine       the same if it may be of a person
//	beside.agent    what an agent has created beside the workspace
//
// What agents have left there goes elsewhere before the next attempt, see [Workspace.moveSetAside].
//
// Everything else there is somebody's own, see [Info.Left]. Who adds a name also adds it to ownFiles or isOurs.
type Workspace struct {
	Attempt
	Dir  string // the project's directory in it: where the agent works
	Root string // the top of its work tree; Dir is the same or below
	Base string // the commit that was checked out
	// LeftIn is where the directory of an earlier attempt is if what it left could not be captured, and Reason says why.
	LeftIn string
	Reason error
	// Others are the programs that commands in it have started as another user, and that still ran when its files were collected.
	Others []string

	store  *Store
	home   string
	lock   *filelock.Lock
	left   bool     // its attempt was over before, so only a person has worked there since
	intact bool     // Close changes nothing in the directory
	fresh  bool     // nobody but the attempt has worked there
	beside []string // what was beside it before
	git    string   // what the repository had before a person worked there, if that has more now than commits on its branch
}

// marker is the content of workspace.json.
type marker struct {
	Attempt
	Base     string    `json:"base"`
	Captured string    `json:"captured,omitempty"` // the commit of the attempt, when it has ended; "": it has not
	Created  time.Time `json:"created"`
	// Files are those of the tree when it was captured, see [seen], and Git what its repository has since nobody but a person works there,
	// see [refs]. "" means that they are not known.
	Files string `json:"files,omitempty"`
	Git   string `json:"git,omitempty"`
	// Kept says why the directory was not removed when it should have been.
	Kept string `json:"kept,omitempty"`
	// Partial means that the tree is being created or removed, under another name. If there is a tree, a program has created it by its path.
	Partial bool `json:"partial,omitempty"`
}

const (
	markerName  = "workspace.json"
	removedName = "removed.json" // a marker that is partial
	newSuffix   = ".new"         // of a marker that is not complete
	indexName   = "index"
	notesName   = "commands"
)

// ErrInUse means that another attempt uses a workspace.
var ErrInUse = errors.New("the workspace is in use by another attempt")

// patience is for those who only look whether a workspace is in use.
const patience = 200 * time.Millisecond

func (s *Store) home(a Attempt) string {
	return filepath.Join(s.dir, "work", nameOf(a.Run), nameOf(a.Address))
}

// Checkout creates the directory of an attempt from a commit. Its path is the same for all attempts
// of an instance. Nothing is left in it of an earlier attempt, which is captured first if it was
// not. An attempt that was interrupted can be made again: what it left is kept as an [Interruption].
// The caller closes the workspace.
func (s *Store) Checkout(ctx context.Context, a Attempt, commit string) (*Workspace, error) {
	w, err := s.checkout(ctx, a, commit, func(w *Workspace) error { return w.putAside(ctx) })
	return w, s.reason(err)
}

// checkout is Checkout with what happens to the directory before.
func (s *Store) checkout(ctx context.Context, a Attempt, commit string, putAside func(*Workspace) error) (*Workspace, error) {
	if err := checkCommits(commit); err != nil {
		return nil, err
	}
	home := s.home(a)
	if err := s.reclaim(home); err != nil {
		return nil, err
	}
	lock, err := lockHome(home)
	if errors.Is(err, filelock.ErrLocked) {
		return nil, fmt.Errorf("%s: %w", home, ErrInUse)
	}
	if err != nil {
		return nil, err
	}
	root := treeIn(home)
	w := &Workspace{Attempt: a, Root: root, Base: commit, store: s, home: home, lock: lock}
	err = s.repairFiles(home)
	if err == nil {
		err = errors.Join(putAside(w), ctx.Err())
	}
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	if err := w.makeAgain(ctx); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	if err := w.create(ctx); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// reclaim makes the directories around a workspace ours again, which a step may have made read-only. If it has put a link there, nothing is
// done through that: it can lead to a directory of the user.
func (s *Store) reclaim(home string) error {
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, dir := range []string{filepath.Dir(home), home} {
		rel, err := filepath.Rel(s.dir, dir)
		if err == nil {
			err = makeOurs(root, rel)
		}
		if errors.Is(err, errNoDirectory) {
			return fmt.Errorf("a step has replaced the directory %s of Hocket: remove what is there now, and retry the run", dir)
		}
		if ignoreMissing(err) != nil {
			return err
		}
	}
	return nil
}

// lockHome creates and locks the directory of a workspace. Whoever removes the one before may remove the directory above it meanwhile.
func lockHome(home string) (lock *filelock.Lock, err error) {
	for range 10 {
		if err = os.MkdirAll(home, 0o700); err == nil {
			lock, err = filelock.Wait(home+".lock", patience)
		}
		if !errors.Is(err, os.ErrNotExist) {
			break
		}
	}
	return lock, err
}

// putAside captures what an earlier attempt left, and removes its directory. What cannot be
// captured is kept beside it.
func (w *Workspace) putAside(ctx context.Context) error {
	if _, err := w.store.endCommands(w.home); err != nil {
		return err
	}
	m, err := readMarker(w.home)
	if errors.Is(err, os.ErrNotExist) {
		err = &unmarkedError{w.home}
	}
	if err != nil { // without a tree, nothing is kept
		w.Reason = err
		return w.keep(w.Attempt, false)
	}
	if w.LeftIn, err = settle(w.home, m); err != nil {
		return err
	}
	if hasTree(w.home) {
		w.LeftIn, err = w.store.retire(ctx, w.home, m)
	}
	switch {
	case w.LeftIn != "":
		w.Reason = cmp.Or(err, errSaved)
		return nil
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	w.Reason = w.store.reason(err)
	return w.keep(m.Attempt, m.Git != "")
}

// keep renames the directory of an earlier attempt. left means that it was over, so what is linked to its repository is a person's.
func (w *Workspace) keep(a Attempt, left bool) (err error) {
	kept := false
	for _, dir := range []string{goneIn(w.home), w.Root} { // the first one only if its marker was lost
		if _, err := os.Lstat(dir); errors.Is(err, os.ErrNotExist) {
			continue
		}
		kept = true
		if w.LeftIn, err = leave(w.home, dir, a.Number); err != nil {
			return err
		}
		before := &Workspace{Attempt: a, Base: w.Base, store: w.store, home: w.home, left: left}
		if err := before.disarm(w.LeftIn); err != nil {
			return err
		}
	}
	if !kept {
		w.Reason = nil
	}
	return nil
}

// create creates the directory by hand: git clone does the same with more processes. It has another name until it is complete, so that
// nobody who saves files by the path of the one before disturbs that.
func (w *Workspace) create(ctx context.Context) error {
	s, fresh, index := w.store, filepath.Join(w.home, "fresh"), filepath.Join(w.home, indexName)
	if err := w.mark(marker{Partial: true}); err != nil { // first, so that a process that is killed leaves nothing that is not listed
		return err
	}
	rest := []string{index, notesIn(w.home), filepath.Join(w.home, removedName)}
	err := w.moveSetAside()
	if err != nil {
		return err
	}
	if w.beside, err = leftIn(w.home); err != nil {
		return err
	}
	err = removeAll(fresh)
	for _, file := range rest {
		err = errors.Join(err, ignoreMissing(os.Remove(file)))
	}
	if err != nil {
		return err
	}
	if err := w.createClone(filepath.Join(fresh, ".git")); err != nil {
		return err
	}
	agents := filepath.Join(fresh, ".git", "index")
	g := s.tree.with("GIT_WORK_TREE="+fresh, "GIT_INDEX_FILE="+agents).in(fresh)
	if err := g.do(ctx, "read-tree", "-m", "-u", w.Base); err != nil {
		if lacks := s.checkComplete(ctx, w.Base); lacks != nil {
			return lacks
		}
		return fmt.Errorf("workspace of commit %s: %w", w.Base, err)
	}
	if err := copyLater(agents, index); err != nil {
		return err
	}
	dir, err := s.inside(fresh)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { // git has no empty directories
		return err
	}
	if err := w.mark(marker{}); err != nil { // first, so that a tree whose marker is partial is never ours
		return err
	}
	if err := w.place(fresh); err != nil {
		return err
	}
	w.fresh = true
	w.Dir, err = s.inside(w.Root)
	return err
}

// place gives a complete directory its name. What somebody has created there since the one before was removed stays beside it.
func (w *Workspace) place(fresh string) error {
	wrong := os.Rename(fresh, w.Root)
	if wrong == nil {
		return nil
	}
	if _, err := os.Lstat(w.Root); err != nil {
		return wrong // nothing is there
	}
	if err := w.keep(w.Attempt, false); err != nil {
		return err
	}
	w.Reason = errSaved
	w.beside = append(w.beside, w.LeftIn) // it is not of the agent
	return os.Rename(fresh, w.Root)
}

// createClone creates the repository of the workspace, in which the base is checked out.
func (w *Workspace) createClone(gitDir string) error {
	if err := createRepository(gitDir, w.config(), "ref: refs/heads/"+branchName+"\n", w.store.objects()+"\n", w.store.git.repo.shallow); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(gitDir, "refs", "heads", branchName), []byte(w.Base+"\n"), 0o600)
}

// branchName is the branch that is checked out in a workspace.
const branchName = "hocket"

// config returns the configuration of the clone, for the agent: we never read it.
func (w *Workspace) config() string {
	s, format, name, email := w.store, "sha1", "", ""
	core := []string{"bare = false", "logAllRefUpdates = true", "useReplaceRefs = false"} // what a person sees is what was recorded
	for _, setting := range s.tree.settings {
		key, value, _ := strings.Cut(setting, "=")
		core = append(core, strings.TrimPrefix(key, "core.")+" = "+quoteValue(value))
	}
	if s.user != nil {
		format, name, email = s.user.format, s.user.name, s.user.email
	}
	if name == "" || email == "" {
		name, email = "hocket", "hocket@localhost"
	}
	return repositoryConfig(format, core...) + "[user]\n\tname = " + quoteValue(name) + "\n\temail = " + quoteValue(email) +
		"\n[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n" // no git in the background after the attempt
}

func quoteValue(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(text) + `"`
}

// mark writes the marker of the attempt.
func (w *Workspace) mark(m marker) error {
	m.Attempt, m.Base, m.Created = w.Attempt, w.Base, time.Now().UTC().Truncate(time.Second)
	return m.write(w.store, w.home)
}

// write writes the marker. It does not wait for the disk, which may be busy with thousands of new
// files: a marker that is damaged by a power failure means that the directory is kept.
func (m marker) write(s *Store, home string) error {
	at, err := s.openHome(home)
	if err != nil {
		return err
	}
	return errors.Join(m.writeIn(at), at.Close())
}

func (m marker) writeIn(home *os.Root) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if err := writeNew(home, markerName+newSuffix, data); err != nil {
		return err
	}
	return home.Rename(markerName+newSuffix, markerName)
}

func readMarker(home string) (m marker, err error) { return readMarkerIn(anywhere{}, home) }

func readMarkerIn(in folder, home string) (m marker, err error) {
	m, err = readMarkerFile(in, filepath.Join(home, markerName))
	if !errors.Is(err, os.ErrNotExist) {
		return m, err
	}
	if m, wrong := readMarkerFile(in, filepath.Join(home, removedName)); !errors.Is(wrong, os.ErrNotExist) {
		m.Partial = true
		return m, wrong
	}
	return m, err
}

func readMarkerFile(in folder, file string) (m marker, err error) {
	data, err := readRegular(in, file, maxSmall)
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal([]byte(data), &m); err != nil {
		return m, fmt.Errorf("%s: not the marker of a workspace: %w", file, err)
	}
	if m.Run == "" || !isCommit(m.Base) {
		return m, fmt.Errorf("%s: not the marker of a workspace", file)
	}
	return m, nil
}

// Noting returns a context for commands in the workspace. Before its files are collected, what these commands have started ends.
func (w *Workspace) Noting(ctx context.Context) context.Context {
	return process.WithNotes(ctx, notesIn(w.home))
}

func notesIn(home string) string { return filepath.Join(home, notesName) }

// Check returns an error if the directory cannot be the working directory of a program, because what
// has run in the workspace replaced it, or a part of its path, by a link.
func (w *Workspace) Check() error {
	dir, err := w.store.inside(w.Root)
	if err == nil {
		err = isDirectory(dir)
	}
	return err
}

// Close lets others use the directory. Its files stay as they are, and what made git run programs there is set aside.
func (w *Workspace) Close() error {
	if w.intact {
		return w.lock.Release()
	}
	err := w.store.reclaim(w.home)
	if err == nil {
		err = w.leave()
	}
	return errors.Join(err, w.lock.Release())
}

// leave makes a directory what it is between two attempts. Each step is taken, whatever becomes of the others.
func (w *Workspace) leave() error {
	home, err := w.store.openHome(w.home)
	if err != nil {
		return ignoreMissing(err)
	}
	defer home.Close()
	err = errors.Join(repairFiles(home), w.disarm(w.Root), w.setBesideAside(home))
	if m, wrong := readMarkerIn(home, "."); wrong == nil && !m.Partial { // otherwise there is nothing to note
		m.Git = cmp.Or(w.git, refsIn(w.Root).id)
		err = errors.Join(err, m.writeIn(home))
	}
	return err
}

// setBesideAside renames what the agent has created beside the workspace, whatever its name: before the next attempt, it goes elsewhere.
// What was there before, or appears later, is a person's. So may be everything when an attempt goes on in its directory.
func (w *Workspace) setBesideAside(home *os.Root) error {
	if !w.fresh {
		return nil
	}
	_, missing := home.Lstat(filepath.Base(w.Root))
	entries, err := fs.ReadDir(home.FS(), ".")
	agents := aside{at: home, as: "beside" + byAgent}
	for _, e := range entries {
		name := e.Name()
		needed := name == filepath.Base(w.Root) || ownFiles[name] || name == goneName && missing != nil // that may have the agent's work
		if needed || isSetAside(name) || slices.Contains(w.beside, filepath.Join(w.home, name)) {
			continue
		}
		_, wrong := agents.take(name)
		err = errors.Join(err, ignoreMissing(wrong))
	}
	return err
}

// removeAll removes a directory, also if agents left directories in it that cannot be written.
func removeAll(dir string) error {
	if err := os.RemoveAll(dir); err == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil //nolint:nilerr // what remains fails below
	})
	return os.RemoveAll(dir)
}
