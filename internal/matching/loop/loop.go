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
	queueChanged  bool         // a notification said so since the changes were last read
	followedAt    time.Time    // when the changes of the queue were last read
	followedNanos atomic.Int64 // the same in Unix nanoseconds, for the metric; 0: not yet
	hosts         hosts

	// Owning profiles.
	lease              *lease
	hasProfiles        bool // the universe has a profile, whoever owns it
	profiles           map[string]*ownedProfile
	profilesByName     []*ownedProfile   // the same in order; nil: not sorted yet
	profilesToTake     []db.ProfileOwner // or to resume, or to follow to another version
	looksWithoutOwner  map[string]int    // by profile: how many looks it has had no owner
	unreadableVersions map[string]int    // by profile: the version that this release cannot read
	sharedAt           time.Time         // when this worker last considered giving a profile up: see giveSurplus

	// Deciding.
	turns            *turns
	holds            holds
	calls            *calls
	delayedFrees     []delayedFree
	refusalsByAnchor map[string]int // how often the match that began with a ticket was refused: see countRefusal

	// What becomes of a decision.
	commits           *commits
	historian         *historian
	waiting           waitingMatches
	acceptedRenewedAt time.Time // see renewAccepted
	waitTimesStoredAt time.Time // see putWaits

	turnTime, maxLate, compareEvery time.Duration // the constants of these names; tests change them
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
		profiles: map[string]*ownedProfile{}, looksWithoutOwner: map[string]int{}, unreadableVersions: map[string]int{},
		refusalsByAnchor: map[string]int{}, turnTime: turnTime, maxLate: maxLate, compareEvery: compareEvery,
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

// emptyQueue forgets the queue, which is then read anew.
func (l *Loop) emptyQueue() { l.queue = newQueue(l.options, l) }

// feedLag returns the seconds since this worker last read the changes of the queue.
func (l *Loop) feedLag() float64 {
	at := l.followedNanos.Load()
	if at == 0 {
		return 0
	}
	return time.Since(time.Unix(0, at)).Seconds()
}

// allJobs returns the matches that are decided and not committed: queued, sent, or waiting for a server.
func (l *Loop) allJobs() []*job { return append(l.commits.allJobs(), l.waiting.jobs...) }

// profilesInOrder returns the profiles in the order of names.
func (l *Loop) profilesInOrder() []*ownedProfile {
	if l.profilesByName == nil {
		for _, p := range l.profiles {
			l.profilesByName = append(l.profilesByName, p)
		}
		slices.SortFunc(l.profilesByName, func(a, b *ownedProfile) int { return strings.Compare(a.name, b.name) })
	}
	return l.profilesByName
}

func (l *Loop) setProfile(p *ownedProfile) { l.profiles[p.name], l.profilesByName = p, nil }

func (l *Loop) forgetProfile(name string) {
	delete(l.profiles, name)
	l.profilesByName = nil
}

// currentMoment implements listener. It returns the database's time in microseconds, the precision of Postgres, so that
// a replay has the same moments.
func (l *Loop) currentMoment() time.Time {
	if now := l.options.Store.Now().UTC().Truncate(time.Microsecond); now.After(l.lastMoment) {
		l.lastMoment = now
	}
	return l.lastMoment
}

// matchOwner names this worker as the owner of a profile: a transaction checks that before it commits.
func (l *Loop) matchOwner(p *ownedProfile) db.MatchOwner {
	return db.MatchOwner{Universe: l.options.Universe, WorkerID: l.lease.workerID, ProfileName: p.name,
		Epoch: p.ownerEpoch}
}

// passChange passes a change on to the live version of a profile: an engine learns of it in its next turn, a function at
// once.
func (l *Loop) passChange(p *ownedProfile, c change) {
	if p.liveDecider != nil {
		p.liveDecider.putChange(c)
		return
	}
	for isDone := false; !isDone; {
		isDone = c.applyPart(p.function, l.options.PlayerArg)
	}
}
