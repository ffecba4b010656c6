//go:build !linux && !darwin

package workspace

import (
	"errors"
	"os"
)

func systemExchange(*os.Root, string, string) error { return errors.ErrUnsupported }

func systemRenameNew(*os.Root, string, string) error { return errors.ErrUnsupported }
