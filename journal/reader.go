package journal

import (
	"context"
	"database/sql"
	"sync"
)

// reader reads from the database. It prepares every query once: for small results, that
// takes longer than the query itself.
type reader struct {
	*sql.DB
	stmts sync.Map // *sql.Stmt by text; they end with the database
}

// QueryContext is that of [sql.DB].
func (r *reader) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	stmt := r.prepare(ctx, query)
	if stmt == nil {
		return r.DB.QueryContext(ctx, query, args...)
	}
	return stmt.QueryContext(ctx, args...)
}

// QueryRowContext is that of [sql.DB].
func (r *reader) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	stmt := r.prepare(ctx, query)
	if stmt == nil {
		return r.DB.QueryRowContext(ctx, query, args...)
	}
	return stmt.QueryRowContext(ctx, args...)
}

// prepare returns a prepared query, nil if it cannot be prepared: then the query itself
// returns the error. The first time, a query is not prepared: most processes use it once.
func (r *reader) prepare(ctx context.Context, query string) *sql.Stmt {
	known, again := r.stmts.LoadOrStore(query, (*sql.Stmt)(nil))
	stmt, _ := known.(*sql.Stmt)
	if stmt == nil && again {
		// If two goroutines prepare a query at once, one of the statements is not used again.
		stmt, _ = r.DB.PrepareContext(ctx, query)
		r.stmts.Store(query, stmt)
	}
	return stmt
}
