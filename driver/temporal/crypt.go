package temporal

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"
)

// KeyVariable is the environment variable with the key that encrypts what runs keep on the server and in the store: 32
// bytes in base64. All machines of a project need the same one.
const KeyVariable = "HOCKET_TEMPORAL_KEY"

// ParseKey reads such a key; nil if it is "".
func ParseKey(text string) ([]byte, error) {
	if text == "" {
		return nil, nil
	}
	key, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(key) != 32 {
		return nil, fmt.Errorf("invalid %s: expected 32 bytes in base64, such as `openssl rand -base64 32` prints", KeyVariable)
	}
	return key, nil
}

// sealed is the encoding of encrypted payloads. It is in histories, so it never changes.
const sealed = "binary/hocket-sealed"

// seal encrypts with AES-GCM. Without a key it changes nothing.
type seal struct{ aead cipher.AEAD }

func newSeal(key []byte) (seal, error) {
	if len(key) == 0 {
		return seal{}, nil
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return seal{}, err
	}
	a, err := cipher.NewGCMWithRandomNonce(block)
	return seal{a}, err
}

// open decrypts a value of a place. One that was moved to another place cannot be read there.
func (s seal) open(text []byte, where string) ([]byte, error) {
	if s.aead == nil {
		return nil, errors.New("it is encrypted, and " + KeyVariable + " is not set here")
	}
	plain, err := s.aead.Open(nil, nil, text, []byte(where))
	if err != nil {
		return nil, errors.New("it cannot be decrypted: the key in " + KeyVariable + " is not the one that it was written with")
	}
	return plain, nil
}

// Encode encrypts payloads, for the SDK.
func (s seal) Encode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	if s.aead == nil {
		return payloads, nil
	}
	done := make([]*commonpb.Payload, len(payloads))
	for i, p := range payloads {
		text, err := proto.Marshal(p)
		if err != nil {
			return nil, err
		}
		done[i] = &commonpb.Payload{Metadata: map[string][]byte{converter.MetadataEncoding: []byte(sealed)}, Data: s.aead.Seal(nil, nil, text, []byte(sealed))}
	}
	return done, nil
}

// errPlain refuses what was written without the key, perhaps by somebody who does not have it.
var errPlain = errors.New("it is not encrypted, although " + KeyVariable + " is set here")

// Decode decrypts payloads.
func (s seal) Decode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	done := make([]*commonpb.Payload, len(payloads))
	for i, p := range payloads {
		done[i] = p
		if string(p.GetMetadata()[converter.MetadataEncoding]) != sealed {
			if s.aead != nil {
				return nil, errPlain
			}
			continue
		}
		text, err := s.open(p.GetData(), sealed)
		if err != nil {
			return nil, err
		}
		done[i] = &commonpb.Payload{}
		if err := proto.Unmarshal(text, done[i]); err != nil {
			return nil, err
		}
	}
	return done, nil
}

// careful is the converter of the SDK. A worker that cannot read an input, because it lacks the key or is of an older
// release, leaves it to others: for a workflow, which the SDK would end, the task fails; for an activity, see [failures].
type careful struct{ converter.DataConverter }

// FromPayloads decodes values.
func (c careful) FromPayloads(p *commonpb.Payloads, to ...any) error {
	err := c.DataConverter.FromPayloads(p, to...)
	if err == nil {
		return nil
	}
	err = fmt.Errorf("%w: %w", errUnread, err)
	if len(to) == 1 {
		if _, ok := to[0].(**begin); ok { // a pointer to the parameter of runFlow
			return broken(err)
		}
	}
	return err
}

// sealedStore encrypts the values of a store. Keys, which name runs and steps, stay readable.
type sealedStore struct {
	Store
	seal seal
}

func (s sealedStore) String() string { return fmt.Sprint(s.Store) }

// mark is in front of an encrypted value. No other value begins with it.
const mark = "\x00hocket-sealed\n"

func (s sealedStore) sealed(key string, value []byte) []byte {
	return s.seal.aead.Seal([]byte(mark), nil, value, []byte(key))
}

// Put stores a value.
func (s sealedStore) Put(ctx context.Context, key string, value []byte) error {
	return s.Store.Put(ctx, key, s.sealed(key, value))
}

// Create stores a value unless the key exists.
func (s sealedStore) Create(ctx context.Context, key string, value []byte) error {
	return s.Store.Create(ctx, key, s.sealed(key, value))
}

// Get returns a value.
func (s sealedStore) Get(ctx context.Context, key string) ([]byte, error) {
	value, err := s.Store.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	if value, err = s.opened(key, value); err != nil {
		err = fmt.Errorf("temporal: %s in the store: %w", key, err)
	}
	return value, err
}

// opened decrypts what the store has for a key.
func (s sealedStore) opened(key string, value []byte) ([]byte, error) {
	text, ok := bytes.CutPrefix(value, []byte(mark))
	switch {
	case ok:
		return s.seal.open(text, key)
	case s.seal.aead != nil:
		return nil, errPlain
	}
	return value, nil
}

// sealedKey is the key of a value by which all machines know the key of the project.
const sealedKey = "sealed"

// check refuses a machine that lacks the key of a project or has another one: it could read nothing.
func (s seal) check(ctx context.Context, store Store) error {
	value, err := store.Get(ctx, sealedKey)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		_, err = sealedStore{store, s}.opened(sealedKey, value)
	}
	if err != nil {
		err = fmt.Errorf("the store %v cannot be used: %w; set %s to the same key as on the other machines", store, err, KeyVariable)
	}
	return err
}

// seals leaves that value. Only those do that record runs or work for them: whoever just looks with a key must not
// lock a project out that has none.
func (d *Driver) seals(ctx context.Context) error {
	if len(d.o.Key) == 0 {
		return nil
	}
	_, err := first(ctx, d.o.Store, sealedKey, []byte("hocket"))
	return err
}
