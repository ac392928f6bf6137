package loop

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/match"
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

// engine knows the candidates of a profile; see [decide.Engine].
type engine interface {
	Add(t *match.Ticket)
	Remove(id string)
	Return(ids ...string)
	Has(id string) bool
	Len() int
	Next() (at time.Time, ok bool)
	SetRegions(regions []decide.Region)
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

// passChange passes a change on to the live version of a profile.
func (l *Loop) passChange(p *owned, c change) {
	if p.liveDecider != nil {
		p.liveDecider.putChange(c)
		return
	}
	for whole := false; !whole; {
		whole = c.applyPart(p.function, l.options.PlayerArg)
	}
}

func (p *owned) matchOwner(l *Loop) db.MatchOwner {
	return db.MatchOwner{Universe: l.options.Universe, WorkerID: l.lease.workerID, ProfileName: p.name,
		Epoch: p.ownerEpoch}
}

// sessionSize is how many seats the session of a match has.
func (p *owned) sessionSize(found decide.Proposal) int {
	if p.function != nil {
		return found.Players()
	}
	n := 0
	for _, t := range p.profile.Teams {
		n += t.Max
	}
	return n
}

// fillProfile gives a version that begins to decide the game regions and the queue without the tickets that are taken.
func (l *Loop) fillProfile(p *owned) {
	entries := l.candidateEntries(p.name, p.profile.Pool != nil, l.ticketsUnderWay(p.name))
	now := l.currentMoment()
	l.passChange(p, change{moment: now, kind: regionsChanged, regions: l.hosts.regionsOf(p.profile)})
	l.passChange(p, change{moment: now, kind: candidatesCame, entries: entries})
	if p.liveDecider != nil {
		p.liveDecider.candidateCount = len(entries)
	}
}

// candidateEntries returns the free tickets that a profile may take, without those that are taken.
func (l *Loop) candidateEntries(profile string, hasPool bool, taken map[string]bool) []*entry {
	now := l.currentMoment()
	return slices.DeleteFunc(l.queue.byProfile.entriesOf(profile, hasPool),
		func(e *entry) bool { return !e.isFree(now) || taken[e.id] })
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

// dropProfile forgets a profile. Its tickets are candidates of other profiles all the same.
func (l *Loop) dropProfile(name string) {
	l.forgetProfile(name)
	l.freeAll(name)
	l.waiting.dropProfile(name)
	l.waiting.isDemandStale = true // the database may have demand of a retired profile
	l.commits.dropProfile(name)
	l.holds = l.holds.withoutProfile(name)
}

// ticketsUnderWay are the tickets of a profile's matches that are under way. They stay candidates of other profiles.
func (l *Loop) ticketsUnderWay(name string) map[string]bool {
	all := append(l.commits.allJobs(), l.waiting.jobs...)
	return ticketsOf(slices.DeleteFunc(all, func(j *job) bool { return j.match.Profile != name }))
}

func ticketsOf(jobs []*job) map[string]bool {
	all := map[string]bool{}
	for _, j := range jobs {
		for _, t := range j.match.Tickets {
			all[t.ID] = true
		}
	}
	return all
}

// hold keeps tickets of a profile from being candidates until a moment.
type hold struct {
	heldUntil time.Time
	profile   string
	tickets   []string
}

type holds []hold

func (h holds) withoutProfile(name string) (rest holds) {
	for _, hold := range h {
		if hold.profile != name {
			rest = append(rest, hold)
		}
	}
	return rest
}

// returnAfter makes tickets candidates of a profile again after a while.
func (l *Loop) returnAfter(d time.Duration, name string, tickets []string) {
	l.holds = append(l.holds, hold{time.Now().Add(d), name, tickets})
}

// returnTickets makes tickets of a dropped match candidates of a profile again, at their place. An engine that began
// while they were taken does not have them.
func (l *Loop) returnTickets(p *owned, tickets []string) {
	c := change{moment: l.currentMoment(), kind: candidatesReturned, ticketIDs: tickets}
	for _, id := range tickets {
		if e := l.queue.entryByID[id]; e != nil && e.isPlayable() && e.isFree(c.moment) {
			c.entries = append(c.entries, e)
		}
	}
	l.passChange(p, c)
}

// releaseHolds returns the tickets that were held for long enough.
func (l *Loop) releaseHolds() {
	now := time.Now()
	var rest holds
	for _, h := range l.holds {
		switch p := l.profiles[h.profile]; {
		case now.Before(h.heldUntil):
			rest = append(rest, h)
		case p != nil:
			l.returnTickets(p, h.tickets)
		}
	}
	l.holds = rest
}

// logDecision tells what was decided, at debug level: matches are in match_history.
func (l *Loop) logDecision(ctx context.Context, p *owned, found decide.Proposal) {
	l.options.Log.LogAttrs(ctx, slog.LevelDebug, "match decided", slog.String("profile", p.name),
		slog.Int("version", p.version),
		slog.String("anchor", found.Anchor), slog.Int("tickets", len(found.Tickets)))
}
