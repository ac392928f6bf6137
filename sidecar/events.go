package sidecar

import (
	"sync"

	"github.com/lattice-director/director/sdk"
)

const (
	maxListeners = 16  // to the events of one game server
	maxUnread    = 256 // events of a listener; one that has more unread is cut off, and listens again
)

// event is what is sent to a game server: status, players, sessions or kick.
type event struct {
	Name string
	Data any
}

type playerIDs struct {
	Players []string `json:"players"` // ids of all admissions that are not over
}

type sessionList struct {
	Sessions []sdk.SessionRoster `json:"sessions"`
}

// events delivers events to listeners, in order and without waiting for them.
type events struct {
	// first returns what a new listener gets first. It takes the lock of the game, under which publishEvent is called.
	first func() []event

	mu        sync.Mutex
	listeners map[chan event]struct{}
}

func newEvents(first func() []event) *events {
	return &events{first: first, listeners: map[chan event]struct{}{}}
}

// addListener returns the first events, and a channel of the following ones, which is closed if the listener is too
// slow, or when stop is called. Errors: errTooManyListeners.
func (e *events) addListener() (first []event, next <-chan event, stop func(), err error) {
	c := make(chan event, maxUnread)
	e.mu.Lock()
	if len(e.listeners) == maxListeners {
		e.mu.Unlock()
		return nil, nil, nil, errTooManyListeners
	}
	// Before e.first reads the state: an event in between arrives twice rather than not at all.
	e.listeners[c] = struct{}{}
	e.mu.Unlock()
	// What is published from here on may be in first, too. Each event has the whole state, so twice does no harm.
	return e.first(), c, func() { e.dropListener(c) }, nil
}

func (e *events) dropListener(c chan event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.endStreamLocked(c)
}

// endStreamLocked ends the channel of a listener, once: the listener may have been cut off before.
func (e *events) endStreamLocked(c chan event) {
	if _, listens := e.listeners[c]; listens {
		delete(e.listeners, c)
		close(c)
	}
}

// publishEvent does not block: it is called under the lock of the game.
func (e *events) publishEvent(name string, data any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for c := range e.listeners {
		select {
		case c <- event{name, data}:
		default:
			// The listener loses nothing: when it listens again, it gets the whole state first.
			e.endStreamLocked(c)
		}
	}
}
