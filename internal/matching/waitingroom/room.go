package waitingroom

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/base/outage"
	"github.com/lattice-director/director/internal/base/panics"
	"github.com/lattice-director/director/internal/base/wait"
)

const (
	// lookEvery is how often all queues ask without a notification: one may be lost, and a single seat that becomes free
	// in a session notifies nobody.
	lookEvery = 2 * time.Second
	// callTimeout bounds each call of the database.
	callTimeout = 5 * time.Second
)

// Store is what a room needs of the database; [db.Store] implements it.
type Store interface {
	Place(ctx context.Context, r db.PlaceRequest) (db.Placement, error)
	GiveUpSeat(ctx context.Context, sessionID, sub string) error
	PutWaiting(ctx context.Context, source string, ttl time.Duration, waiting []db.Waiting) ([]fault.Outlook, error)
	EndWaiting(ctx context.Context, waiting []db.Waiting) error
	Subscribe(topic, region string) (wake <-chan struct{}, stop func())
}

// Options configure a [Room]. Store is required.
type Options struct {
	Store  Store
	Source string // of the demand; "" means bevygap
	Limit  int    // of players; 0 means 10,000

	Log   *slog.Logger  // nil: no log
	Guard *panics.Guard // recovers panics, after which the goroutine continues; nil: it only recovers
}

// Room holds the players who wait in this replica. Make it with [New], and Run it once. Safe for concurrent use.
type Room struct {
	store        Store
	demandSource string
	maxPlayers   int
	log          *slog.Logger
	outage       *outage.Call // of the calls about demand
	guard        *panics.Guard

	askingQueues sync.WaitGroup // counts the goroutines of queues
	demandWake   chan struct{}  // wakes the goroutine that records demand

	mu          sync.Mutex      // guards the fields below, and those of queues and players
	runContext  context.Context //nolint:containedctx // of Run, for the goroutines of queues; nil before Run
	playerCount int
	queues      map[queueKey]*queue
	endedDemand []db.Waiting // demand of players who left, to be deleted
}

// queueKey identifies players who can share a session.
type queueKey struct {
	region, mode string
	maxPlayers   int
}

// queue holds the players of one kind of session, the oldest first. It has a goroutine while it has players. Its fields
// are guarded by the room's mutex.
type queue struct {
	key  queueKey
	room *Room
	wake chan struct{} // wakes its goroutine

	players     []*Player     // that have no seat
	isRunning   bool          // it has a goroutine
	hasMissed   bool          // a call found no capacity or no database: the next one waits for a wake-up
	poolOutlook fault.Outlook // of the mode's pool
	lastTrouble error         // as State.Trouble
}

// Player is a player in a [Room]. Its methods are for one goroutine.
type Player struct {
	room    *Room
	queue   *queue
	request Request
	changed chan struct{} // the channel of Changed

	// Guarded by the room's mutex.
	state      State // without Outlook and Trouble, which its queue has
	isAsking   bool  // a call of Place is running
	hasLeft    bool
	mayHaveRow bool      // a row of demand may exist
	renewAt    time.Time // when its demand is to be written again
}

// New makes a room. It starts nothing.
func New(o Options) *Room {
	log := cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return &Room{
		store: o.Store, demandSource: cmp.Or(o.Source, db.DemandBevygap), maxPlayers: cmp.Or(o.Limit, 10_000), log: log,
		guard: o.Guard,
		outage: outage.NewCall(log, "demand of waiting players cannot be written",
			"demand of waiting players can be written again"),
		demandWake: make(chan struct{}, 1), queues: map[queueKey]*queue{},
	}
}

// Waiting returns the number of players in the room.
func (r *Room) Waiting() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.playerCount
}

// removePlayer takes the player out of the room, and returns its seat, nil if it has none. The seat of a player that
// leaves while its call of Place runs is given back when the call returns: see settleWait.
func (r *Room) removePlayer(p *Player) (seat *db.Placement) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p.hasLeft {
		return nil
	}
	p.hasLeft = true
	r.playerCount--
	p.queue.dropPlayer(p)
	if p.mayHaveRow && p.state.Seat == nil {
		r.endedDemand = append(r.endedDemand, p.request.demandRow())
		r.wakeDemand()
	}
	return p.state.Seat
}

func (r *Room) wakeDemand() { wait.Wake(r.demandWake) }

// giveBackSeat frees a player's seat, also when its caller's ctx has ended, which is the usual reason to leave.
func (r *Room) giveBackSeat(ctx context.Context, session, sub string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	return r.store.GiveUpSeat(ctx, session, sub)
}

// dropPlayer takes a player out of the queue, if it is there. The room's mutex is locked.
func (q *queue) dropPlayer(p *Player) {
	if i := slices.Index(q.players, p); i >= 0 {
		q.players = slices.Delete(q.players, i, i+1)
	}
	if len(q.players) == 0 {
		q.signalWake() // so that the queue's goroutine ends
	}
}

func (q *queue) signalWake() { wait.Wake(q.wake) }

func (p *Player) signalChange() { wait.Wake(p.changed) }
