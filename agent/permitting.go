package agent

// Permitting is an executor that keeps to permissions in its own way.
type Permitting interface {
	Executor
	// Permits says which of the permissions of a definition it cannot keep to, and
	// what to write instead; none: it keeps to all of them.
	Permits(written map[string]any) []Problem
}

// CheckPermissions says what is wrong with the permissions of a definition, for what
// does its work.
func (s *Set) CheckPermissions(d *Definition) []Problem {
	if len(d.Permissions) == 0 {
		return nil
	}
	switch x := s.executors[d.Agent].(type) {
	case Permitting:
		return x.Permits(d.Permissions)
	case Caller:
		_, problems := ReadPermissions(d.Permissions)
		return problems
	}
	return nil
}
