package pglocal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// InUseError means that another live process runs the cluster. A second process cannot share it, because the cluster
// ends with the process that started it.
type InUseError struct {
	Dir string
	PID int // the postmaster's process id, 0 if it is not known yet
}

func (e *InUseError) Error() string {
	return fmt.Sprintf("%s is in use (postmaster pid %d): stop the process that runs it, "+
		"or set DATABASE_URL to use its server, or use another directory", e.Dir, e.PID)
}

// acquireLock makes the directory and locks it. The kernel releases the lock when this process ends.
func acquireLock(at layout) (*os.File, error) {
	for {
		if err := makeDir(at.baseDir); err != nil {
			return nil, err
		}
		file, err := os.OpenFile(at.lockFile, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		taken, err := tryLock(file)
		if err == nil && !taken {
			err = &InUseError{Dir: at.baseDir, PID: readPIDFile(at.dataDir).pid}
		}
		if err != nil {
			_ = file.Close()
			return nil, err
		}
		if stillAt(at.lockFile, file) {
			return file, nil
		}
		release(file) // the directory was removed between opening and locking
	}
}

// makeDir makes the directory. Whatever the umask is, other users may traverse it, because a Postgres that root started
// runs as another user. Only that user may enter data/ and run/.
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

// Remove deletes a cluster and its directory. It first stops a server that its process left running. It returns nil if
// dir does not exist. Errors: an [*InUseError] if a live process runs the cluster; one of the file system, at last, if
// the directory has anything else in it, which stays.
func Remove(ctx context.Context, dir string) error {
	at, err := layoutOf(dir)
	if err != nil {
		return err
	}
	if _, err := os.Stat(at.baseDir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	lock, err := acquireLock(at)
	if err != nil {
		return err
	}
	defer release(lock)
	// A server that still runs would write into the directory while it is deleted.
	if err := endOrphan(ctx, at.dataDir); err != nil {
		return err
	}
	for _, path := range []string{at.dataDir, at.partialDir, at.socketDir, at.passwordFile, at.logFile, at.lockFile} {
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("pglocal: %w", err)
		}
	}
	return os.Remove(at.baseDir)
}
