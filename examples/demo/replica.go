package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// replica is a director that serves, at an address that it keeps when it is started again.
type replica struct {
	program

	url   string
	ready atomic.Bool // as /readyz last said

	mu  sync.Mutex
	run *process
}

func (r *replica) process() *process {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.run
}

// launch starts the replica and waits until it is ready.
func (r *replica) launch(ctx context.Context) error {
	run, err := r.start()
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.run = run
	r.mu.Unlock()
	return r.await(ctx, run)
}

func (r *replica) await(ctx context.Context, run *process) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		if r.probe(ctx); r.ready.Load() {
			return nil
		}
		select {
		case <-run.done:
			return fmt.Errorf("%s ended: %w: %s", r.name, run.err, r.lastWords())
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w: %s", r.name, context.Cause(ctx), r.lastWords())
		case <-tick.C:
		}
	}
}

// probe asks the replica whether it is ready, as a balancer would.
func (r *replica) probe(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url+"/readyz", nil)
	if err != nil {
		r.ready.Store(false)
		return
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.ready.Store(false)
		return
	}
	defer resp.Body.Close()
	r.ready.Store(resp.StatusCode == http.StatusOK)
}

// watch keeps ready up to date until ctx ends.
func (r *replica) watch(ctx context.Context) {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			r.probe(ctx)
		}
	}
}

func (r *replica) host() string { return r.url[len("http://"):] }

// freeAddrs finds n addresses that nobody listens on. They have to be known before the replicas start, so that one that
// was killed comes back at its own.
func freeAddrs(ctx context.Context, n int) (addrs []string, err error) {
	if n == 0 {
		return nil, nil
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	addrs, err = freeAddrs(ctx, n-1) // While this one is held, or the same could come twice.
	return append(addrs, listener.Addr().String()), errors.Join(err, listener.Close())
}
