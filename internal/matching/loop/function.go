package loop

import (
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/decide"
	"github.com/lattice-director/director/match/profile"
)

const (
	// functionInterval is how often a function is called while candidates wait and none is new, since its rules may
	// widen with time.
	functionInterval = 5 * time.Second
	// functionPauseMax bounds the pauses of a function that fails. They double, beginning with the profile's every.
	functionPauseMax = 30 * time.Second
	// maxFunctionCalls bounds the concurrent calls of functions on this worker.
	maxFunctionCalls = 64
	// functionTurn is how long a call beyond maxFunctionCalls waits until it is tried again.
	functionTurn = 100 * time.Millisecond
)

// function schedules the calls of a profile's match function. Its times are the database's.
type function struct {
	profile       *profile.Profile
	completer     *decide.Completer // adds modes, regions and seats to its matches
	hostRegions   []decide.Region
	candidateIDs  map[string]bool
	hasNew        bool // a candidate is new since the last call began
	isCalling     bool
	beganAt       time.Time // of the last call
	notBefore     time.Time // the earliest time of the next call
	failurePauses *backoff.ExponentialBackOff
	lastFailure   string // the error of the last call; "": it succeeded
}

func newFunction(p *profile.Profile) *function {
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval, pauses.Multiplier = p.Function.Every, 2
	pauses.MaxInterval = max(functionPauseMax, p.Function.Every)
	return &function{profile: p, completer: decide.NewCompleter(p), candidateIDs: map[string]bool{},
		failurePauses: pauses}
}

// Add implements engine.
func (f *function) Add(t *match.Ticket) {
	// A changed ticket may be a candidate no longer.
	delete(f.candidateIDs, t.ID)
	if ok, _ := f.completer.Candidate(t); ok {
		f.candidateIDs[t.ID], f.hasNew = true, true
	}
}

// Remove implements engine.
func (f *function) Remove(id string) { delete(f.candidateIDs, id) }

// Return implements engine. The function may propose the tickets again.
func (f *function) Return(...string) { f.hasNew = true }

// Has implements engine.
func (f *function) Has(id string) bool { return f.candidateIDs[id] }

// Len implements engine.
func (f *function) Len() int { return len(f.candidateIDs) }

// SetRegions implements engine.
func (f *function) SetRegions(regions []decide.Region) { f.hostRegions = regions }

// Next implements engine. It returns when the function is called next; ok is false while it runs or has no candidates.
func (f *function) Next() (at time.Time, ok bool) {
	at = f.notBefore
	if again := f.beganAt.Add(functionInterval); !f.hasNew && again.After(at) {
		at = again
	}
	return at, len(f.candidateIDs) > 0 && !f.isCalling
}

// beginCall records the beginning of a call.
func (f *function) beginCall(now time.Time) {
	f.isCalling, f.hasNew, f.beganAt, f.notBefore = true, false, now, now.Add(f.profile.Function.Every)
}

// endCall records the end of a call. Each failure in a row doubles the pause before the next call.
func (f *function) endCall(now time.Time, failed bool) {
	f.isCalling = false
	if !failed {
		f.failurePauses.Reset()
		return
	}
	// The candidates count as new, as before the call, so that the pause alone delays the next call.
	f.hasNew = true
	if at := now.Add(f.failurePauses.NextBackOff()); at.After(f.notBefore) {
		f.notBefore = at
	}
}
