package temporal

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/hocket-dev/hocket/internal/wholefile"
	commonpb "go.temporal.io/api/common/v1"
	sdkpb "go.temporal.io/api/sdk/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// Store keeps what is too large for a history, or must outlive it: long values, the events of
// finished executions, and what attempts print. All machines of a project must reach the same one.
// A key is a slash-separated path, as fs.ValidPath wants it; no key is a folder of another one.
type Store interface {
	// Put stores a value, completely or not at all.
	Put(ctx context.Context, key string, value []byte) error
	// Create stores a value unless the key exists; then the error wraps fs.ErrExist.
	Create(ctx context.Context, key string, value []byte) error
	// Get returns a value. If there is none, the error wraps fs.ErrNotExist.
	Get(ctx context.Context, key string) ([]byte, error)
	// List returns the keys in a folder and in its folders, in order.
	List(ctx context.Context, folder string) ([]string, error)
	// Delete deletes a key, or a folder with all its keys. There may be none.
	Delete(ctx context.Context, key string) error
}

// OpenStore opens the store at a URL: s3://BUCKET/PREFIX?endpoint=HOST:PORT&region=REGION, or the path of a folder.
func OpenStore(at string) (Store, error) {
	if strings.HasPrefix(at, "s3://") {
		return openBucket(at)
	}
	if at == "" || strings.Contains(at, "://") {
		return nil, fmt.Errorf("invalid store %q: expected the path of a folder, or s3://BUCKET/PREFIX", at)
	}
	dir, err := filepath.Abs(at)
	return Folder(dir), err
}

// checkKey refuses what would lead out of a store.
func checkKey(key string) error {
	if !fs.ValidPath(key) || key == "." || strings.ContainsAny(key, "\\\x00") {
		return fmt.Errorf("temporal: invalid key %q", key)
	}
	return nil
}

// Folder is a store in a directory, which may be shared by machines. Without the key that says which store it is, there is none: its file
// system may not be mounted now. Then nothing is found and nothing is written, except for that key.
type Folder string

func (f Folder) path(key string) string { return filepath.Join(string(f), filepath.FromSlash(key)) }

// idKey is the key of the [identity] of a store.
const idKey = "id"

// NoStoreError reports that there is no store at a place, or not now.
type NoStoreError struct{ Store Store }

func (e *NoStoreError) Error() string {
	return fmt.Sprintf("there is no store at %v: is its file system mounted?", e.Store)
}

// Hint returns what to do about it.
func (e *NoStoreError) Hint() string {
	return "mount it, or correct `store` under `temporal` in config.yml, which is the same place on all machines; a new store is created by `hocket migrate`"
}

// root opens the directory of the store to change a key. The caller closes it.
func (f Folder) root(key string) (*os.Root, error) {
	root, err := os.OpenRoot(string(f))
	if err == nil && key != idKey {
		if _, err = root.Stat(idKey); err != nil {
			root.Close()
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = &NoStoreError{f}
	}
	return root, err
}

// lacks returns the error of a name that does not exist.
func (f Folder) lacks(name string, err error) error {
	if name == idKey || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	root, gone := f.root(name)
	if gone != nil {
		return gone
	}
	root.Close()
	return err
}

// Put stores a value.
func (f Folder) Put(_ context.Context, key string, value []byte) error {
	return f.write(key, value, (*os.Root).Rename, wholefile.SyncDir)
}

// Create stores a value unless the key exists.
func (f Folder) Create(_ context.Context, key string, value []byte) error {
	return f.write(key, value, func(root *os.Root, from, to string) error {
		err := root.Link(from, to)
		return errors.Join(err, root.Remove(from))
	}, wholefile.SyncDir)
}

// write writes a value to a new file, and then gives it its name, which sync makes durable: a history may refer to it, or the server
// delete what it replaces. Others may have put links into a shared folder, so everything goes through an [os.Root], which follows none
// that lead out of it.
func (f Folder) write(key string, value []byte, name func(root *os.Root, from, to string) error, sync func(dir string) error) error {
	err := checkKey(key)
	if err == nil && key == idKey {
		err = f.create(sync)
	}
	if err != nil {
		return err
	}
	root, err := f.root(key)
	if err != nil {
		return err
	}
	defer root.Close()
	to := filepath.FromSlash(key)
	if err := root.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	from := filepath.Join(filepath.Dir(to), "."+rand.Text())
	file, err := root.OpenFile(from, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(value)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		_ = root.Remove(from) // the first error says more
		return err
	}
	return errors.Join(name(root, from, to), f.keep(filepath.Dir(to), sync)) // also a key that another process has just created
}

// keep makes the names in a folder durable, and those of the folder and its parents in the store, which another process may just have
// made. A directory in which nothing is new takes almost no time.
func (f Folder) keep(dir string, sync func(dir string) error) error {
	for ; ; dir = filepath.Dir(dir) {
		if err := sync(filepath.Join(string(f), dir)); err != nil && !errors.Is(err, fs.ErrNotExist) { // the run may be deleted now
			return err
		}
		if dir == "." {
			return nil
		}
	}
}

// create makes the directory of the store, for its identity.
func (f Folder) create(sync func(dir string) error) error {
	if _, err := os.Stat(string(f)); err == nil {
		return nil
	}
	if err := os.MkdirAll(string(f), 0o700); err != nil {
		return err
	}
	for dir := string(f); dir != filepath.Dir(dir); {
		dir = filepath.Dir(dir)
		_ = sync(dir) // some may not be readable, and were there before
	}
	return nil
}

// largest is the size of the largest value that is read.
const largest = 1 << 30

// Get returns a value.
func (f Folder) Get(_ context.Context, key string) ([]byte, error) {
	if err := checkKey(key); err != nil {
		return nil, err
	}
	file, err := f.open(key)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err == nil && info.Size() > largest {
		err = fmt.Errorf("temporal: %s in the store is too large", key)
	}
	if err != nil {
		return nil, err
	}
	value := make([]byte, info.Size()) // it was complete when it got its name
	_, err = io.ReadFull(file, value)
	return value, err
}

// open opens a regular file or a directory.
func (f Folder) open(name string) (*os.File, error) {
	root, err := os.OpenRoot(string(f))
	if err != nil {
		return nil, f.lacks(name, err)
	}
	defer root.Close()
	file, err := root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|syscall.O_NONBLOCK, 0) // opening a pipe would block
	if err != nil {
		return nil, f.lacks(name, err)
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		err = fmt.Errorf("temporal: %s in the store is not a file", name)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// tree is a folder in a store.
type tree struct {
	store Folder
	at    string
}

// Open opens a regular file or a directory.
func (t tree) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	file, err := t.store.open(path.Join(t.at, name))
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return file, nil
}

// dir returns the path of a folder, which need not exist, and what is in it; nil if it does not exist.
func (f Folder) dir(key string) (string, fs.FS, error) {
	in := tree{f, key}
	info, err := fs.Stat(in, ".")
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return f.path(key), nil, nil
	}
	return f.path(key), in, err
}

// List returns the keys in a folder.
func (f Folder) List(_ context.Context, folder string) ([]string, error) {
	var keys []string
	err := cmp.Or(checkKey(folder), fs.WalkDir(tree{f, "."}, folder, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || strings.HasPrefix(d.Name(), ".") {
			return err
		}
		keys = append(keys, name)
		return nil
	}))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	slices.Sort(keys)
	return keys, err
}

// Delete deletes a key or a folder.
func (f Folder) Delete(_ context.Context, key string) error {
	if err := checkKey(key); err != nil {
		return err
	}
	root, err := f.root(key)
	if err != nil {
		return err
	}
	defer root.Close()
	return root.RemoveAll(filepath.FromSlash(key))
}

// identity says which store this is and whose runs it has: archived runs are named by their ids alone, so the runs of two
// projects would mix.
type identity struct {
	ID        string `json:"id"`
	Namespace string `json:"namespace"`
	Queue     string `json:"queue"`
}

// identify returns the id of the store, which belongs to the project that was prepared with it first. The id is part of the name of the
// queue of the workers, because those that use another store could not read what a run needs, and would archive it where
// nobody looks. Only somebody who asks for a new store gets one: with others, one that is not mounted would seem to be new.
func (d *Driver) identify(ctx context.Context) (string, error) {
	s := d.values.store
	data, err := s.Get(ctx, idKey)
	if errors.Is(err, fs.ErrNotExist) {
		if !d.o.Create {
			return "", &NoStoreError{s}
		}
		data, err = d.newStore(ctx)
	}
	if errors.Is(err, errBusy) {
		return "", err
	}
	var is identity
	if err == nil {
		err = json.Unmarshal(data, &is)
	}
	if err != nil {
		return "", fmt.Errorf("the store %v cannot be used: %w; set `store` under `temporal` in config.yml to a place that this machine can read and write", s, err)
	}
	if is.Namespace != d.namespace() || is.Queue != d.project {
		return "", fmt.Errorf("the store %v belongs to the queue %q in the namespace %q: for the queue %q in the namespace %q, set another `store` under `temporal` in config.yml", s, is.Queue, is.Namespace, d.project, d.namespace())
	}
	return is.ID, nil
}

// newStore gives the store an identity, unless the project has runs: they use another one.
func (d *Driver) newStore(ctx context.Context) ([]byte, error) {
	runs, err := d.executions(ctx, "")
	if err != nil {
		return nil, err
	}
	if ids := slices.Sorted(maps.Keys(runs)); len(ids) > 0 {
		return nil, fmt.Errorf("it is new, but the queue %s has runs with another store: %d, such as %s; mount its file system, or if it is lost, delete them with `%s`",
			d.project, len(ids), ids[0], d.deletion(ids[0]))
	}
	mine, err := json.Marshal(identity{strings.ToLower(rand.Text()[:12]), d.namespace(), d.project})
	if err != nil {
		return nil, err
	}
	return first(ctx, d.values.store, idKey, mine)
}

// storeGone returns an error if the store is no longer there. A bucket is not asked: it does not disappear, and each request has a price.
func (d *Driver) storeGone(ctx context.Context) error {
	s := d.values.store
	if !near(s) {
		return nil
	}
	if _, err := s.Get(ctx, idKey); errors.Is(err, fs.ErrNotExist) {
		return &NoStoreError{s}
	}
	return nil
}

// first returns the value of a key. If there is none, it stores one, which is nil if that is not wanted.
func first(ctx context.Context, s Store, key string, value []byte) ([]byte, error) {
	was, err := s.Get(ctx, key)
	if value == nil || !errors.Is(err, fs.ErrNotExist) {
		return was, err
	}
	if err = s.Create(ctx, key, value); errors.Is(err, fs.ErrExist) { // somebody was faster
		return s.Get(ctx, key)
	}
	return value, err
}

// errStore refuses a run whose values are elsewhere.
var errStore = errors.New("the run uses another store: set `store` under `temporal` in config.yml to the same place on all machines, or another `queue` if it belongs to another project")

// has returns an error if a run uses a store with another id.
func (o offload) has(id string) error {
	if id != "" && id != o.id {
		return errStore
	}
	return nil
}

// offload keeps long payloads of histories in a store, for the SDK. They are named by their content, so
// the same value of a run is stored once.
type offload struct {
	store Store
	id    string // of the store
	data  converter.DataConverter
}

// Name and Type are in histories, so they never change.
func (offload) Name() string { return "hocket" }
func (offload) Type() string { return "hocket" }

// Store stores long payloads of a run.
func (o offload) Store(ctx converter.StorageDriverStoreContext, payloads []*commonpb.Payload) ([]converter.StorageDriverClaim, error) {
	in, ok := ctx.Target.(converter.StorageDriverWorkflowInfo)
	if !ok {
		return nil, fmt.Errorf("temporal: a long value of %T belongs to no run", ctx.Target)
	}
	claims := make([]converter.StorageDriverClaim, len(payloads))
	for i, p := range payloads {
		data, err := proto.Marshal(p)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(data)
		key := runKey(runOf(in.WorkflowID), "values", hex.EncodeToString(sum[:]))
		if err := o.store.Create(ctx.Context, key, data); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		claims[i].ClaimData = map[string]string{"key": key}
	}
	return claims, nil
}

// errUnread is an error of a value that this process cannot read.
var errUnread = errors.New("a value cannot be read")

// Retrieve loads long payloads.
func (o offload) Retrieve(ctx converter.StorageDriverRetrieveContext, claims []converter.StorageDriverClaim) ([]*commonpb.Payload, error) {
	payloads := make([]*commonpb.Payload, len(claims))
	for i, c := range claims {
		key := c.ClaimData["key"]
		data, err := o.store.Get(ctx.Context, key)
		if sum := sha256.Sum256(data); err == nil && path.Base(key) != hex.EncodeToString(sum[:]) {
			err = errors.New("it was changed in the store")
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w; `store` must be the same on all machines", err)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errUnread, err)
		}
		payloads[i] = &commonpb.Payload{}
		if err := proto.Unmarshal(data, payloads[i]); err != nil {
			return nil, fmt.Errorf("%w: %w", errUnread, err)
		}
	}
	return payloads, nil
}

// resolve replaces the references among payloads by what they refer to. The SDK does this for workers, but not
// for those who read a history.
func (o offload) resolve(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	resolved := slices.Clone(payloads)
	for i, p := range payloads {
		ref := &sdkpb.ExternalStorageReference{}
		if string(p.GetMetadata()["messageType"]) != string(ref.ProtoReflect().Descriptor().FullName()) {
			continue
		}
		if err := protojson.Unmarshal(p.GetData(), ref); err != nil {
			return nil, err
		}
		loaded, err := o.Retrieve(converter.StorageDriverRetrieveContext{Context: context.Background()}, []converter.StorageDriverClaim{{ClaimData: ref.GetClaimData()}})
		if err != nil {
			return nil, err
		}
		resolved[i] = loaded[0]
	}
	return resolved, nil
}

// runKey returns a key of a run. Its parts may be any text.
func runKey(run string, parts ...string) string {
	key := "runs/" + part(run)
	for _, p := range parts {
		key += "/" + part(p)
	}
	return key
}

// part makes an element of a key from any text: it leads nowhere else, is not hidden, and is a valid name of a file.
func part(text string) string {
	name := url.QueryEscape(text)
	if name == "" || name[0] == '.' {
		name = "%2E" + strings.TrimPrefix(name, ".")
	}
	if len(name) > 200 {
		sum := sha256.Sum256([]byte(text))
		name = name[:100] + "%" + hex.EncodeToString(sum[:])
	}
	return name
}
