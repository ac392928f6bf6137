package loop

import (
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/decide"
	"github.com/lattice-director/director/match/profile"
)

const (
	// functionInterval is how often a function is called while candidates wait and none is new, since its rules may widen with time.
	functionInterval = 5 * time.Second
	// functionPauseMax bounds the pauses of a function that fails. They double, beginning with the profile's every.
	functionPauseMax = 30 * time.Second
	// maxFunctionCalls bounds the concurrent calls of functions on this worker; a call beyond it waits for functionTurn.
	maxFunctionCalls = 64
	functionTurn     = 100 * time.Millisecond
)

// function schedules the calls of a profile's match function. Its times are the database's.
type function struct {
	profile *profile.Profile
	rest    *decide.Completer // adds modes, regions and seats to its matches
	regions []decide.Region
	waits   map[string]bool // ids of the candidates
	fresh   bool            // a candidate is new since the last call began
	calling bool
	began   time.Time // the last call
	next    time.Time // not to be called before
	pauses  *backoff.ExponentialBackOff
	failure string // of the last call; "" when it succeeded
}

func newFunction(p *profile.Profile) *function {
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval, pauses.Multiplier, pauses.MaxInterval = p.Function.Every, 2, max(functionPauseMax, p.Function.Every)
	return &function{profile: p, rest: decide.NewCompleter(p), waits: map[string]bool{}, pauses: pauses}
}

// Add implements engine.
func (f *function) Add(t *match.Ticket) {
	delete(f.waits, t.ID)
	if ok, _ := f.rest.Candidate(t); ok {
		f.waits[t.ID], f.fresh = true, true
	}
}

// Remove implements engine.
func (f *function) Remove(id string) { delete(f.waits, id) }

// Return implements engine. The function may propose the tickets again.
func (f *function) Return(...string) { f.fresh = true }

// Has implements engine.
func (f *function) Has(id string) bool { return f.waits[id] }

// Len implements engine.
func (f *function) Len() int { return len(f.waits) }

// SetRegions implements engine.
func (f *function) SetRegions(regions []decide.Region) { f.regions = regions }

// Next implements engine: when the function is called next.
func (f *function) Next() (at time.Time, ok bool) {
	at = f.next
	if again := f.began.Add(functionInterval); !f.fresh && again.After(at) {
		at = again
	}
	return at, len(f.waits) > 0 && !f.calling
}

// begin records the beginning of a call.
func (f *function) begin(now time.Time) {
	f.calling, f.fresh, f.began, f.next = true, false, now, now.Add(f.profile.Function.Every)
}

// end records the end of a call. Each failure in a row doubles the pause before the next call.
func (f *function) end(now time.Time, failed bool) {
	f.calling = false
	if !failed {
		f.pauses.Reset()
		return
	}
	f.fresh = true
	if at := now.Add(f.pauses.NextBackOff()); at.After(f.next) {
		f.next = at
	}
}

// callFunction starts a call of a profile's function, concurrent with the loop, when it is due.
func (l *Loop) callFunction(p *owned) {
	now, f := l.moment(), p.function
	if at, ok := f.Next(); !ok || at.After(now) {
		return
	}
	if l.calls.running >= maxFunctionCalls {
		f.next = now.Add(functionTurn)
		return
	}
	f.begin(now)
	l.calls.running++
	call := &functionCall{matchmaker: l.Matchmaker, store: l.Store, universe: l.Universe, playerArg: l.PlayerArg, now: now, profile: f.profile, of: p.name, epoch: p.epoch,
		function: f}
	l.calls.begun.Go(func() { l.calls.report(call) })
}
