// Package subprocess runs programs that end with the program that started them. The demo, the benchmark's laboratory
// and the fault tests use it to start directors and game servers.
package subprocess

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
)

// Command describes a program to start, once or several times.
type Command struct {
	Name string // the name of the log, and of the process in errors
	Path string
	Args []string // after the program's name
	Env  []string // its whole environment, NAME=value
	Logs string   // the directory of the log; a later process of the same name appends to it
}

// Process is one run of a [Command]. On Linux the kernel kills it when this program dies, even by kill -9. It does not
// receive the terminal's Ctrl-C, so that this program can stop its children in order. Safe for concurrent use.
type Process struct {
	command    Command
	cmd        *exec.Cmd
	done       chan struct{}
	err        error       // of Wait; read it only after done is closed
	wasStopped atomic.Bool // by Stop or Kill
}

// Start starts the program. Errors: the log cannot be opened, or the program cannot be started.
func (c Command) Start() (*Process, error) {
	log, err := os.OpenFile(c.logPath(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	p := &Process{command: c, done: make(chan struct{})}
	p.cmd = exec.Command(c.Path, c.Args...) //nolint:noctx // Stop sends SIGTERM first; a context would kill it at once
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr, p.cmd.SysProcAttr = c.Env, log, log, attributes()
	started := make(chan error, 1)
	go p.runAndWait(started, log)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("%s did not start: %w", c.Name, err)
	}
	return p, nil
}

func (c Command) logPath() string { return filepath.Join(c.Logs, c.Name+".log") }

// runAndWait starts the process and waits for its end on a locked thread: on Linux the kernel kills the process when the
// thread that started it ends, and without the lock the runtime may end a thread at any time.
func (p *Process) runAndWait(started chan<- error, log *os.File) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(p.done)
	defer func() { _ = log.Close() }() // the process has its own descriptor
	err := p.cmd.Start()
	started <- err
	if err == nil {
		p.err = p.cmd.Wait()
	}
}

// Name returns the command's name.
func (p *Process) Name() string { return p.command.Name }

// PID returns the process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Signal sends a signal, such as SIGSTOP or SIGCONT. It fails if the process has ended.
func (p *Process) Signal(sig syscall.Signal) error { return p.cmd.Process.Signal(sig) }

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Running reports whether the process has not ended yet.
func (p *Process) Running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// Err returns how the process ended by itself, with the last lines of its log. It returns nil while the process runs,
// and after [Process.Stop] or [Process.Kill].
func (p *Process) Err() error {
	if p.Running() || p.wasStopped.Load() {
		return nil
	}
	return fmt.Errorf("%s ended by itself (%v): %s", p.command.Name, p.cmd.ProcessState, p.LastLines())
}

// Killed reports whether this program ended the process, by [Process.Stop] or [Process.Kill].
func (p *Process) Killed() bool { return p.wasStopped.Load() }

// Kill sends SIGKILL, and returns when the process has ended.
func (p *Process) Kill() {
	p.wasStopped.Store(true)
	_ = p.cmd.Process.Kill() // fails if the process has ended
	<-p.done
}

// Stop sends SIGTERM and waits for the end of the process; it kills the process if ctx ends first. Errors: the process
// did not end in time, had ended by itself before, or ended with an exit code other than 0.
func (p *Process) Stop(ctx context.Context) error {
	if err := p.Err(); err != nil {
		return err
	}
	p.wasStopped.Store(true)
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-p.done:
		if p.err != nil {
			return fmt.Errorf("%s: %w: %s", p.command.Name, p.err, p.LastLines())
		}
		return nil
	case <-ctx.Done():
		p.Kill()
		return fmt.Errorf("%s did not stop in time", p.command.Name)
	}
}

// Run runs a program until it ends, and kills it if ctx ends first. A failure's error has the last lines of the log.
func (c Command) Run(ctx context.Context) error {
	p, err := c.Start()
	if err != nil {
		return err
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		p.Kill()
		return fmt.Errorf("%s: %w", c.Name, ctx.Err())
	}
	if p.err != nil {
		return fmt.Errorf("%s: %w: %s", c.Name, p.err, p.LastLines())
	}
	return nil
}

// LastLines returns the last 5 lines of the log.
func (p *Process) LastLines() string {
	text, err := os.ReadFile(p.command.logPath())
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-5):], "\n")
}
