package database

import (
	"context"
	"database/sql"
	"errors"
	"os"
)

// maxRoom is about the size at which SQLite starts to write its -wal file from the beginning
// again.
const maxRoom = 1000 * (4096 + 24)

// MakeRoom fills the -wal file of a database with zeros up to a size, if it is shorter. A
// commit that makes the file longer makes the file system record its new length and a new
// block, which takes about as long as to write the data. SQLite ignores what follows its last
// record. Nothing is written to the file meanwhile, because a transaction is open.
func MakeRoom(ctx context.Context, db *sql.DB, file string, size int64) error {
	return Transact(ctx, db, func(*sql.Tx) error {
		wal, err := os.OpenFile(file+"-wal", os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		info, err := wal.Stat()
		if err == nil {
			_, err = wal.WriteAt(make([]byte, max(min(size, maxRoom)-info.Size(), 0)), info.Size())
		}
		return errors.Join(err, wal.Close())
	})
}
