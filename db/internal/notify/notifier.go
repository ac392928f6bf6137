package notify

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/lattice-director/director/internal/base/panics"
)

// sendInterval is the least time between two equal notices: each one makes all replicas query, and Postgres holds a
// lock of the whole database while a transaction that notifies commits.
const sendInterval = 10 * time.Millisecond

// keyedInterval is the sendInterval of notices with keys, which are frequent and wake few subscribers each.
const keyedInterval = 50 * time.Millisecond

// urgentKeyedInterval is the keyedInterval of urgent topics. Each notice is a commit, and hundreds of changes a second
// share it.
const urgentKeyedInterval = 5 * time.Millisecond

// urgentInterval is the sendInterval of topics whose notices players wait for.
const urgentInterval = 2 * time.Millisecond

// maxKeys bounds the keys of a notice, of at most seven bytes each: Postgres sends payloads of less than 8,000 bytes. A
// notice with more keys is sent without keys, which means all.
const maxKeys = 512

// sendTimeout is shorter than the interval at which subscribers poll.
const sendTimeout = 2 * time.Second

// notifier merges notices: the first is sent at once, and all equal notices that are marked while it is being sent, or
// within an interval after it, are sent as one, with the keys of all. A notice has a goroutine while there is reason to
// send it. Safe for concurrent use.
type notifier struct {
	sendNotice   func(ctx context.Context, what notice, keys []string)
	urgentTopics []string
	log          *slog.Logger

	mu             sync.Mutex
	marksByNotice  map[notice]*mark // by notice that is being sent: the mark that it got since
	closed         chan struct{}
	runningSenders sync.WaitGroup
}

// mark collects the keys of a notice that is to be sent.
type mark struct {
	isSet      bool
	isForAll   bool
	markedKeys map[string]struct{}
}

// addKeys adds keys; none means all.
func (m *mark) addKeys(keys []string) {
	m.isSet = true
	m.isForAll = m.isForAll || len(keys) == 0 || len(m.markedKeys)+len(keys) > maxKeys
	if m.isForAll {
		m.markedKeys = nil
		return
	}
	if m.markedKeys == nil {
		m.markedKeys = make(map[string]struct{}, len(keys))
	}
	for _, k := range keys {
		m.markedKeys[k] = struct{}{}
	}
}

func newNotifier(send func(context.Context, notice, []string), log *slog.Logger) *notifier {
	return &notifier{sendNotice: send, log: log, marksByNotice: map[notice]*mark{}, closed: make(chan struct{})}
}

// markNotice asks for a notice to be sent.
func (n *notifier) markNotice(what notice, keys []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.isClosed() {
		return
	}
	if nextMark, isBeingSent := n.marksByNotice[what]; isBeingSent {
		nextMark.addKeys(keys)
		return
	}
	first := mark{}
	first.addKeys(keys)
	n.marksByNotice[what] = &mark{}
	n.runningSenders.Go(func() { n.sendMarked(what, first) })
}

// sendMarked sends a notice, and again as long as it is marked, in intervals.
func (n *notifier) sendMarked(what notice, m mark) {
	for ; m.isSet; m = n.takeMark(what) {
		ctx, cancel := context.WithTimeout(context.Background(), sendTimeout)
		n.sendOnce(ctx, what, slices.Collect(maps.Keys(m.markedKeys)))
		cancel()
		waitUntilDone(n.intervalAfter(what, m), n.closed)
	}
}

// intervalAfter returns the least time until an equal notice is sent.
func (n *notifier) intervalAfter(what notice, m mark) time.Duration {
	isUrgent := slices.Contains(n.urgentTopics, what.topic)
	switch {
	case isUrgent && m.markedKeys != nil:
		return urgentKeyedInterval
	case isUrgent:
		return urgentInterval
	case m.markedKeys != nil:
		return keyedInterval
	}
	return sendInterval
}

// sendOnce sends a notice. It logs a panic and returns: later notices must still be sent, and subscribers poll.
func (n *notifier) sendOnce(ctx context.Context, what notice, keys []string) {
	err := panics.Catch(func() error { n.sendNotice(ctx, what, keys); return nil })
	if p, ok := errors.AsType[*panics.Error](err); ok {
		n.log.LogAttrs(ctx, slog.LevelError, "sending a notice panicked",
			append(p.Attrs(), slog.String("topic", what.topic), slog.String("region", what.region))...)
	}
}

// takeMark takes the mark that the notice got meanwhile. Without one, the notice is no longer being sent.
func (n *notifier) takeMark(what notice) mark {
	n.mu.Lock()
	defer n.mu.Unlock()
	m := *n.marksByNotice[what]
	if m.isSet {
		*n.marksByNotice[what] = mark{}
	} else {
		delete(n.marksByNotice, what)
	}
	return m
}

func (n *notifier) isClosed() bool {
	select {
	case <-n.closed:
		return true
	default:
		return false
	}
}

// close refuses further notices, and waits until all marked ones have been sent.
func (n *notifier) close() {
	n.mu.Lock()
	if !n.isClosed() {
		close(n.closed)
	}
	n.mu.Unlock()
	n.runningSenders.Wait()
}
