//go:build linux || darwin

// Package lastwill runs a line of shell when this process has ended, however it ended: by SIGKILL too. A small shell
// waits on a pipe whose other end only this process holds, and the kernel closes that end for us. It cleans up what a
// killed test or a crashed `director dev` would leave behind; what must hold while the process lives is not its job.
package lastwill

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// Leave arranges for line to run, with args as $1, $2 and so on, once this process is gone. The returned function calls
// it off. It is safe for concurrent use.
func Leave(line string, args ...string) (revoke func(), err error) {
	read, write, err := pipe()
	if err != nil {
		return nil, fmt.Errorf("lastwill: %w", err)
	}
	defer func() { _ = read.Close() }()
	script := "trap '' INT TERM HUP QUIT; cat >/dev/null; " + line
	// It outlives every context of ours.
	cmd := exec.CommandContext(context.Background(), "/bin/sh", append([]string{"-c", script, "sh"}, args...)...)
	cmd.Stdin, cmd.Dir = read, "/"
	// Out of our process group: Ctrl-C in a terminal and kill -9 of the group are meant for us.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		_ = syscall.Close(write)
		return nil, fmt.Errorf("lastwill: %w", err)
	}
	return sync.OnceFunc(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = syscall.Close(write)
	}), nil
}

// pipe returns the writing end as a bare number: an os.File that nobody holds any more is closed by the garbage
// collector, and the line would run while we live.
func pipe() (read *os.File, write int, err error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	var fds [2]int
	if err := syscall.Pipe(fds[:]); err != nil {
		return nil, 0, err
	}
	syscall.CloseOnExec(fds[0])
	syscall.CloseOnExec(fds[1])
	return os.NewFile(uintptr(fds[0]), "lastwill"), fds[1], nil
}
