package pglocal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// InUseError says that another live process runs the cluster. A cluster ends with the process that started it, so a
// second one is refused and not let in.
type InUseError struct {
	Dir string
	PID int // the postmaster's process id, zero when it is not known (yet)
}

func (e *InUseError) Error() string {
	return fmt.Sprintf("%s is in use (postmaster pid %d): stop the process that runs it, "+
		"or set DATABASE_URL to use its server, or take another directory", e.Dir, e.PID)
}

// acquire makes the directory and takes its lock, which the kernel drops when this process ends.
func acquire(at layout) (*os.File, error) {
	for {
		if err := makeDir(at.dir); err != nil {
			return nil, err
		}
		file, err := os.OpenFile(at.lock, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		taken, err := tryLock(file)
		if err == nil && !taken {
			err = &InUseError{Dir: at.dir, PID: readPIDFile(at.data).pid}
		}
		if err != nil {
			_ = file.Close()
			return nil, err
		}
		if stillAt(at.lock, file) {
			return file, nil
		}
		release(file) // the directory was removed between opening and locking
	}
}

// makeDir makes the directory, whatever the umask, so that others may pass to what is theirs below it: for root, Postgres
// is another. data/ and run/ are closed to everybody else.
func makeDir(dir string) error {
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(dir, 0o711); err != nil {
		return err
	}
	return os.Chmod(dir, 0o711)
}

func stillAt(path string, file *os.File) bool {
	opened, err := file.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(path)
	return err == nil && os.SameFile(opened, named)
}

// Remove deletes a cluster, after ending a server that its process left behind, and its directory if nothing else is in
// it. It returns an [*InUseError] when a live process runs the cluster, and nil when there is nothing at dir.
func Remove(ctx context.Context, dir string) error {
	at, err := layoutOf(dir)
	if err != nil {
		return err
	}
	if _, err := os.Stat(at.dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	lock, err := acquire(at)
	if err != nil {
		return err
	}
	defer release(lock)
	if err := endOrphan(ctx, at.data); err != nil {
		return err
	}
	for _, path := range []string{at.data, at.partial, at.socket, at.password, at.log, at.lock} {
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("pglocal: %w", err)
		}
	}
	return os.Remove(at.dir)
}
