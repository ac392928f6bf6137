package migrations

import (
	"context"
	"io/fs"
	"log/slog"

	"github.com/pressly/goose/v3/lock"
)

// LockID is the advisory lock that a run holds.
const LockID = lock.DefaultLockID

// Set is what the package's functions do, on other files than the embedded ones.
type Set struct{ fileSet }

// Of returns the set of some files.
func Of(files fs.FS) Set { return Set{fileSet{files}} }

func (s Set) Up(ctx context.Context, url string, log *slog.Logger) ([]int64, error) {
	return s.applyPending(ctx, url, log)
}

func (s Set) Down(ctx context.Context, url string, steps int) ([]int64, error) {
	return s.takeBack(ctx, url, steps, nil)
}
func (s Set) Redo(ctx context.Context, url string) ([]int64, error) {
	return s.redoNewest(ctx, url, nil)
}
func (s Set) Status(ctx context.Context, url string) ([]Migration, error) {
	return s.readStatus(ctx, url)
}
func (s Set) Version(ctx context.Context, url string) (int64, error) {
	return s.appliedVersion(ctx, url)
}
func (s Set) Latest() int64 { return s.latestVersion() }
func (s Set) Hash() string  { return s.hashFiles() }

func BoundLocks(files fs.FS) fs.FS { return boundedFiles{files} }
