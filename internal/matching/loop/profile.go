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

// owned is a profile that this worker decides for.
type owned struct {
	name          string
	ownerEpoch    int64
	version       int
	profile       *profile.Profile
	lotSeed       uint64
	liveDecider   *decider                // nil for a profile with a function
	function      *function               // nil for a profile that teams and rules decide
	isPaused      bool                    // by an operator: it decides nothing
	failedAt      time.Time               // when a turn last failed; zero: never
	mayHaveChecks bool                    // ready checks may be open: of its version, or of one before
	openChecks    int                     // open ready checks, as of the last second and begun since
	waitTimes     *waits                  // nil until the former owner's waiting times are read
	openMatches   map[string]db.OpenMatch // the matches that newcomers may join, by session
	rostersRead   time.Time               // zero: not yet
	shadow        *shadow                 // nil: none
	freeTimes     []time.Time             // when the tickets of former owners are freed
}

// candidateCount returns the number of tickets that wait for a match of the profile, as of its last turn.
func (p *owned) candidateCount() int {
	if p.function != nil {
		return p.function.Len()
	}
	return p.liveDecider.candidateCount
}

// ownWeight is what the profile adds to what this worker decides about.
func (p *owned) ownWeight() int { return 1 + p.candidateCount() }

// hasPool reports whether a version takes tickets that ask for no profile.
func (p *owned) hasPool() bool {
	return p.profile.Pool != nil || p.shadow != nil && p.shadow.profile != nil && p.shadow.profile.Pool != nil
}

// sessionSize is how many seats the session of a match has.
func (p *owned) sessionSize(found decide.Proposal) int {
	// Such a profile has no teams: the session has the seats of its match.
	if p.function != nil {
		return found.Players()
	}
	n := 0
	for _, t := range p.profile.Teams {
		n += t.Max
	}
	return n
}

// decideBy makes what decides by a version of the profile, without candidates.
func (p *owned) decideBy(read *profile.Profile) {
	p.liveDecider, p.function = nil, nil
	if read.Function != nil {
		p.function = newFunction(read)
		return
	}
	p.liveDecider = newDecider(decide.Version{Profile: read, Number: p.version}, p.lotSeed)
}

// newSeed returns the number that draws between what the rules leave open. It is stored with each match, so that a
// replay decides the same.
func newSeed() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:])                    // it never fails
	return binary.BigEndian.Uint64(b[:]) >> 1 // Postgres's bigint has a sign
}

// nextDecision returns when a profile may have something to decide, by this machine's clock; ok is false if it has
// nothing, or decides now.
func (p *owned) nextDecision(skew time.Duration) (at time.Time, ok bool) {
	if p.function != nil {
		at, ok = p.function.Next()
		return at.Add(-skew), ok
	}
	return p.liveDecider.nextAt.Add(-skew), p.liveDecider.hasNext && !p.liveDecider.isRunning
}
