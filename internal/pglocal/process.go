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

// process is one run of a program of Postgres. It ends with us.
type process struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error // how it ended, to be read after done
	// lock is only held here: a file that nothing refers to any more is closed by the garbage collector, and a server
	// may well outlive the last reference to its Cluster.
	lock *os.File
}

// launch starts cmd as the account, under the directory's lock.
func launch(cmd *exec.Cmd, as account, whenWeEnd syscall.Signal, lock *os.File) (*process, error) {
	cmd.SysProcAttr = attributes(as, whenWeEnd)
	cmd.Dir = "/" // ours may be one that the account cannot enter
	cmd.Env = environment(os.Environ())
	p := &process{cmd: cmd, done: make(chan struct{}), lock: lock}
	started := make(chan error, 1)
	go p.run(whenWeEnd, started)
	return p, <-started
}

// run starts and awaits the program on one thread of its own: on Linux the signal that ends the program comes when that
// thread ends, which without the lock could be any time.
func (p *process) run(whenWeEnd syscall.Signal, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(p.done)
	if err := p.cmd.Start(); err != nil {
		started <- err
		return
	}
	unguard, err := guard(p.cmd.Process.Pid, whenWeEnd)
	if err != nil {
		_ = p.cmd.Process.Kill()
	} else {
		defer unguard()
	}
	started <- err
	p.err = p.cmd.Wait()
}

func (p *process) pid() int { return p.cmd.Process.Pid }

func (p *process) running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// end signals the process and waits for its end, or for ctx.
func (p *process) end(ctx context.Context, signal syscall.Signal) error {
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

// environment keeps what a server needs to run, and nothing that would steer it elsewhere (PGDATA, LANG) or that is not
// its business (the director's own secrets).
func environment(ours []string) []string {
	kept := []string{"PATH", "TZ", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"}
	env := []string{"LC_ALL=C"}
	for _, entry := range ours {
		if name, _, _ := strings.Cut(entry, "="); slices.Contains(kept, name) {
			env = append(env, entry)
		}
	}
	return env
}
