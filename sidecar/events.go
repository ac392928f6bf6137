package sidecar

import (
	"sync"

	"github.com/lattice-director/director/sdk"
)

const (
	maxListeners = 16  // to the events of one game server
	maxUnread    = 256 // events of a listener; one that has more unread is cut off, and listens again
)

// event is what a game server is told: status, players, sessions or kick.
type event struct {
	Name string
	Data any
}

type playerIDs struct {
	Players []string `json:"players"` // of admissions; others are over
}

type sessionList struct {
	Sessions []sdk.SessionRoster `json:"sessions"`
}

// events delivers events to listeners, in order and without waiting for them.
type events struct {
	first func() []event // what a new listener is told; it takes the lock under which publish is called

	mu        sync.Mutex
	listeners map[chan event]struct{}
}

func newEvents(first func() []event) *events {
	return &events{first: first, listeners: map[chan event]struct{}{}}
}

// addListener returns a channel of events, which is closed if the listener is too slow, or when stop is called. Errors:
// there are too many.
func (e *events) addListener() (first []event, next <-chan event, stop func(), err error) {
	c := make(chan event, maxUnread)
	e.mu.Lock()
	if len(e.listeners) == maxListeners {
		e.mu.Unlock()
		return nil, nil, nil, errTooManyListeners
	}
	// Before what is true now is read: an event in between arrives twice rather than not at all.
	e.listeners[c] = struct{}{}
	e.mu.Unlock()
	// What is published from here on may be in first, too; each event says all there is to know, so twice is no harm.
	return e.first(), c, func() { e.dropListener(c) }, nil
}

func (e *events) dropListener(c chan event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.endStream(c)
}

func (e *events) endStream(c chan event) {
	if _, listens := e.listeners[c]; listens {
		delete(e.listeners, c)
		close(c)
	}
}

func (e *events) publishEvent(name string, data any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for c := range e.listeners {
		select {
		case c <- event{name, data}:
		default:
			// It has missed nothing that it cannot learn: when it listens again, it is told all there is to know.
			e.endStream(c)
		}
	}
}
