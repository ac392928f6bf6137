package play

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/matching/ticketbody"
	"github.com/lattice-director/director/match/profile"
)

const (
	// placesFor and estimatesFor are how long readings that many tickets share stay usable.
	placesFor    = 2 * time.Second
	estimatesFor = 5 * time.Second
	// placesKept is how long an unused reading of a profile stays in memory at least.
	placesKept = 10 * time.Second
)

// minSamples is how many tickets an estimate needs.
const minSamples = 20

// places knows when the tickets of each profile were created, so that a ticket's place is a search in a list that all
// its readers share. Safe for concurrent use.
type places struct {
	tickets Tickets

	mu        sync.Mutex
	byProfile map[string]*placesOf
}

// placesOf is the reading of one profile.
type placesOf struct {
	mu        sync.Mutex // held during a reading, so that callers that come meanwhile wait for one reading
	readAt    time.Time
	createdAt []int64 // of the queued tickets, in Unix nanoseconds, ascending
}

func newPlaces(t Tickets) *places { return &places{tickets: t, byProfile: map[string]*placesOf{}} }

// placeIn returns the place of a ticket in the queue of a profile, from 1; 0 where it cannot be read.
func (p *places) placeIn(ctx context.Context, name string, ticketCreated time.Time) int {
	entry := p.entryOf(name)
	entry.mu.Lock()
	defer entry.mu.Unlock()
	if time.Since(entry.readAt) > placesFor {
		created, err := p.tickets.Store.QueuedSince(ctx, p.tickets.Region, ticketbody.ProfileTag+name)
		// Without a place the document is still of use, and an old place would be a wrong one.
		if err != nil {
			return 0
		}
		entry.createdAt, entry.readAt = created, time.Now()
	}
	// The list may be two seconds old and lack this ticket: its place is where it would be.
	before, _ := slices.BinarySearch(entry.createdAt, ticketCreated.UnixNano())
	return before + 1
}

// entryOf returns the last reading of a profile, which it adds, empty, if there was none.
func (p *places) entryOf(name string) *placesOf {
	p.mu.Lock()
	defer p.mu.Unlock()
	entry := p.byProfile[name]
	if entry == nil {
		p.forgetUnused()
		entry = &placesOf{}
		p.byProfile[name] = entry
	}
	return entry
}

// forgetUnused drops the readings that nobody renewed.
func (p *places) forgetUnused() {
	for name, entry := range p.byProfile {
		// A reading that is locked is in use.
		if entry.mu.TryLock() {
			if time.Since(entry.readAt) > placesKept {
				delete(p.byProfile, name)
			}
			entry.mu.Unlock()
		}
	}
}

// estimates knows the waiting times of all profiles. Safe for concurrent use.
type estimates struct {
	tickets Tickets

	mu        sync.Mutex
	readAt    time.Time
	byProfile map[string][]db.WaitingTime
}

func newEstimates(t Tickets) *estimates { return &estimates{tickets: t} }

// estimateFor returns how long tickets like this one waited of late; nil where too few did.
func (e *estimates) estimateFor(ctx context.Context, p *profile.Profile, body []byte) *estimate {
	times := e.readTimes(ctx)[p.Name]
	if len(times) == 0 {
		return nil
	}
	// The last time has no upper limit; a profile without a pivot has no other.
	t := times[len(times)-1]
	if pivot := p.Pivot(); pivot != "" {
		n := numberOf(body, pivot)
		if i := slices.IndexFunc(times, func(t db.WaitingTime) bool { return n <= t.UpTo }); i >= 0 {
			t = times[i]
		}
	}
	if t.SampleCount < minSamples {
		return nil
	}
	return &estimate{P50: t.P50.Seconds(), P90: t.P90.Seconds(), Samples: t.SampleCount}
}

// readTimes returns the waiting times by profile, which are older than estimatesFor only while they cannot be read.
func (e *estimates) readTimes(ctx context.Context) map[string][]db.WaitingTime {
	e.mu.Lock()
	defer e.mu.Unlock()
	if time.Since(e.readAt) <= estimatesFor {
		return e.byProfile
	}
	// After a failure the times of the last reading are better than none, and the next caller tries again.
	if all, err := e.tickets.Store.WaitingTimes(ctx, e.tickets.Region); err == nil {
		e.byProfile, e.readAt = all, time.Now()
	}
	return e.byProfile
}

// estimate is how long tickets like this one waited of late, in seconds.
type estimate struct {
	P50     float64 `json:"p50"`
	P90     float64 `json:"p90"`
	Samples int     `json:"samples"`
}

// numberOf returns the mean of a number over the players of a ticket; 0 without one.
func numberOf(body []byte, name string) float64 {
	t, err := ticketbody.Decode("", time.Time{}, body, "")
	if err != nil {
		return 0
	}
	return t.Mean(name)
}
