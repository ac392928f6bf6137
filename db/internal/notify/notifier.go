package notify

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/lattice-director/director/internal/panics"
)

// sendInterval is the least time between two equal notices: each one makes all replicas query, and Postgres holds a lock of
// the whole database while a transaction that notifies commits.
const sendInterval = 10 * time.Millisecond

// sendTimeout is shorter than the interval at which subscribers poll.
const sendTimeout = 2 * time.Second

// notifier merges notices: the first is sent at once, and all equal notices that are marked while it is being sent, or within
// sendInterval after it, are sent as one. A notice has a goroutine while there is reason to send it. Safe for concurrent use.
type notifier struct {
	send func(context.Context, notice)
	log  *slog.Logger

	mu      sync.Mutex
	again   map[notice]bool // notices being sent, and whether each was marked again since
	closed  chan struct{}
	senders sync.WaitGroup
}

func newNotifier(send func(context.Context, notice), log *slog.Logger) *notifier {
	return &notifier{send: send, log: log, again: map[notice]bool{}, closed: make(chan struct{})}
}

// mark asks for a notice to be sent.
func (n *notifier) mark(what notice) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.isClosed() {
		return
	}
	_, sending := n.again[what]
	n.again[what] = sending
	if !sending {
		n.senders.Go(func() { n.run(what) })
	}
}

func (n *notifier) run(what notice) {
	for again := true; again; again = n.takeMark(what) {
		ctx, cancel := context.WithTimeout(context.Background(), sendTimeout)
		n.sendOnce(ctx, what)
		cancel()
		wait(sendInterval, n.closed)
	}
}

// sendOnce logs a panic and goes on: the notices that follow must still be sent, and subscribers poll.
func (n *notifier) sendOnce(ctx context.Context, what notice) {
	err := panics.Catch(func() error { n.send(ctx, what); return nil })
	if p, ok := errors.AsType[*panics.Error](err); ok {
		n.log.LogAttrs(ctx, slog.LevelError, "sending a notice panicked",
			append(p.Attrs(), slog.String("topic", what.topic), slog.String("region", what.region))...)
	}
}

// takeMark reports whether the notice was marked again, and clears the mark.
func (n *notifier) takeMark(what notice) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.again[what] {
		delete(n.again, what)
		return false
	}
	n.again[what] = false
	return true
}

func (n *notifier) isClosed() bool {
	select {
	case <-n.closed:
		return true
	default:
		return false
	}
}

// close waits until all marked notices have been sent.
func (n *notifier) close() {
	n.mu.Lock()
	if !n.isClosed() {
		close(n.closed)
	}
	n.mu.Unlock()
	n.senders.Wait()
}
