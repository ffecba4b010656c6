package temporal

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// bucket is a store in a bucket of S3, or of a server that works like it.
type bucket struct {
	client       *minio.Client
	name, prefix string // the prefix is "" or ends with a slash
}

// openBucket opens s3://BUCKET/PREFIX. The credentials are those of the environment, of the AWS files, or of the machine.
// An endpoint with http:// is not encrypted.
func openBucket(at string) (Store, error) {
	u, err := url.Parse(at)
	if err != nil || u.Host == "" || u.User != nil {
		return nil, errors.New("invalid store: expected s3://BUCKET/PREFIX, with credentials in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or in ~/.aws/credentials")
	}
	prefix := strings.Trim(path.Clean("/"+u.Path), "/")
	if prefix != "" {
		prefix += "/"
	}
	q := u.Query()
	endpoint, plain := strings.CutPrefix(cmp.Or(q.Get("endpoint"), "s3.amazonaws.com"), "http://")
	c, err := minio.New(strings.TrimPrefix(endpoint, "https://"), &minio.Options{
		Secure: !plain, Region: q.Get("region"),
		Creds: credentials.NewChainCredentials([]credentials.Provider{&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}, &credentials.IAM{Client: http.DefaultClient}}),
	})
	if err != nil {
		return nil, fmt.Errorf("store %s: %w", at, err)
	}
	return &bucket{c, u.Host, prefix}, nil
}

// errBusy is the error of a server that could answer later.
var errBusy = errors.New("the server of the store cannot answer now; try again later")

func (b *bucket) String() string { return "s3://" + b.name + "/" + b.prefix }

// wrong returns an error as package fs names it.
func (b *bucket) wrong(key string, err error) error {
	if err == nil {
		return nil
	}
	switch r := minio.ToErrorResponse(err); {
	case r.Code == "NoSuchKey":
		err = fs.ErrNotExist
	case r.StatusCode == http.StatusPreconditionFailed:
		err = fs.ErrExist
	case r.StatusCode >= 500 || r.StatusCode == http.StatusTooManyRequests:
		err = fmt.Errorf("%w: %w", errBusy, err)
	}
	return fmt.Errorf("store s3://%s/%s%s: %w", b.name, b.prefix, key, err)
}

func (b *bucket) put(ctx context.Context, key string, value []byte, o minio.PutObjectOptions) error {
	if err := checkKey(key); err != nil {
		return err
	}
	o.DisableMultipart = true // one request, so that it is stored completely or not at all
	_, err := b.client.PutObject(ctx, b.name, b.prefix+key, bytes.NewReader(value), int64(len(value)), o)
	return b.wrong(key, err)
}

// Put stores a value.
func (b *bucket) Put(ctx context.Context, key string, value []byte) error {
	return b.put(ctx, key, value, minio.PutObjectOptions{})
}

// Create stores a value unless the key exists, which the server decides: a server without If-None-Match cannot be used.
func (b *bucket) Create(ctx context.Context, key string, value []byte) error {
	o := minio.PutObjectOptions{}
	o.SetMatchETagExcept("*")
	err := b.put(ctx, key, value, o)
	if minio.ToErrorResponse(errors.Unwrap(err)).StatusCode == http.StatusConflict { // somebody else creates it now
		err = b.put(ctx, key, value, o)
	}
	return err
}

// Get returns a value.
func (b *bucket) Get(ctx context.Context, key string) ([]byte, error) {
	if err := checkKey(key); err != nil {
		return nil, err
	}
	object, err := b.client.GetObject(ctx, b.name, b.prefix+key, minio.GetObjectOptions{})
	if err != nil {
		return nil, b.wrong(key, err)
	}
	defer object.Close()
	value, err := io.ReadAll(object)
	return value, b.wrong(key, err)
}

// List returns the keys in a folder.
func (b *bucket) List(ctx context.Context, folder string) (keys []string, err error) {
	if err := checkKey(folder); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // otherwise the client goes on
	for o := range b.client.ListObjects(ctx, b.name, minio.ListObjectsOptions{Prefix: b.prefix + folder + "/", Recursive: true}) {
		if o.Err != nil {
			return nil, b.wrong(folder, o.Err)
		}
		keys = append(keys, strings.TrimPrefix(o.Key, b.prefix))
	}
	return keys, ctx.Err()
}

// Delete deletes a key or a folder.
func (b *bucket) Delete(ctx context.Context, key string) error {
	keys, err := b.List(ctx, key)
	for _, k := range append(keys, key) {
		if err == nil {
			err = b.wrong(k, b.client.RemoveObject(ctx, b.name, b.prefix+k, minio.RemoveObjectOptions{}))
		}
	}
	return err
}
