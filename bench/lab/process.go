package lab

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/lattice-director/director/internal/dev/subprocess"
)

// Face is a listener of a process, named as the setting that has its address.
type Face string

// The faces of a process. All processes have addresses for the first two, for metrics, and for those that [Options] add.
const (
	Web          Face = "DIRECTOR_ADDR"              // the HTTP API
	GRPC         Face = "DIRECTOR_GRPC_ADDR"         // Open Match
	Orchestrator Face = "DIRECTOR_ORCHESTRATOR_ADDR" // for Rivalis game servers
	Realtime     Face = "DIRECTOR_REALTIME_ADDR"     // the realtime lobby

	metrics Face = "DIRECTOR_METRICS_ADDR"
)

// Process is a server process of a lab.
type Process struct {
	Handle *subprocess.Process

	addrs map[Face]string // host:port
}

// At is where a face is called: its base URL, or host:port for gRPC.
func (p *Process) At(face Face) string {
	if face == GRPC {
		return p.addrs[face]
	}
	return "http://" + p.addrs[face]
}

// Addresses are those of processes, at one of their faces.
func Addresses(processes []*Process, face Face) (all []string) {
	for _, p := range processes {
		all = append(all, p.At(face))
	}
	return all
}

// readyTimeout includes creating the first keys and opening the first connections.
const readyTimeout = 30 * time.Second

// Command describes a process of a lab.
type Command struct {
	Name    string   // unique in a lab
	Program string   // "" is the director
	Args    []string // after the program's name
	Env     []string // on top of the lab's settings
	// OnlyMetrics says that the arguments make the process serve metrics alone: Start waits for them, and nobody listens
	// at its other addresses.
	OnlyMetrics bool
}

// Start starts a process in the lab and waits until it is ready: until GET /readyz of the API answers 200, or GET
// /metrics with OnlyMetrics. Its environment has the lab's settings, its address at each [Face], and that of
// the first replica as DIRECTOR_PUBLIC_URL. Use [Lab.Meter] to measure its costs. [Lab.Close] stops it, also after an error.
func (l *Lab) Start(ctx context.Context, c Command) (*Process, error) {
	faces := append([]Face{Web, GRPC, metrics}, l.options.Faces...)
	addrs, err := subprocess.FreeAddrs(ctx, len(faces))
	if err != nil {
		return nil, err
	}
	p, env := &Process{addrs: map[Face]string{}}, slices.Concat(l.env, c.Env)
	for i, face := range faces {
		p.addrs[face] = addrs[i]
		env = append(env, string(face)+"="+addrs[i])
	}
	public := p.At(Web) // where game servers that a provider starts reach the director: the first replica
	if len(l.Replicas) > 0 {
		public = l.Replicas[0].At(Web)
	}
	p.Handle, err = subprocess.Command{
		Name: c.Name, Path: cmp.Or(c.Program, l.options.Program), Args: c.Args, Logs: l.dir,
		Env: append(env, "DIRECTOR_PUBLIC_URL="+public),
	}.Start()
	if err != nil {
		return nil, err
	}
	l.processes = append(l.processes, p)
	go l.watch(p.Handle.Done(), p.Handle.Err)
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	ready := p.At(Web) + "/readyz"
	if c.OnlyMetrics {
		ready = p.metricsURL()
	}
	return p, p.Handle.AwaitReady(ctx, ready)
}

// metricsURL is where a process serves its metrics, without authentication.
func (p *Process) metricsURL() string { return p.At(metrics) + "/metrics" }

// BaselineCommand is the argument with which the program that uses the lab serves the baselines.
const BaselineCommand = "baseline"

// Baselines returns the processes of the baselines, as many as there are replicas: this program, run with
// [BaselineCommand]. The first call starts them. Not safe for concurrent use.
func (l *Lab) Baselines(ctx context.Context) ([]*Process, error) {
	self, err := os.Executable() // the director's program has no baselines
	if err != nil {
		return nil, err
	}
	for n := len(l.baselines); n < len(l.Replicas); n++ {
		p, err := l.Start(ctx, Command{Name: fmt.Sprintf("baseline-%d", n), Program: self,
			Args: []string{BaselineCommand}})
		if err != nil {
			return nil, err
		}
		l.baselines = append(l.baselines, p)
	}
	return l.baselines, nil
}
