package ws

import (
	"context"
	"sync"
	"time"

	"github.com/lattice-director/director/internal/base/panics"
)

// Pings say how often a client is pinged.
type Pings struct {
	Every  time.Duration // from the beginning, and from each answer, to the next ping
	Within time.Duration // until the answer

	Guard     *panics.Guard // recovers panics of onSilence; may be nil
	Goroutine string        // the name for Guard
}

// KeepAlive pings a client. onSilence is called when a ping was not answered in time, with whether a message was read
// meanwhile; it returns whether to ping again. An answer is noticed only while a goroutine reads the connection. There
// is no goroutine between two pings. stop waits for a ping that is under way: call it when the connection has ended,
// and not in onSilence.
func (c *Conn) KeepAlive(p Pings, onSilence func(heard bool) (goOn bool)) (stop func()) {
	k := &keepAlive{conn: c, pings: p, onSilence: onSilence}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.next = time.AfterFunc(p.Every, k.ping)
	return k.stop
}

type keepAlive struct {
	conn      *Conn
	pings     Pings
	onSilence func(heard bool) (goOn bool)

	mu      sync.Mutex
	next    *time.Timer
	stopped bool
	running sync.WaitGroup
}

func (k *keepAlive) ping() {
	if !k.begin() {
		return
	}
	defer k.running.Done()
	goOn := true
	if k.pings.Guard.Do(k.pings.Goroutine, func() error { goOn = k.pingOnce(); return nil }) != nil {
		k.conn.Cut()
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if goOn && !k.stopped {
		k.next.Reset(k.pings.Every)
	}
}

// begin returns false after stop.
func (k *keepAlive) begin() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.stopped {
		return false
	}
	k.running.Add(1)
	return true
}

func (k *keepAlive) pingOnce() (goOn bool) {
	// Before the ping, to tell whether the client was heard while it was not answered.
	read := k.conn.messages.Load()
	ctx, cancel := context.WithTimeout(context.Background(), k.pings.Within)
	defer cancel()
	if k.conn.socket.Ping(ctx) == nil {
		return true
	}
	return k.onSilence(k.conn.messages.Load() != read)
}

func (k *keepAlive) stop() {
	k.mu.Lock()
	k.stopped = true
	k.next.Stop()
	k.mu.Unlock()
	k.running.Wait()
}
