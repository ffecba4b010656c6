package agent

import (
	"errors"
	"testing"
)

func TestLimitThatCannotBeEnforced(t *testing.T) {
	before := unlimited
	t.Cleanup(func() { unlimited = before })
	unlimited = func() string { return "no Landlock" }
	for _, c := range []struct {
		writes *WriteLimit
		want   string
	}{
		{nil, ""},
		{&WriteLimit{Advisory: true}, ""},
		{&WriteLimit{}, "the task is limited in where it may write, which cannot be enforced here: no Landlock"},
	} {
		limit, err := (&Task{Writes: c.writes, Dir: t.TempDir()}).Limit()
		var known *Error
		if limit != nil || (err == nil) != (c.want == "") || err != nil && (!errors.As(err, &known) || !known.Permanent || known.Message != c.want) {
			t.Errorf("%+v: %v, %v", c.writes, limit, err)
		}
	}
}
