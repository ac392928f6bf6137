package waitingroom

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
)

// servers is a fake of the store: it has seats, and counts the calls.
type servers struct {
	mu      sync.Mutex
	seats   map[string]int // free, by mode
	err     error          // of Place and PutWaiting
	outlook fault.Outlook
	record

	begun    chan struct{} // if set, Place sends to it and then waits for resume
	resume   chan struct{}
	capacity chan struct{}
}

// record is what has happened.
type record struct {
	demand  map[string]db.Waiting
	seated  []string // subs, in order
	givenUp []string
	places  int

	written  map[string]time.Time // demand of a sub, last
	rows     int                  // of demand that were written
	mostRows int                  // of one call
}

func newServers() *servers {
	return &servers{seats: map[string]int{}, record: record{demand: map[string]db.Waiting{}, written: map[string]time.Time{}}, capacity: make(chan struct{}, 1)}
}

// settled waits until all goroutines are idle and queues may ask again.
func settled() {
	<-time.After(askInterval)
	synctest.Wait()
}

// now returns a copy of the record.
func (s *servers) now() record {
	settled()
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.record
	r.demand, r.written, r.seated, r.givenUp = maps.Clone(r.demand), maps.Clone(r.written), slices.Clone(r.seated), slices.Clone(r.givenUp)
	return r
}

func (s *servers) Place(_ context.Context, r db.PlaceRequest) (db.Placement, error) {
	if s.begun != nil {
		s.begun <- struct{}{}
		<-s.resume
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.places++
	switch {
	case s.err != nil:
		return db.Placement{}, s.err
	case s.seats[r.Mode] == 0:
		return db.Placement{}, &fault.Error{Kind: fault.NoCapacity, Code: "no_capacity"}
	}
	s.seats[r.Mode]--
	s.seated = append(s.seated, r.Caller)
	delete(s.demand, r.Caller)
	return db.Placement{SessionID: "s-" + r.Caller, Mode: r.Mode}, nil
}

func (s *servers) GiveUpSeat(_ context.Context, _, sub string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.givenUp = append(s.givenUp, sub)
	return nil
}

func (s *servers) PutWaiting(_ context.Context, _ string, _ time.Duration, waiting []db.Waiting) ([]fault.Outlook, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return nil, s.err
	}
	s.rows, s.mostRows = s.rows+len(waiting), max(s.mostRows, len(waiting))
	for _, w := range waiting {
		s.demand[w.Player], s.written[w.Player] = w, time.Now()
	}
	return []fault.Outlook{s.outlook}, nil
}

func (s *servers) EndWaiting(_ context.Context, waiting []db.Waiting) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range waiting {
		delete(s.demand, w.Player)
	}
	return nil
}

func (s *servers) Subscribe(string, string) (wake <-chan struct{}, stop func()) {
	return s.capacity, func() {}
}

// add frees seats and rings for them.
func (s *servers) add(mode string, seats int) {
	s.change(func() { s.seats[mode] += seats })
	s.capacity <- struct{}{}
}

func (s *servers) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// setup runs a room in virtual time.
func setup(t *testing.T, fn func(t *testing.T, s *servers, r *Room)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newServers()
		r := New(Options{Store: s})
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { r.Run(ctx) })
		synctest.Wait()
		fn(t, s, r)
		stop()
		running.Wait()
	})
}

func join(t *testing.T, r *Room, subs ...string) []*Player {
	t.Helper()
	var players []*Player
	for _, sub := range subs {
		p, err := r.Join(Request{Region: "eu", Mode: "duel", Sub: sub, MaxPlayers: 2})
		if err != nil {
			t.Fatal(err)
		}
		players = append(players, p)
	}
	return players
}

func names(n int) []string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("p%03d", i))
	}
	return all
}

// panicking is a store whose Place panics.
type panicking struct{ *servers }

func (panicking) Place(context.Context, db.PlaceRequest) (db.Placement, error) { panic("a bug") }
