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
	k.nextPing = time.AfterFunc(p.Every, k.pingAndJudge)
	return k.stopPings
}

type keepAlive struct {
	conn      *Conn
	pings     Pings
	onSilence func(heard bool) (goOn bool)

	mu           sync.Mutex
	nextPing     *time.Timer
	isStopped    bool
	pingsRunning sync.WaitGroup
}

// pingAndJudge sends one ping, and sets the timer for the next unless onSilence ends the pings.
func (k *keepAlive) pingAndJudge() {
	hasBegun := k.beginPing()
	if !hasBegun {
		return
	}
	defer k.pingsRunning.Done()
	goOn := true
	err := k.pings.Guard.Do(k.pings.Goroutine, func() error { goOn = k.pingOnce(); return nil })
	// After a panic nothing would notice any more that the client is gone.
	if err != nil {
		k.conn.Cut()
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if goOn && !k.isStopped {
		k.nextPing.Reset(k.pings.Every)
	}
}

// beginPing counts a ping, for which stopPings waits. It returns false after stopPings.
func (k *keepAlive) beginPing() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.isStopped {
		return false
	}
	k.pingsRunning.Add(1)
	return true
}

// pingOnce returns whether to ping again.
func (k *keepAlive) pingOnce() (goOn bool) {
	readBefore := k.conn.messagesRead.Load()
	ctx, cancel := context.WithTimeout(context.Background(), k.pings.Within)
	defer cancel()
	if k.conn.socket.Ping(ctx) == nil {
		return true
	}
	hasHeard := k.conn.messagesRead.Load() != readBefore
	return k.onSilence(hasHeard)
}

func (k *keepAlive) stopPings() {
	k.mu.Lock()
	k.isStopped = true
	k.nextPing.Stop()
	k.mu.Unlock()
	k.pingsRunning.Wait()
}
