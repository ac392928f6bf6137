//go:build linux || darwin

// Package lastwill runs a shell command after this process has ended, for whatever reason, including SIGKILL. A small
// shell waits on a pipe whose write end only this process holds; the kernel closes that end when the process ends. The
// command removes what a killed test or a crashed `director dev` would leave behind.
package lastwill

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// Leave makes a shell run line, with args as $1, $2 and so on, after this process has ended. The returned function
// cancels that; it may be called several times. Leave is safe for concurrent use.
func Leave(line string, args ...string) (revoke func(), err error) {
	read, write, err := openPipe()
	if err != nil {
		return nil, fmt.Errorf("lastwill: %w", err)
	}
	defer func() { _ = read.Close() }()
	script := "trap '' INT TERM HUP QUIT; cat >/dev/null; " + line
	// The shell must outlive every context of this process.
	cmd := exec.CommandContext(context.Background(), "/bin/sh", append([]string{"-c", script, "sh"}, args...)...)
	cmd.Stdin, cmd.Dir = read, "/"
	// A process group of its own, because Ctrl-C in a terminal and kill -9 of the group must not end the shell.
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

// openPipe returns the write end as a file descriptor and not as an os.File: the garbage collector closes an os.File
// without references, and the command would then run while this process lives.
func openPipe() (read *os.File, write int, err error) {
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
