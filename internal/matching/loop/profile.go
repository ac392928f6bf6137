package loop

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/match/decide"
	"github.com/lattice-director/director/match/profile"
)

var errFunction = errors.New("this worker calls no match functions")

// ownedProfile is a profile that this worker decides for.
type ownedProfile struct {
	name          string
	ownerEpoch    int64
	version       int
	profile       *profile.Profile
	lotSeed       uint64                      // see newSeed
	liveDecider   *decider                    // nil for a profile with a function
	function      *function                   // nil for a profile that teams and rules decide
	isPaused      bool                        // by an operator: it decides nothing
	failedAt      time.Time                   // when a turn last failed; zero: never
	mayHaveChecks bool                        // ready checks may be open, of its version or of an earlier one
	openChecks    int                         // open ready checks that were read last, and those begun since
	waitTimes     *waits                      // nil until the former owner's waiting times are read
	openMatches   map[string]db.JoinableMatch // the matches that newcomers may join, by session
	rostersRead   time.Time                   // when openMatches were read; zero: not yet
	shadow        *shadow                     // nil: none
	freeTimes     []time.Time                 // when freeAbandoned frees the tickets of former owners
}

// candidateCount returns the number of tickets that wait for a match of the profile, as of its last turn.
func (p *ownedProfile) candidateCount() int {
	if p.function != nil {
		return p.function.Len()
	}
	return p.liveDecider.candidateCount
}

// ownWeight returns what the profile adds to the weight of this worker: itself and its candidates.
func (p *ownedProfile) ownWeight() int { return 1 + p.candidateCount() }

// takesUnnamedTickets reports whether the live version or the shadow takes tickets that ask for no profile.
func (p *ownedProfile) takesUnnamedTickets() bool {
	return p.profile.Pool != nil || p.shadow != nil && p.shadow.profile != nil && p.shadow.profile.Pool != nil
}

// sessionSize is how many seats the session of a match has.
func (p *ownedProfile) sessionSize(found decide.Proposal) int {
	// A profile with a function has no teams.
	if p.function != nil {
		return found.Players()
	}
	n := 0
	for _, t := range p.profile.Teams {
		n += t.Max
	}
	return n
}

// replaceEngine replaces what decides for the profile by an engine or a function of its version, without candidates.
// Call it after version, profile and lotSeed are set.
func (p *ownedProfile) replaceEngine() {
	p.liveDecider, p.function = nil, nil
	if p.profile.Function != nil {
		p.function = newFunction(p.profile)
		return
	}
	p.liveDecider = newDecider(decide.Version{Profile: p.profile, Number: p.version}, p.lotSeed)
}

// newSeed returns the number that draws between what the rules leave open. It is stored with each match, so that a
// replay decides the same.
func newSeed() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:])                    // it never fails
	return binary.BigEndian.Uint64(b[:]) >> 1 // Postgres's bigint has a sign
}

// nextDecision returns when time alone may make a decision of the profile possible, by this machine's clock; the
// database's is dbAhead of it. ok is false if time alone makes none possible, or while a turn or call of the profile
// runs.
func (p *ownedProfile) nextDecision(dbAhead time.Duration) (at time.Time, ok bool) {
	if p.function != nil {
		at, ok = p.function.Next()
		return at.Add(-dbAhead), ok
	}
	return p.liveDecider.nextAt.Add(-dbAhead), p.liveDecider.hasNext && !p.liveDecider.isRunning
}
