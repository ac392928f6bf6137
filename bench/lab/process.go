package lab

import (
	"cmp"
	"context"
	"time"

	"github.com/lattice-director/director/internal/dev/subprocess"
)

// Process is a server process of a lab.
type Process struct {
	*subprocess.Process

	URL  string
	GRPC string // host:port of its gRPC listener, if it has one

	Orchestrator string // host:port of its listener for Rivalis game servers, if it has one
	Realtime     string // host:port of its listener for the realtime lobby, if it has one

	metrics string // the URL of its metrics
}

// readyTimeout includes creating the first keys and opening the first connections.
const readyTimeout = 30 * time.Second

// Command describes a process of a lab.
type Command struct {
	Name    string   // unique in a lab
	Program string   // "" is the director
	Args    []string // after the program's name
	Env     []string // on top of the lab's settings
	Mute    bool     // it has no API: it is ready once it serves its metrics
}

// Start starts a process in the lab and waits until it is ready: until GET /readyz at DIRECTOR_ADDR answers 200, or GET
// /metrics at DIRECTOR_METRICS_ADDR where the process is mute. Its environment has the lab's settings and its addresses
// (DIRECTOR_ADDR, DIRECTOR_METRICS_ADDR, DIRECTOR_GRPC_ADDR, where they are served DIRECTOR_ORCHESTRATOR_ADDR and
// DIRECTOR_REALTIME_ADDR), and that of the first replica as DIRECTOR_PUBLIC_URL. Use [Lab.Meter] to measure its costs. Close stops it.
func (l *Lab) Start(ctx context.Context, c Command) (*Process, error) {
	addrs, err := subprocess.FreeAddrs(ctx, 5)
	if err != nil {
		return nil, err
	}
	api, metrics, grpc, orchestrator, realtime := addrs[0], addrs[1], addrs[2], addrs[3], addrs[4]
	env := append(append([]string{}, l.env...), c.Env...)
	if l.options.Orchestrator {
		env = append(env, "DIRECTOR_ORCHESTRATOR_ADDR="+orchestrator)
	}
	if l.options.Realtime {
		env = append(env, "DIRECTOR_REALTIME_ADDR="+realtime)
	}
	public := "http://" + api // where game servers that a provider starts reach the director: the first replica
	if len(l.Replicas) > 0 {
		public = l.Replicas[0].URL
	}
	env = append(env, "DIRECTOR_PUBLIC_URL="+public)
	started, err := subprocess.Command{
		Name: c.Name, Path: cmp.Or(c.Program, l.options.Program), Args: c.Args, Logs: l.dir,
		Env: append(env, "DIRECTOR_ADDR="+api, "DIRECTOR_METRICS_ADDR="+metrics, "DIRECTOR_GRPC_ADDR="+grpc),
	}.Start()
	if err != nil {
		return nil, err
	}
	p := &Process{
		Process: started, URL: "http://" + api, GRPC: grpc, Orchestrator: orchestrator, Realtime: realtime,
		metrics: "http://" + metrics + "/metrics",
	}
	l.mu.Lock()
	l.processes = append(l.processes, p)
	l.mu.Unlock()
	go l.watch(p.Done(), p.Err)
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	ready := p.URL + "/readyz"
	if c.Mute {
		ready = p.metrics
	}
	return p, p.AwaitReady(ctx, ready)
}
