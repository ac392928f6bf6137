// Package subprocess runs programs that end with the program that started them: the demo, the benchmark's laboratory and the
// tests of faults start directors and game servers with it. It knows nothing of what they do.
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

// Command is how to start a program, once or several times.
type Command struct {
	Name string // names its log, and the process in errors
	Path string
	Args []string // after the program's name
	Env  []string // all of its environment, NAME=value
	Logs string   // the directory of the log; a later process of the same name appends to it
}

// Process is one run of a [Command]. On Linux the kernel kills it when this program dies, even by kill -9. It does not hear
// of Ctrl-C: this program ends its children in an order of its own. Safe for concurrent use.
type Process struct {
	command Command
	cmd     *exec.Cmd
	done    chan struct{}
	err     error       // how it ended; to be read after done
	asked   atomic.Bool // by Stop or Kill
}

// Start starts the program. Errors: its log cannot be written, or the program not started.
func (c Command) Start() (*Process, error) {
	log, err := os.OpenFile(c.logPath(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	p := &Process{command: c, done: make(chan struct{})}
	p.cmd = exec.Command(c.Path, c.Args...) //nolint:noctx // Stop ends it gently, which a context would not
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr, p.cmd.SysProcAttr = c.Env, log, log, attributes()
	started := make(chan error, 1)
	go p.run(started, log)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("%s did not start: %w", c.Name, err)
	}
	return p, nil
}

func (c Command) logPath() string { return filepath.Join(c.Logs, c.Name+".log") }

// run starts the process and waits for its end on a thread of its own: on Linux the kernel kills the process when the
// thread ends that started it, which without the lock could be any time.
func (p *Process) run(started chan<- error, log *os.File) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(p.done)
	defer func() { _ = log.Close() }() // the process has a copy
	err := p.cmd.Start()
	started <- err
	if err == nil {
		p.err = p.cmd.Wait()
	}
}

// Name is the command's.
func (p *Process) Name() string { return p.command.Name }

// PID is the process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Signal sends a signal: SIGSTOP and SIGCONT, for example, freeze the process and let it continue. It fails when the process
// has ended.
func (p *Process) Signal(sig syscall.Signal) error { return p.cmd.Process.Signal(sig) }

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Running tells whether the process has not ended yet.
func (p *Process) Running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// Err says why the process ended by itself, with the end of its log; nil while it runs and after [Process.Stop] or
// [Process.Kill].
func (p *Process) Err() error {
	if p.Running() || p.asked.Load() {
		return nil
	}
	return fmt.Errorf("%s ended by itself (%v): %s", p.command.Name, p.cmd.ProcessState, p.LastLines())
}

// Killed tells whether this program ended the process, by [Process.Stop] or [Process.Kill].
func (p *Process) Killed() bool { return p.asked.Load() }

// Kill is kill -9. It returns when the process has ended.
func (p *Process) Kill() {
	p.asked.Store(true)
	_ = p.cmd.Process.Kill() // fails for one that has ended
	<-p.done
}

// Stop asks the process to end (SIGTERM), and kills it when ctx ends first. Errors: the process did not end in time, had
// ended by itself before, or ended with an exit code other than 0.
func (p *Process) Stop(ctx context.Context) error {
	if err := p.Err(); err != nil {
		return err
	}
	p.asked.Store(true)
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

// Run runs a program that ends by itself, and kills it when ctx ends first. Errors: with the end of its log.
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

// LastLines is the end of the log.
func (p *Process) LastLines() string {
	text, err := os.ReadFile(p.command.logPath())
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-5):], "\n")
}
