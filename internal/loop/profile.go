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
	"github.com/lattice-director/director/internal/ticketbody"
	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/decide"
	"github.com/lattice-director/director/match/profile"
)

var errRestarted = errors.New("Postgres was restarted or replaced: the queue is read again")

var errFunction = errors.New("this worker calls no match functions")

// owned is a profile that this worker decides for.
type owned struct {
	name        string
	epoch       int64
	version     int
	profile     *profile.Profile
	seed        uint64
	engine      engine                  // knows the candidates: decides or function
	decides     *decide.Engine          // nil for a profile with a function
	function    *function               // nil for a profile that teams and rules decide
	dirty       bool                    // the engine has something to search for
	paused      bool                    // by an operator: it decides nothing
	at          time.Time               // the moment of its next decision, or of its last
	asks        bool                    // ready checks may be open: of its version, or of one before
	checks      int                     // open ready checks, as of the last second and begun since
	waits       *waits                  // nil until the former owner's waiting times are read
	rosters     map[string]db.OpenMatch // the matches that newcomers may join, by session
	rostersRead time.Time               // zero: not yet
	shadow      *shadow                 // nil: none
	frees       []time.Time             // when the tickets of former owners are freed
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

// weight is what the profile adds to what this worker decides about.
func (p *owned) weight() int {
	if p.engine == nil {
		return 1
	}
	return 1 + p.engine.Len()
}

func (p *owned) owner(l *Loop) db.MatchOwner {
	return db.MatchOwner{Universe: l.Universe, Worker: l.lease.id, Profile: p.name, Epoch: p.epoch}
}

// size is how many seats the session of a match has.
func (p *owned) size(found decide.Proposal) int {
	if p.function != nil {
		return found.Players()
	}
	n := 0
	for _, t := range p.profile.Teams {
		n += t.Max
	}
	return n
}

// load reads a version of a profile and lets it decide about the whole queue. Matches that were decided by the version before
// are committed as they are.
func (l *Loop) load(ctx context.Context, p *owned, version int) error {
	stored, err := l.Store.Profile(ctx, l.Universe, p.name, version)
	if err != nil {
		return err
	}
	read, err := profile.ParseStored([]byte(stored.Document))
	if err == nil && read.Function != nil && l.Matchmaker == nil {
		err = errFunction
	}
	if err != nil {
		l.cannotRead(ctx, p.name, version, err)
		return nil
	}
	p.version, p.profile, p.seed, p.rosters, p.rostersRead, p.asks = version, read, newSeed(), nil, time.Time{}, true
	p.decideBy(read)
	l.fill(p.engine, read, l.taken(p.name))
	p.wake(l.now)
	return nil
}

// fill gives an engine the game regions and the queue without the tickets that are taken.
func (l *Loop) fill(engine engine, p *profile.Profile, taken map[string]bool) {
	engine.SetRegions(l.hosts.regionsOf(p))
	now := l.moment()
	for _, e := range l.queue.entries {
		if !e.free(now) || taken[e.id] {
			continue
		}
		if t, err := l.decode(e); err == nil {
			engine.Add(t)
		}
	}
}

// decideBy makes the engine for a version of the profile, without candidates.
func (p *owned) decideBy(read *profile.Profile) {
	if read.Function != nil {
		p.function, p.decides = newFunction(read), nil
		p.engine = p.function
		return
	}
	p.function, p.decides = nil, decide.New(decide.Version{Profile: read, Number: p.version}, p.seed)
	p.engine = p.decides
}

// cannotRead remembers a version that a newer release wrote. A profile that is decided by an older version stays with it; another
// one is left to workers of that release.
func (l *Loop) cannotRead(ctx context.Context, name string, version int, err error) {
	l.unreadable[name] = version
	l.Log.LogAttrs(ctx, slog.LevelError, "profile cannot be read by this release", slog.String("profile", name), slog.Int("version", version), slog.Any("error", err))
	if p := l.profiles[name]; p != nil && p.engine == nil {
		delete(l.profiles, name) // the next look gives it up
	}
}

// newSeed returns the number that draws between what the rules leave open. It is stored with each match, so that a replay
// decides the same.
func newSeed() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:])                    // it never fails
	return binary.BigEndian.Uint64(b[:]) >> 1 // Postgres's bigint has a sign
}

// drop forgets a profile. Its tickets are candidates of other profiles all the same.
func (l *Loop) drop(name string) {
	delete(l.profiles, name)
	l.freeAll(name)
	l.waiting.dropProfile(name)
	l.waiting.stale = true // the database may have demand of a retired profile
	l.commits.dropProfile(name)
	l.holds = l.holds.without(name)
}

func (l *Loop) decode(e *entry) (*match.Ticket, error) {
	return ticketbody.Decode(e.id, e.created, e.body, l.PlayerArg)
}

// taken are the tickets of a profile's matches that are under way. They stay candidates of other profiles.
func (l *Loop) taken(name string) map[string]bool {
	all := append(l.commits.jobs(), l.waiting.jobs...)
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
	at      time.Time
	profile string
	tickets []string
}

type holds []hold

func (h holds) without(name string) (rest holds) {
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

// again makes tickets of a dropped match candidates of a profile again, at their place. An engine that began while they were taken
// does not have them.
func (l *Loop) again(p *owned, tickets []string) {
	p.engine.Return(tickets...)
	now := l.moment()
	for _, id := range tickets {
		e := l.queue.entries[id]
		if e == nil || !e.free(now) || p.engine.Has(id) {
			continue
		}
		if t, err := l.decode(e); err == nil {
			p.engine.Add(t)
		}
	}
	p.wake(now)
}

// release returns the tickets that were held for long enough.
func (l *Loop) release() {
	now := time.Now()
	var rest holds
	for _, h := range l.holds {
		switch p := l.profiles[h.profile]; {
		case now.Before(h.at):
			rest = append(rest, h)
		case p != nil:
			l.again(p, h.tickets)
		}
	}
	l.holds = rest
}

// logDecision tells what was decided, at debug level: matches are in match_history.
func (l *Loop) logDecision(ctx context.Context, p *owned, found decide.Proposal) {
	l.Log.LogAttrs(ctx, slog.LevelDebug, "match decided", slog.String("profile", p.name), slog.Int("version", p.version),
		slog.String("anchor", found.Anchor), slog.Int("tickets", len(found.Tickets)))
}
