package temporal

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

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

// Folder is a store in a directory, which may be shared by machines.
type Folder string

func (f Folder) path(key string) string { return filepath.Join(string(f), filepath.FromSlash(key)) }

// Put stores a value.
func (f Folder) Put(_ context.Context, key string, value []byte) error {
	return f.write(key, value, os.Rename)
}

// Create stores a value unless the key exists.
func (f Folder) Create(_ context.Context, key string, value []byte) error {
	return f.write(key, value, func(from, to string) error {
		err := os.Link(from, to)
		return errors.Join(err, os.Remove(from))
	})
}

// write writes a value to a new file, and then gives it its name.
func (f Folder) write(key string, value []byte, name func(from, to string) error) error {
	to := f.path(key)
	if err := checkKey(key); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	from := filepath.Join(filepath.Dir(to), "."+rand.Text())
	file, err := os.OpenFile(from, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(value)
	err = errors.Join(err, file.Sync(), file.Close())
	if err == nil {
		err = name(from, to)
	} else {
		_ = os.Remove(from) // the first error says more
	}
	return err
}

// Get returns a value.
func (f Folder) Get(_ context.Context, key string) ([]byte, error) {
	if err := checkKey(key); err != nil {
		return nil, err
	}
	return os.ReadFile(f.path(key))
}

// List returns the keys in a folder.
func (f Folder) List(_ context.Context, folder string) ([]string, error) {
	var keys []string
	err := cmp.Or(checkKey(folder), filepath.WalkDir(f.path(folder), func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), ".") {
			return err
		}
		rel, err := filepath.Rel(string(f), name)
		keys = append(keys, filepath.ToSlash(rel))
		return err
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
	return os.RemoveAll(f.path(key))
}

// offload keeps long payloads of histories in a store, for the SDK. They are named by their content, so
// the same value of a run is stored once.
type offload struct {
	store Store
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

// Retrieve loads long payloads.
func (o offload) Retrieve(ctx converter.StorageDriverRetrieveContext, claims []converter.StorageDriverClaim) ([]*commonpb.Payload, error) {
	payloads := make([]*commonpb.Payload, len(claims))
	for i, c := range claims {
		data, err := o.store.Get(ctx.Context, c.ClaimData["key"])
		if err != nil {
			return nil, fmt.Errorf("a long value cannot be read: %w", err)
		}
		payloads[i] = &commonpb.Payload{}
		if err := proto.Unmarshal(data, payloads[i]); err != nil {
			return nil, fmt.Errorf("a long value cannot be read: %w", err)
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
