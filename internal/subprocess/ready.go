package subprocess

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// AwaitReady asks the URL until it answers 200. Errors: the process ended, or ctx did, each with the end of the log.
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

// Ready tells whether the URL answers 200 within a second.
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

// FreeAddrs finds n loopback addresses, host:port, that nobody listens on. All are held while the others are looked for, so
// that they differ. They have to be known before a program starts when it is to come back at its own address.
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
