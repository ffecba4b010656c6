package agent

import "errors"

// Permitting is an executor that keeps to permissions in its own way.
type Permitting interface {
	Executor
	// Permits says why it cannot keep to the permissions of a definition; nil: it
	// can.
	Permits(written map[string]any) error
}

// CheckPermissions says what is wrong with the permissions of a definition, for what
// does its work.
func (s *Set) CheckPermissions(d *Definition) []Problem {
	if len(d.Permissions) == 0 {
		return nil
	}
	switch x := s.executors[d.Agent].(type) {
	case Permitting:
		if err := x.Permits(d.Permissions); err != nil {
			var known *Error
			if errors.As(err, &known) {
				return []Problem{{Summary: known.Message}}
			}
			return []Problem{{Summary: err.Error()}}
		}
	case Caller:
		_, problems := ReadPermissions(d.Permissions)
		return problems
	}
	return nil
}
