package pglocal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// pidFile is what a postmaster writes of itself into its data directory. Line 1 is its process id and line 8 its state.
type pidFile struct {
	pid   int
	state string // "starting", "ready", "stopping" or, on a standby, "standby"
}

// readPIDFile returns the zero pidFile when there is no file, or only the beginning of one.
func readPIDFile(data string) pidFile {
	content, err := os.ReadFile(pidFilePath(data))
	if err != nil {
		return pidFile{}
	}
	lines := strings.Split(string(content), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(lines[0]))
	if err != nil {
		return pidFile{}
	}
	file := pidFile{pid: pid}
	if len(lines) >= 8 {
		file.state = strings.TrimSpace(lines[7])
	}
	return file
}

func pidFilePath(data string) string { return filepath.Join(data, "postmaster.pid") }

// endOrphan ends a postmaster whose own process is gone, as our holding the lock shows, and waits until it is. It removes
// the pid file of one that is gone already when its number belongs to some other program by now, since Postgres would
// take that program for a server.
func endOrphan(ctx context.Context, data string) error {
	file := readPIDFile(data)
	if file.pid == 0 || !alive(file.pid) {
		return nil
	}
	if !runsIn(file.pid, data) {
		return ignoreMissing(os.Remove(pidFilePath(data)))
	}
	if err := signalPID(file.pid, syscall.SIGINT); err != nil {
		return fmt.Errorf("cannot stop the server left in %s (pid %d): %w", data, file.pid, err)
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for alive(file.pid) && runsIn(file.pid, data) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("the server left in %s (pid %d) does not stop: %w", data, file.pid, ctx.Err())
		case <-tick.C:
		}
	}
	return nil
}

func alive(pid int) bool {
	err := signalPID(pid, syscall.Signal(0))
	return err == nil || errors.Is(err, syscall.EPERM)
}

// signalPID signals a process that need not be our child.
func signalPID(pid int, signal syscall.Signal) error {
	process, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	defer func() { _ = process.Release() }()
	return process.Signal(signal)
}

func ignoreMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
