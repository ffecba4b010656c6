//go:build !linux

package workspace

import (
	"errors"
	"os"
)

func exchange(*os.Root, string, string) error { return errors.ErrUnsupported }

func renameNew(*os.Root, string, string) error { return errors.ErrUnsupported }
