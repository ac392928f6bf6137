package loop

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"log/slog"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/ticketbody"
	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/decide"
	"github.com/lattice-director/director/match/profile"
)

var errAnew = errors.New("Postgres was restarted or replaced: the queue is read anew")

var errFunction = errors.New("match functions of profiles are not called by this release")

// owned is a profile that this worker decides for.
type owned struct {
	name    string
	epoch   int64
	version int
	profile *profile.Profile
	seed    uint64
	engine  *decide.Engine
	dirty   bool                    // the engine has something to search for
	checks  int                     // open ready checks
	rosters map[string]db.OpenMatch // the matches that newcomers may join, by session
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

// size is how many seats the sessions of its matches have.
func (p *owned) size() int {
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
	read, err := profile.Parse([]byte(stored.Document))
	if err == nil && read.Function != nil {
		err = errFunction
	}
	if err != nil {
		l.cannotRead(ctx, p.name, version, err)
		return nil
	}
	p.version, p.profile, p.seed, p.rosters = version, read, newSeed(), nil
	p.engine = decide.New(decide.Version{Profile: read, Number: version}, p.seed)
	p.engine.SetRegions(l.hosts.regions(read))
	now, taken := l.Store.Now(), l.taken()
	for _, e := range l.queue.entries {
		if !e.free(now) || taken[e.id] {
			continue
		}
		if t, err := l.decode(e); err == nil {
			p.engine.Add(t)
		}
	}
	p.dirty = true
	return nil
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
	l.waiting.dropProfile(name)
	l.commits.dropProfile(name)
	l.holds = l.holds.without(name)
}

func (l *Loop) decode(e *entry) (*match.Ticket, error) {
	return ticketbody.Decode(e.id, e.created, e.body, l.PlayerArg)
}

// taken are the tickets of matches that are under way.
func (l *Loop) taken() map[string]bool { return ticketsOf(append(l.commits.jobs(), l.waiting.jobs...)) }

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

// release returns the tickets that were held for long enough.
func (l *Loop) release() {
	now := time.Now()
	var rest holds
	for _, h := range l.holds {
		switch p := l.profiles[h.profile]; {
		case now.Before(h.at):
			rest = append(rest, h)
		case p != nil:
			p.engine.Return(h.tickets...)
			p.dirty = true
		}
	}
	l.holds = rest
}

// logDecision tells what was decided, at debug level: matches are in match_history.
func (l *Loop) logDecision(ctx context.Context, p *owned, found decide.Proposal) {
	l.Log.LogAttrs(ctx, slog.LevelDebug, "match decided", slog.String("profile", p.name), slog.Int("version", p.version),
		slog.String("anchor", found.Anchor), slog.Int("tickets", len(found.Tickets)))
}
