package handoff

import "time"

// SetNow replaces the clock.
func (s *Sessions) SetNow(now func() time.Time) { s.now = now }
