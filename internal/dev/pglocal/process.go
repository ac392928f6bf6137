package pglocal

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

// process is one run of a program of Postgres. It ends with this process.
type process struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error // of Wait; valid once done is closed
	// lockFile is a reference that keeps the lock file open: the garbage collector closes a file without references,
	// and a server may outlive the last reference to its Cluster.
	lockFile *os.File
}

// launchProcess starts cmd, a server or initdb, as the account. The process gets deathSignal when this process ends.
// lock is the directory's lock, which is kept until then; it may be nil.
func launchProcess(cmd *exec.Cmd, as account, deathSignal syscall.Signal, lock *os.File) (*process, error) {
	cmd.SysProcAttr = attributes(as, deathSignal)
	cmd.Dir = "/" // the account may not enter the current one
	cmd.Env = childEnvironment(os.Environ())
	p := &process{cmd: cmd, done: make(chan struct{}), lockFile: lock}
	started := make(chan error, 1)
	go p.runAndWait(deathSignal, started)
	return p, <-started
}

// runAndWait starts the program and waits for its end on one locked thread: on Linux the kernel sends the death signal
// when the thread that started the program ends, and without the lock the runtime may end a thread at any time.
func (p *process) runAndWait(deathSignal syscall.Signal, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(p.done)
	if err := p.cmd.Start(); err != nil {
		started <- err
		return
	}
	unguard, err := guard(p.cmd.Process.Pid, deathSignal)
	// Without a guard the server would outlive this process.
	if err != nil {
		_ = p.cmd.Process.Kill()
	} else {
		defer unguard()
	}
	started <- err
	p.err = p.cmd.Wait()
}

func (p *process) pid() int { return p.cmd.Process.Pid }

func (p *process) isRunning() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// endWith signals the process and waits for its end, or for ctx.
func (p *process) endWith(ctx context.Context, signal syscall.Signal) error {
	if err := p.cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// childEnvironment returns the variables that a server needs. It excludes those that would change its behaviour
// (PGDATA, LANG) and the director's secrets.
func childEnvironment(ours []string) []string {
	kept := []string{"PATH", "TZ", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"}
	env := []string{"LC_ALL=C"}
	for _, entry := range ours {
		if name, _, _ := strings.Cut(entry, "="); slices.Contains(kept, name) {
			env = append(env, entry)
		}
	}
	return env
}
