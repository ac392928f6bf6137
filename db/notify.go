package db

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"sync"
	"time"
)

// What replicas tell each other about.
const (
	TopicTickets = "tickets" // some were assigned, or deleted: see [Store.SettledSince]
	TopicCycle   = "cycle"   // matching went on
)

// notice says that there is something new to read about a topic in a region, and nothing else: it may come twice, and it
// may be lost.
type notice struct{ topic, region string }

// Notify wakes whoever subscribed to a topic in a region, here at once and then on all other replicas. Call it after the
// commit that there is to read. It returns at once and may be called as often as there is reason to.
func (s *Store) Notify(topic, region string) {
	what := notice{topic, region}
	s.listener.wake(what)
	s.notifier.mark(what)
}

// Notices make queries on all replicas, and a lock of the whole database is held while one commits. So they have a
// transaction of their own, and leave no more often than this.
const noticePause = 10 * time.Millisecond

// noticeTimeout is less than who listens waits for the next look.
const noticeTimeout = 2 * time.Second

// A notifier makes few notices of many: the first leaves at once, and what is marked while it is on its way, or shortly
// after, leaves as one. Each notice has a goroutine while there is reason to send it. Safe for concurrent use.
type notifier struct {
	sender string // tells our own notices from others'
	send   func(context.Context, notice)
	log    *slog.Logger

	mu      sync.Mutex
	again   map[notice]bool // those on their way, and whether they have to leave once more
	closed  chan struct{}
	senders sync.WaitGroup
}

func newNotifier(send func(context.Context, notice), log *slog.Logger) *notifier {
	return &notifier{sender: rand.Text(), send: send, log: log, again: map[notice]bool{}, closed: make(chan struct{})}
}

func (n *notifier) mark(what notice) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.isClosed() {
		return
	}
	_, underway := n.again[what]
	n.again[what] = underway
	if !underway {
		n.senders.Go(func() { n.run(what) })
	}
}

func (n *notifier) run(what notice) {
	for again := true; again; again = n.takeMark(what) {
		ctx, cancel := context.WithTimeout(context.Background(), noticeTimeout)
		n.attempt(ctx, what)
		cancel()
		n.rest()
	}
}

// attempt survives a panic: other replicas find out by polling, and the notices that follow have a right to be sent.
func (n *notifier) attempt(ctx context.Context, what notice) {
	err := withoutPanic(func() error { n.send(ctx, what); return nil })
	if bug, ok := errors.AsType[*panicError](err); ok {
		n.log.LogAttrs(ctx, slog.LevelError, "sending a notice panicked",
			append(bug.attrs(), slog.String("topic", what.topic), slog.String("region", what.region))...)
	}
}

func (n *notifier) rest() {
	t := time.NewTimer(noticePause)
	defer t.Stop()
	select {
	case <-t.C:
	case <-n.closed:
	}
}

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

// close waits until what was marked has left.
func (n *notifier) close() {
	n.mu.Lock()
	if !n.isClosed() {
		close(n.closed)
	}
	n.mu.Unlock()
	n.senders.Wait()
}

// sendNotice wakes who subscribed on other replicas.
func (s *Store) sendNotice(ctx context.Context, n notice) {
	if err := s.q.Notify(ctx, n.topic+":"+n.region+":"+s.notifier.sender); err != nil {
		s.cfg.Log.LogAttrs(ctx, slog.LevelDebug, "other replicas find out by polling: they could not be notified",
			slog.String("topic", n.topic), slog.String("region", n.region), slog.Any("error", err))
	}
}
