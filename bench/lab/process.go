package lab

import (
	"cmp"
	"context"
	"time"

	"github.com/lattice-director/director/internal/subprocess"
)

// Process is a program that runs in a lab and serves.
type Process struct {
	*subprocess.Process

	URL     string
	GRPC    string // host:port of its gRPC listener, for a program that has one
	metrics string // the URL of its metrics
}

// readyTimeout is for the first keys and the first connections.
const readyTimeout = 30 * time.Second

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
	addrs, err := subprocess.FreeAddrs(ctx, 3)
	if err != nil {
		return nil, err
	}
	api, metrics, grpc := addrs[0], addrs[1], addrs[2]
	env := append(append([]string{}, l.env...), c.Env...)
	started, err := subprocess.Command{
		Name: c.Name, Path: cmp.Or(c.Program, l.options.Program), Args: c.Args, Logs: l.dir,
		Env: append(env, "DIRECTOR_ADDR="+api, "DIRECTOR_METRICS_ADDR="+metrics, "DIRECTOR_GRPC_ADDR="+grpc),
	}.Start()
	if err != nil {
		return nil, err
	}
	p := &Process{Process: started, URL: "http://" + api, GRPC: grpc, metrics: "http://" + metrics + "/metrics"}
	l.mu.Lock()
	l.processes = append(l.processes, p)
	l.mu.Unlock()
	go l.watch(p.Done(), p.Err)
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	return p, p.AwaitReady(ctx, p.URL+"/readyz")
}
