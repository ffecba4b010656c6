package local

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"modernc.org/sqlite"
)

// refusals are the functions that decide whether a statement of a journal fails, by number.
var refusals struct {
	sync.Mutex
	all []func() error
}

func init() {
	sqlite.MustRegisterScalarFunction("refuse", 1, func(_ *sqlite.FunctionContext, args []sqldriver.Value) (sqldriver.Value, error) {
		refusals.Lock()
		refuse := refusals.all[args[0].(int64)]
		refusals.Unlock()
		return nil, refuse()
	})
}

// Refuse has a function decide before each change of a journal whether it fails. A change is what a
// trigger of SQLite names, such as "INSERT ON events".
func Refuse(t testing.TB, dir string, refuse func() error, changes ...string) {
	t.Helper()
	refusals.Lock()
	n := len(refusals.all)
	refusals.all = append(refusals.all, refuse)
	refusals.Unlock()
	db, err := sql.Open("sqlite", filepath.Join(dir, "journal.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for i, change := range changes {
		if _, err := db.ExecContext(context.Background(), fmt.Sprintf("CREATE TRIGGER refused_%d_%d BEFORE %s BEGIN SELECT refuse(%d); END", n, i, change, n)); err != nil {
			t.Fatal(err)
		}
	}
}

// AttemptEnded is attemptEnded, for tests outside of the package.
var AttemptEnded = attemptEnded
