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

// pidFile is the content of postmaster.pid, which a postmaster writes into its data directory. Line 1 is its process
// id, line 8 its state.
type pidFile struct {
	pid         int
	serverState string // "starting", "ready", "stopping" or, on a standby, "standby"
}

// readPIDFile returns the zero pidFile if there is no file or it is incomplete.
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
		file.serverState = strings.TrimSpace(lines[7])
	}
	return file
}

func pidFilePath(data string) string { return filepath.Join(data, "postmaster.pid") }

// endOrphan stops a postmaster that its process left running, and waits for its end. The caller holds the lock of the
// directory, so that process has ended. If another program has the pid of the file by now, endOrphan removes the file,
// because Postgres would mistake that program for a running server.
func endOrphan(ctx context.Context, data string) error {
	file := readPIDFile(data)
	// Postgres itself replaces the file of a postmaster that has ended.
	if file.pid == 0 || !isAlive(file.pid) {
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
	for isAlive(file.pid) && runsIn(file.pid, data) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("the server left in %s (pid %d) does not stop: %w", data, file.pid, ctx.Err())
		case <-tick.C:
		}
	}
	return nil
}

func isAlive(pid int) bool {
	err := signalPID(pid, syscall.Signal(0))
	return err == nil || errors.Is(err, syscall.EPERM)
}

// signalPID signals a process, which need not be a child of this process.
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
