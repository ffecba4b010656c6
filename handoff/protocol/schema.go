package protocol

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"github.com/hocket-dev/hocket/handoff/protocol/internal/xsd"
	"github.com/hocket-dev/hocket/schema"
)

// Namespace is the namespace of version 1. It is optional in a request.
const Namespace = "http://instructor-workflow.org/agent-handoff/v1"

// versions are the versions with built-in schemas, the newest last.
var versions = []string{"1.0", "1.1"}

// Schemas finds the schemas of a project by their file names, such as agent-handoff-v1.0.xsd. It
// returns fs.ErrNotExist if the project has no such schema. A nil Schemas has none.
type Schemas func(file string) ([]byte, error)

// schemaFile returns the name of the schema for a version.
func schemaFile(version string, namespaced bool) string {
	name := "agent-handoff-v" + version
	if namespaced {
		name += "-ns"
	}
	return name + ".xsd"
}

// builtIn maps file names to the compiled schemas of this package.
var builtIn sync.Map

// find returns the schema in a file of the project, or the built-in one. ok is false if
// there is neither.
func (s Schemas) find(file string) (found *xsd.Schema, ok bool, err error) {
	if s != nil {
		text, err := s(file)
		switch {
		case err == nil:
			found, err := xsd.Compile(file, text, func(location string) ([]byte, error) {
				if text, err := s(location); !errors.Is(err, fs.ErrNotExist) {
					return text, err
				}
				return schema.Handoff(location)
			})
			return found, true, err
		case !errors.Is(err, fs.ErrNotExist):
			return nil, false, err
		}
	}
	if known, ok := builtIn.Load(file); ok {
		return known.(*xsd.Schema), true, nil
	}
	text, err := schema.Handoff(file)
	if err != nil {
		return nil, false, nil
	}
	found, err = xsd.Compile(file, text, schema.Handoff)
	if err != nil {
		return nil, false, fmt.Errorf("built-in schema: %w", err)
	}
	builtIn.Store(file, found)
	return found, true, nil
}

func knownVersions() string { return strings.Join(versions, ", ") }
