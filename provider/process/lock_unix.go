//go:build linux || darwin

package process

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
)

// lockFile returns the file with an exclusive lock, which ends when the last descriptor of the file is closed.
func lockFile(ctx context.Context, path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	// Polled, because flock(2) would wait in the kernel, where no context ends it.
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		err := lockNow(file, syscall.LOCK_EX)
		if err == nil {
			return file, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			_ = file.Close()
			return nil, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			_ = file.Close()
			return nil, ctx.Err()
		}
	}
}

// lockNow takes a lock without waiting.
func lockNow(file *os.File, how int) error {
	for {
		err := syscall.Flock(int(file.Fd()), how|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// isAlive reports whether a process of the deployment holds the lock. Observers share theirs, so that they do not see
// each other. If the file cannot be opened, as with too many open files, the process may be alive.
func (d deployment) isAlive() bool {
	file, err := os.Open(d.pathOf("lock"))
	if err != nil {
		return !errors.Is(err, os.ErrNotExist)
	}
	defer func() { _ = file.Close() }()
	return errors.Is(lockNow(file, syscall.LOCK_SH), syscall.EWOULDBLOCK)
}

// errUnsupported is nil: game servers can run as processes here. See run_other.go.
var errUnsupported error
