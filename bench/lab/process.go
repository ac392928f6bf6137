package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// Process is a program that runs in a lab and serves.
type Process struct {
	Name, URL string
	GRPC      string // host:port of its gRPC listener, for a program that has one
	metrics   string // the URL of its metrics

	cmd   *exec.Cmd
	log   string
	done  chan struct{}
	err   error // how it ended, to be read after done
	asked atomic.Bool
}

// readyPatience is for the first keys and the first connections.
const readyPatience = 30 * time.Second

// Command is what a process of a lab runs.
type Command struct {
	Name    string   // unique in a lab
	Program string   // "" is the director
	Args    []string // after the program's name
	Env     []string // on top of the lab's settings
}

// Start runs a command as one more process of the lab and waits until it says that it is ready. The lab's settings and
// where to listen (DIRECTOR_ADDR, DIRECTOR_METRICS_ADDR, DIRECTOR_GRPC_ADDR) are in its environment; GET /readyz at the
// first must answer 200. Costs are measured with [Lab.Meter]. It ends with the lab.
func (l *Lab) Start(ctx context.Context, c Command) (*Process, error) {
	addrs, err := freeAddrs(ctx, 3)
	if err != nil {
		return nil, err
	}
	api, metrics, grpc := addrs[0], addrs[1], addrs[2]
	p := &Process{
		Name: c.Name, URL: "http://" + api, GRPC: grpc, metrics: "http://" + metrics + "/metrics",
		log: filepath.Join(l.dir, c.Name+".log"), done: make(chan struct{}),
	}
	p.cmd = exec.Command(cmp.Or(c.Program, l.options.Program), c.Args...) //nolint:noctx // Stop ends it, or the lab's end
	p.cmd.Env = append(append(append([]string{}, l.env...), c.Env...), "DIRECTOR_ADDR="+api, "DIRECTOR_METRICS_ADDR="+metrics, "DIRECTOR_GRPC_ADDR="+grpc)
	p.cmd.SysProcAttr = attributes()
	if err := p.run(); err != nil {
		return nil, err
	}
	l.mu.Lock()
	l.processes = append(l.processes, p)
	l.mu.Unlock()
	go l.watch(p.done, p.Err)
	return p, p.ready(ctx)
}

// freeAddrs asks the kernel for all of them at once, so that they differ.
func freeAddrs(ctx context.Context, n int) (addrs []string, err error) {
	var listeners []net.Listener
	defer func() {
		for _, l := range listeners {
			_ = l.Close()
		}
	}()
	for range n {
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		listeners, addrs = append(listeners, l), append(addrs, l.Addr().String())
	}
	return addrs, nil
}

// run starts and awaits the process on a thread of its own: on Linux the kernel ends the process when that thread ends,
// which without the lock could be any time.
func (p *Process) run() error {
	log, err := os.OpenFile(p.log, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	p.cmd.Stdout, p.cmd.Stderr = log, log
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(p.done)
		defer func() { _ = log.Close() }() // ours is only a copy
		err := p.cmd.Start()
		started <- err
		if err == nil {
			p.err = p.cmd.Wait()
		}
	}()
	return <-started
}

// ready waits until it says that it is.
func (p *Process) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyPatience)
	defer cancel()
	ticks := time.NewTicker(10 * time.Millisecond)
	defer ticks.Stop()
	for {
		if answers(ctx, p.URL+"/readyz") {
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("%s ended before it was ready: %s", p.Name, p.lastWords())
		case <-ctx.Done():
			return fmt.Errorf("%s did not become ready: %w: %s", p.Name, ctx.Err(), p.lastWords())
		case <-ticks.C:
		}
	}
}

func answers(ctx context.Context, url string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// PID is its process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err says why it ended by itself; nil while it runs and after [Process.Stop].
func (p *Process) Err() error {
	select {
	case <-p.done:
	default:
		return nil
	}
	if p.asked.Load() {
		return nil
	}
	return fmt.Errorf("%s ended by itself (%v): %s", p.Name, p.cmd.ProcessState, p.lastWords())
}

// Stop asks the process to end, and kills it when ctx ends first. The error says that it did not end as it should.
func (p *Process) Stop(ctx context.Context) error {
	died := p.Err()
	p.asked.Store(true)
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-p.done:
		return died
	case <-ctx.Done():
		_ = p.cmd.Process.Kill() // fails for one that has ended
		<-p.done
		return fmt.Errorf("%s did not stop in time", p.Name)
	}
}

// lastWords is the end of its log.
func (p *Process) lastWords() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-5):], "\n")
}
