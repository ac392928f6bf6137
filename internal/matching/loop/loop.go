package loop

import (
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
)

// Loop decides for the profiles that it owns. Make one with [New], and Run it once.
type Loop struct {
	options Options

	metrics    *metrics
	lastMoment time.Time // what currentMoment returned last

	// Following the queue.
	queue         *queue
	queueChanged  bool         // as far as notifications tell
	followedAt    time.Time    // when the changes of the queue were last read
	followedNanos atomic.Int64 // the same in Unix nanoseconds, for the metric; 0: not yet
	hosts         hosts

	// Owning profiles.
	lease              *lease
	hasProfiles        bool // of any worker, in the universe
	profiles           map[string]*owned
	profilesByName     []*owned          // the same in order; nil: not sorted yet
	profilesToTake     []db.ProfileOwner // or to resume, or to follow to another version
	looksWithoutOwner  map[string]int    // by profile: how many looks it has had no owner
	unreadableVersions map[string]int    // by profile: the version that this release cannot read
	sharedAt           time.Time         // when this worker last considered giving a profile up

	// Deciding.
	turns            *turns
	holds            holds
	calls            *calls
	delayedFrees     []delayedFree
	refusalsByAnchor map[string]int // by the ticket that the search began with: how often the database refused its match

	// What becomes of a decision.
	commits           *commits
	historian         *historian
	waiting           waiting
	acceptedRenewedAt time.Time // when the tickets of accepted matches were last kept
	waitTimesStoredAt time.Time

	turnTime, maxLate, reconcileEvery time.Duration // the constants of these names; tests change them
}

const (
	// turnTime bounds how long one profile decides before other hot ones have their turn and its matches are sent.
	turnTime = 10 * time.Millisecond
	// maxLate is how late a decision may be and still count as made at the moment when it was due, which is also the
	// moment of a replay.
	maxLate = time.Second
)

// New makes a loop. Errors: its metrics are registered already.
func New(o Options) (*Loop, error) {
	o = o.withDefaults()
	l := &Loop{
		options: o, lease: newLease(o.Store, uuid.New(), o.Lease), turns: newTurns(runtime.GOMAXPROCS(0), o.Guard),
		profiles: map[string]*owned{}, looksWithoutOwner: map[string]int{}, unreadableVersions: map[string]int{},
		refusalsByAnchor: map[string]int{}, turnTime: turnTime, maxLate: maxLate, reconcileEvery: reconcileEvery,
	}
	l.emptyQueue()
	var err error
	if l.metrics, err = newMetrics(o.Metrics, l.feedLag); err != nil {
		return nil, err
	}
	l.historian = newHistorian(o, l.metrics.lostHistory)
	l.commits, l.calls = newCommits(o.Store, o.Universe, l.historian), newCalls(o)
	return l, nil
}

func (l *Loop) emptyQueue() { l.queue = newQueue(l.options, l) }

// feedLag returns the seconds since this worker last read the changes of the queue.
func (l *Loop) feedLag() float64 {
	at := l.followedNanos.Load()
	if at == 0 {
		return 0
	}
	return time.Since(time.Unix(0, at)).Seconds()
}

// allJobs are the matches that are decided and not committed: queued, under way, or waiting for a server.
func (l *Loop) allJobs() []*job { return append(l.commits.allJobs(), l.waiting.jobs...) }

// profilesInOrder returns the profiles in the order of names.
func (l *Loop) profilesInOrder() []*owned {
	if l.profilesByName == nil {
		for _, p := range l.profiles {
			l.profilesByName = append(l.profilesByName, p)
		}
		slices.SortFunc(l.profilesByName, func(a, b *owned) int { return strings.Compare(a.name, b.name) })
	}
	return l.profilesByName
}

func (l *Loop) setProfile(p *owned) { l.profiles[p.name], l.profilesByName = p, nil }

func (l *Loop) forgetProfile(name string) {
	delete(l.profiles, name)
	l.profilesByName = nil
}

// currentMoment implements listener. It never goes back. It has the precision of Postgres, microseconds, so that a
// replay has the same moments.
func (l *Loop) currentMoment() time.Time {
	if now := l.options.Store.Now().UTC().Truncate(time.Microsecond); now.After(l.lastMoment) {
		l.lastMoment = now
	}
	return l.lastMoment
}

// matchOwner names this worker as the owner of a profile: a transaction checks it before it commits.
func (l *Loop) matchOwner(p *owned) db.MatchOwner {
	return db.MatchOwner{Universe: l.options.Universe, WorkerID: l.lease.workerID, ProfileName: p.name,
		Epoch: p.ownerEpoch}
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
