package console

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/lattice-director/director/internal/base/follow"
	"github.com/lattice-director/director/internal/base/panics"
)

// hub reads the pages that somebody watches. All browsers that watch the same address share one reading, whatever their
// number, and few readings run at a time, so that watching costs the database little. Safe for concurrent use.
type hub struct {
	ctx   context.Context
	stop  context.CancelFunc
	guard *panics.Guard

	mu           sync.Mutex
	topicsByKey  map[string]*topic
	openStreams  int
	maxStreams   int
	readingSlots chan struct{} // holds an element for each reading that runs
}

// maxReadings bounds the readings of a replica at a time, for all pages that are watched together.
const maxReadings = 2

// newHub makes a hub for so many streams, and as many topics. stop ends its readings.
func newHub(maxStreams int, guard *panics.Guard) *hub {
	ctx, stop := context.WithCancel(context.Background())
	return &hub{ctx: ctx, stop: stop, guard: guard, topicsByKey: map[string]*topic{}, maxStreams: maxStreams,
		readingSlots: make(chan struct{}, maxReadings)}
}

// topic is an address that somebody watches.
type topic struct {
	watcherCount  int
	nextRead      chan struct{} // closed by the next reading
	latestReading reading
}

// reading is the outcome of reading the page of a topic.
type reading struct {
	data   any
	err    error
	readAt time.Time // zero: nothing was read yet
}

// errFull means that too many browsers watch.
var errFull = errors.New("too many streams")

// watchTopic joins the watchers of a topic, whose first one starts its readings; every is the time between two of them.
// The returned leave must be called once. Errors: errFull.
func (h *hub) watchTopic(key string, every time.Duration,
	load func(context.Context) (any, error)) (t *topic, leave func(), err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t = h.topicsByKey[key]
	// Topics are bounded as well: a topic stays until its next reading when its watchers have left.
	if h.openStreams >= h.maxStreams || t == nil && len(h.topicsByKey) >= h.maxStreams {
		return nil, nil, errFull
	}
	h.openStreams++
	if t == nil {
		t = &topic{nextRead: make(chan struct{})}
		h.topicsByKey[key] = t
		go h.readTopic(key, t, every, load)
	}
	t.watcherCount++
	return t, func() { h.leaveTopic(t) }, nil
}

// leaveTopic counts a watcher out.
func (h *hub) leaveTopic(t *topic) {
	h.mu.Lock()
	defer h.mu.Unlock()
	// The topic stays until its loop runs next, which forgets it if nobody watches it then: a browser that reloads finds
	// it.
	h.openStreams--
	t.watcherCount--
}

// readTopic reads a topic until nobody watches it. As follow.Loop does, it pauses for at least as long as a reading
// takes.
func (h *hub) readTopic(key string, t *topic, every time.Duration, load func(context.Context) (any, error)) {
	// The context is not that of the request of the first watcher, who may leave before others.
	ctx, end := context.WithCancel(h.ctx)
	defer end()
	follow.Loop{Every: every, Do: func(context.Context, bool) error {
		if h.forgetUnwatched(key, t) {
			// The loop ends after this turn; whoever watches next starts another one.
			end()
			return nil
		}
		h.publishReading(t, h.readOnce(load))
		return nil
	}}.Run(ctx)
}

// forgetUnwatched forgets a topic that nobody watches, and reports whether it has.
func (h *hub) forgetUnwatched(key string, t *topic) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t.watcherCount > 0 && h.ctx.Err() == nil {
		return false
	}
	// The same lock is held while a watcher joins: nobody joins a topic whose loop ends.
	delete(h.topicsByKey, key)
	return true
}

// readOnce reads a page when a slot is free.
func (h *hub) readOnce(load func(context.Context) (any, error)) reading {
	select {
	// A page that takes long delays others, and does not add to the load.
	case h.readingSlots <- struct{}{}:
		defer func() { <-h.readingSlots }()
	case <-h.ctx.Done():
		return reading{err: h.ctx.Err(), readAt: time.Now()}
	}
	var data any
	// The watchers get a panic as an error, and later the next reading.
	err := h.guard.Do("console page", func() (err error) {
		data, err = load(h.ctx)
		return err
	})
	return reading{data, err, time.Now()}
}

// publishReading replaces the latest reading.
func (h *hub) publishReading(t *topic, r reading) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t.latestReading = r
	// Wakes all watchers, each of which takes the latest reading when it gets to it: a slow browser skips some.
	close(t.nextRead)
	t.nextRead = make(chan struct{})
}

// readingOf returns the latest reading of a topic, and a channel that is closed when there is a newer one.
func (h *hub) readingOf(t *topic) (latest reading, replaced <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return t.latestReading, t.nextRead
}
