package subprocess

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// AwaitReady requests the URL every 10 ms until it answers 200. Errors, each with the last lines of the log: the
// process ended, or ctx did.
func (p *Process) AwaitReady(ctx context.Context, url string) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !Ready(ctx, url) {
		select {
		case <-p.done:
			return fmt.Errorf("%s ended before it was ready: %s", p.command.Name, p.LastLines())
		case <-ctx.Done():
			return fmt.Errorf("%s did not become ready: %w: %s", p.command.Name, ctx.Err(), p.LastLines())
		case <-tick.C:
		}
	}
	return nil
}

// Ready reports whether the URL answers 200 within a second.
func Ready(ctx context.Context, url string) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
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

// FreeAddrs returns n different free loopback addresses, host:port. It keeps a listener on each until it has found all,
// so that they differ. A program that must restart at the same address needs one, instead of port 0.
func FreeAddrs(ctx context.Context, n int) (addrs []string, err error) {
	if n == 0 {
		return nil, nil
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	addrs, err = FreeAddrs(ctx, n-1)
	return append(addrs, listener.Addr().String()), errors.Join(err, listener.Close())
}
