package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/hocket-dev/hocket/internal/wholefile"
)

// Store has the workspaces of one project, in a directory of its own:
//
//	store.git      all commits; its alternates are the objects of the user's repository. See [repository] for how it is used
//	work/RUN/STEP  one workspace, see [Workspace]
//	aside/RUN/STEP what its attempts have left beside it, before another one began
//	other-ports    which ports attempts had, see [Store.NotePorts]
//	setup          results of setup commands
//	land           landings
//	temp           what a call needs while it lasts
//
// It is safe for concurrent use, also by several processes.
type Store struct {
	dir  string
	git  git    // for the store's objects
	refs git    // for its refs
	tree git    // for its objects, with the settings that concern files
	user *user  // nil: the project is not in a git repository
	root string // the directory that is captured: the top of the user's work tree
	sub  string // the project's directory below root, "" if it is the same

	// Locks is a directory for locks, the same for all stores of the user: several projects can be in one checkout, which only one
	// landing at a time may change, and no capture may read meanwhile. "" means a directory of the store.
	Locks string

	lastPoint atomic.Pointer[point] // that was collected
}

// user is the user's repository. Capture, Release and Land write to it.
type user struct {
	git                                     // in the root of its work tree, with its own configuration
	gitDir, index, excludes, shallow string // absolute paths
	globalExcludes                   string // "" if there are none
	format                           string // of its object names
	name, email                      string // of the person, "" if not configured
	partial                          bool   // objects may be missing
}

// fileSettings are the settings of a repository that decide how content becomes a file and back.
var fileSettings = []string{
	"core.autocrlf", "core.eol", "core.filemode", "core.symlinks", "core.ignorecase", "core.precomposeunicode", "core.longpaths",
	"core.protecthfs", "core.protectntfs",
}

// Open opens the store of a project in its state directory, and creates it if necessary. The
// directory belongs to this package.
func Open(ctx context.Context, stateDir, projectDir string) (*Store, error) {
	s, err := open(ctx, stateDir, projectDir)
	return s, reason(err, stateDir)
}

func open(ctx context.Context, stateDir, projectDir string) (*Store, error) {
	if err := CheckGit(ctx); err != nil {
		return nil, err
	}
	project, err := realPath(projectDir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(stateDir, 0o700); err != nil {
		return nil, err
	}
	dir, err := realPath(stateDir)
	if err != nil {
		return nil, err
	}
	s := &Store{dir: dir, root: project}
	if err := s.discover(ctx, project); err != nil {
		return nil, err
	}
	for _, name := range []string{"work", "setup", "land", "temp"} {
		if err := errors.Join(os.MkdirAll(filepath.Join(dir, name), 0o700), isDirectory(filepath.Join(dir, name))); err != nil {
			return nil, err
		}
	}
	return s, s.create()
}

func realPath(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err == nil && strings.ContainsAny(dir, "\n\r") {
		err = fmt.Errorf("directory %q: own workspaces do not support line ends in its path", dir)
	}
	return dir, err
}

// discover finds the repository in which the project is.
func (s *Store) discover(ctx context.Context, project string) error {
	g := git{dir: project, users: true}
	text, err := g.out(ctx, "rev-parse", "--path-format=absolute", "--is-bare-repository", "--is-inside-work-tree",
		"--show-object-format", "--absolute-git-dir", "--git-path", "index", "--git-path", "objects",
		"--git-path", "info/exclude", "--git-path", "shallow", "--show-toplevel", "--show-prefix")
	switch stderr := stderrOf(err); {
	case strings.Contains(stderr, "not a git repository"):
		return s.settle(nil, nil)
	case strings.Contains(stderr, "safe.bareRepository"), strings.Contains(stderr, "must be run in a work tree"):
		return notACheckout(project)
	case strings.Contains(stderr, "dubious ownership"):
		return fmt.Errorf("the git repository of %s belongs to another user: if you trust it, run: git config --global --add safe.directory %s", project, project)
	case err != nil:
		return err
	}
	lines := strings.Split(text, "\n")
	if len(lines) != 10 {
		return fmt.Errorf("git rev-parse: expected 10 lines, found %d", len(lines))
	}
	if lines[0] == "true" || lines[1] != "true" {
		return notACheckout(project)
	}
	g.objects = lines[5]
	u := &user{git: g, format: lines[2], gitDir: lines[3], index: lines[4], excludes: lines[6], shallow: lines[7]}
	top, prefix := lines[8], lines[9]
	// A directory that is ignored could not be captured, unless git knows files in it. For the second question, git reads the index and, if
	// that consists of two files, marks the other one as used.
	if prefix != "" && g.do(ctx, "check-ignore", "-q", "--no-index", ".") == nil && g.do(ctx, "check-ignore", "-q", ".") == nil {
		return s.settle(nil, nil)
	}
	if err := belongsTo(filepath.FromSlash(top), u.gitDir); err != nil {
		return err
	}
	s.root, s.sub = filepath.FromSlash(top), strings.TrimSuffix(filepath.FromSlash(prefix), string(filepath.Separator))
	u.dir = s.root
	config, err := u.out(ctx, "config", "--null", "--list")
	if err != nil {
		return err
	}
	return s.settle(u, records(config))
}

func notACheckout(project string) error {
	return fmt.Errorf("%s is a bare repository or inside a .git directory: own workspaces need a checkout", project)
}

// belongsTo returns an error if a work tree is not that of a repository by its own .git. The configuration of a
// repository can name any directory as its work tree, for example all files of the user.
func belongsTo(top, gitDir string) error {
	own, err := filepath.EvalSymlinks(filepath.Join(top, ".git"))
	if err == nil && isDirectory(own) != nil {
		var text string
		if text, err = readSmall(own); err == nil {
			text = strings.TrimRight(strings.TrimPrefix(text, "gitdir: "), "\r\n")
			if own = filepath.FromSlash(text); !filepath.IsAbs(own) {
				own = filepath.Join(top, own)
			}
		}
	}
	if err == nil {
		var a, b os.FileInfo
		if a, err = os.Stat(own); err == nil {
			if b, err = os.Stat(gitDir); err == nil && os.SameFile(a, b) {
				return nil
			}
		}
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return fmt.Errorf("the git repository %s has the work tree %s (core.worktree), whose .git does not lead to it: own workspaces need a repository and a checkout that belong together", gitDir, top)
}

// settle takes over what concerns files from the user's configuration.
func (s *Store) settle(u *user, config []string) error {
	s.user = u
	if err := s.ownRepositories(); err != nil || u == nil {
		return err
	}
	if home, err := os.UserConfigDir(); err == nil {
		u.globalExcludes = filepath.Join(home, "git", "ignore")
	}
	values := map[string]string{}
	for _, entry := range config {
		key, value, ok := strings.Cut(entry, "\n")
		if !ok {
			value = "true" // a key without a value
		}
		values[key] = value
	}
	for _, key := range fileSettings {
		if v, ok := values[key]; ok {
			s.tree.settings = append(s.tree.settings, key+"="+v)
		}
	}
	u.partial = isPartial(values)
	u.name, u.email = values["user.name"], values["user.email"]
	if file, ok := values["core.excludesfile"]; ok {
		if rest, found := strings.CutPrefix(file, "~/"); found {
			home, err := os.UserHomeDir()
			if err != nil {
				return err
			}
			file = filepath.Join(home, rest)
		} else if !filepath.IsAbs(file) {
			file = filepath.Join(s.root, file)
		}
		u.globalExcludes = file
	}
	return nil
}

// ownRepositories sets how git works with the store.
func (s *Store) ownRepositories() error {
	repo := repository{parent: filepath.Join(s.dir, "temp"), format: "sha1"}
	if s.user != nil {
		repo.format = s.user.format
		var err error
		if repo.shallow, err = os.ReadFile(s.user.shallow); ignoreMissing(err) != nil {
			return err
		}
	}
	withRefs := repo
	withRefs.store, withRefs.loose = filepath.Join(s.dir, "store.git"), &atomic.Int64{}
	s.git = git{dir: s.dir, repo: &repo, objects: s.objects(), env: []string{"GIT_OBJECT_DIRECTORY=" + s.objects()}} // whoever calls may be in a directory that is removed
	s.tree, s.refs = s.git, s.git
	s.refs.repo = &withRefs
	s.refs.settings = []string{"core.packedRefsTimeout=10000", "core.filesRefLockTimeout=10000"} // for others that pack refs, see [Store.packRefs]
	return nil
}

// objects returns where the objects of the store are.
func (s *Store) objects() string { return filepath.Join(s.dir, "store.git", "objects") }

// create creates the store's repository by hand, since templates bring hooks along, and connects
// it with the user's: that may have moved.
func (s *Store) create() error {
	dir, alternates := filepath.Join(s.dir, "store.git"), ""
	format, shallow := s.git.repo.format, s.git.repo.shallow
	if s.user != nil {
		alternates = s.user.objects + "\n"
	}
	for _, name := range []string{"", "objects", "objects/info", "objects/pack"} { // or we would write elsewhere
		if err := isDirectory(filepath.Join(dir, filepath.FromSlash(name))); ignoreMissing(err) != nil {
			return &DamagedError{dir, err}
		}
	}
	file := filepath.Join(dir, "config")
	config, err := readOwn(file)
	switch want := bareConfig(format); {
	case err == nil && config == want:
	case err == nil && (config == bareConfig("sha1") || config == bareConfig("sha256")):
		return fmt.Errorf("%s was created for another format of object names: the repository of the project was replaced; move %s elsewhere to start anew", dir, s.dir)
	case err == nil, errors.Is(err, os.ErrNotExist) && isDirectory(filepath.Join(dir, "objects")) == nil: // it was edited or removed
		if err := wholefile.Write(file, []byte(want), 0o600); err != nil {
			return err
		}
	case errors.Is(err, os.ErrNotExist):
		// In another place first: several processes may do this at once.
		temp, remove, err := s.temp()
		if err != nil {
			return err
		}
		defer remove()
		if err := createRepository(filepath.Join(temp, "store.git"), want, noHead, alternates, shallow); err != nil {
			return err
		}
		if err := os.Rename(filepath.Join(temp, "store.git"), dir); err != nil {
			if _, exists := os.Stat(filepath.Join(dir, "config")); exists != nil {
				return err
			}
		}
	case err != nil:
		return err
	}
	return errors.Join(
		replace(filepath.Join(dir, "objects", "info", "alternates"), []byte(alternates)),
		replace(filepath.Join(dir, "shallow"), shallow),
	)
}

// createRepository creates a repository without templates.
func createRepository(dir, config, head, alternates string, shallow []byte) error {
	for _, name := range []string{"objects/info", "objects/pack", "refs/heads", "info"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.FromSlash(name)), 0o700); err != nil {
			return err
		}
	}
	files := []struct{ name, text string }{
		{"HEAD", head}, {"objects/info/alternates", alternates}, {"shallow", string(shallow)}, {"config", config},
	}
	for _, f := range files {
		if f.text == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(f.name)), []byte(f.text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// repositoryConfig returns the configuration of a repository, with more lines for [core].
func repositoryConfig(format string, core ...string) string {
	version, extension := "0", ""
	if format != "sha1" {
		version, extension = "1", "[extensions]\n\tobjectFormat = "+format+"\n"
	}
	return "[core]\n\trepositoryFormatVersion = " + version + "\n\t" + strings.Join(core, "\n\t") + "\n" + extension
}

// bareConfig returns the configuration of a store's repository.
func bareConfig(format string) string { return repositoryConfig(format, "bare = true") }

// readOwn reads a small file of ours. If somebody has put something else there, it is as if it was edited.
func readOwn(file string) (string, error) {
	info, err := os.Lstat(file)
	switch {
	case err != nil:
		return "", err
	case info.IsDir(): // which cannot be replaced by a file
		return "", &DamagedError{file, errors.New("it is a directory")}
	case !info.Mode().IsRegular():
		return "", nil
	}
	return readSmall(file)
}

// replace writes a file if its content differs. An empty file is removed.
func replace(file string, data []byte) error {
	old, err := readOwn(file)
	if errors.As(err, new(*DamagedError)) {
		return err
	}
	if len(data) == 0 {
		if err = os.Remove(file); errors.Is(err, os.ErrNotExist) {
			err = nil
		}
		return err
	}
	if err == nil && old == string(data) {
		return nil
	}
	return wholefile.Write(file, data, 0o600)
}

// refsOf returns where the store keeps the commits of a run, with a slash at the end.
func refsOf(run string) string { return "refs/hocket/" + nameOf(run) + "/" }

// pin keeps a commit of a run in the store, under a name.
func (s *Store) pin(ctx context.Context, run, name, commit string) error {
	return s.refs.do(ctx, "update-ref", refsOf(run)+name, commit)
}

// nameOf turns a run or an address into a name for files and refs that is readable, and
// different for different texts, also where names do not distinguish upper and lower case.
func nameOf(text string) string {
	const maxName = 60
	plain := text != "" && len(text) <= maxName
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_':
			return r
		case r >= 'A' && r <= 'Z':
			plain = false
			return r
		}
		plain = false
		return '-'
	}, text)
	name = strings.Trim(name, "-")
	if plain && name == text {
		return name
	}
	sum := sha256.Sum256([]byte(text))
	return strings.TrimLeft(name[:min(len(name), maxName)]+"-"+hex.EncodeToString(sum[:5]), "-")
}

// temp creates a directory for the time of a call.
func (s *Store) temp() (dir string, remove func(), err error) {
	return tempIn(filepath.Join(s.dir, "temp"))
}

func tempIn(parent string) (dir string, remove func(), err error) {
	if err := isDirectory(parent); err != nil {
		return "", nil, err
	}
	dir, err = os.MkdirTemp(parent, "")
	return dir, func() { _ = removeAll(dir) }, err
}
