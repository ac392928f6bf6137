package main

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
	"time"
)

// program is how to start a process: once, or again after it was killed.
type program struct {
	name   string // also of its log
	path   string
	args   []string
	env    []string // on top of environment()
	logDir string
}

// process is one run of a program. It ends with us, however we end.
type process struct {
	name string
	cmd  *exec.Cmd
	done chan struct{}
	err  error // how it ended, to be read after done

	killed atomic.Bool // by us
}

func (p program) logPath() string { return filepath.Join(p.logDir, p.name+".log") }

// start runs the program; a later run appends to the log of the earlier one.
func (p program) start() (*process, error) {
	log, err := os.OpenFile(p.logPath(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(p.path, p.args...) //nolint:noctx // stop ends it gently, and kill does not
	cmd.Env = append(environment(), p.env...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = attributes()
	run := &process{name: p.name, cmd: cmd, done: make(chan struct{})}
	started := make(chan error, 1)
	go run.run(started, log)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("%s did not start: %w", p.name, err)
	}
	return run, nil
}

// run starts and awaits the process on a thread of its own: on Linux the kernel ends the process when that thread ends,
// which without the lock could be any time.
func (p *process) run(started chan<- error, log *os.File) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(p.done)
	defer func() { _ = log.Close() }() // Ours is only a copy.
	if err := p.cmd.Start(); err != nil {
		started <- err
		return
	}
	started <- nil
	p.err = p.cmd.Wait()
}

func (p *process) running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// kill is kill -9: the process hears nothing of it.
func (p *process) kill() {
	p.killed.Store(true)
	_ = p.cmd.Process.Kill() // Fails for one that has ended.
	<-p.done
}

// stop asks the process to end, and kills it when ctx ends first. The error says that it did not end as it should.
func (p *process) stop(ctx context.Context) error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-p.done:
		if p.err != nil {
			return fmt.Errorf("%s: %w", p.name, p.err)
		}
		return nil
	case <-ctx.Done():
		p.kill()
		return fmt.Errorf("%s did not stop in time", p.name)
	}
}

// finish runs a program that ends by itself.
func (p program) finish(ctx context.Context, limit time.Duration) error {
	run, err := p.start()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	select {
	case <-run.done:
	case <-ctx.Done():
		run.kill()
		return fmt.Errorf("%s: %w", p.name, ctx.Err())
	}
	if run.err != nil {
		return fmt.Errorf("%s: %w: %s", p.name, run.err, p.lastWords())
	}
	return nil
}

// lastWords is the end of the program's log.
func (p program) lastWords() string {
	raw, err := os.ReadFile(p.logPath())
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(raw)), "\n")
	return strings.Join(lines[max(0, len(lines)-5):], "\n")
}

// environment is what our children need of ours. The rest might lead them elsewhere, such as to the database that
// somebody is working with in this shell.
func environment() (kept []string) {
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "TZ"} {
		if value, ok := os.LookupEnv(name); ok {
			kept = append(kept, name+"="+value)
		}
	}
	return kept
}
