package waitingroom

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/base/follow"
	"github.com/lattice-director/director/internal/base/outage"
	"github.com/lattice-director/director/internal/base/panics"
	"github.com/lattice-director/director/internal/base/wait"
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
	newWork      chan struct{}  // wakes the goroutine that records demand

	mu          sync.Mutex
	runContext  context.Context //nolint:containedctx // of Run, for the goroutines of queues; nil before Run
	playerCount int
	queues      map[queueKey]*queue
	endedDemand []db.Waiting // demand of players who left, to be deleted
}

// New makes a room. It starts nothing.
func New(o Options) *Room {
	log := cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return &Room{
		store: o.Store, demandSource: cmp.Or(o.Source, db.DemandBevygap), maxPlayers: cmp.Or(o.Limit, 10_000), log: log,
		guard: o.Guard,
		outage: outage.NewCall(log, "demand of waiting players cannot be written",
			"demand of waiting players can be written again"),
		newWork: make(chan struct{}, 1), queues: map[queueKey]*queue{},
	}
}

// Waiting returns the number of players in the room.
func (r *Room) Waiting() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.playerCount
}

// Join adds a player, who then waits until it gets a seat or leaves: call Use or Leave when done. Players who join
// before Run has begun wait for it. Errors: TooMany, "waiting_full", if the room is full.
func (r *Room) Join(request Request) (*Player, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.playerCount >= r.maxPlayers {
		return nil, &fault.Error{Kind: fault.TooMany, Code: "waiting_full",
			Detail: "too many players wait in this replica", RetryAfter: lookEvery}
	}
	r.playerCount++
	p := &Player{room: r, request: request, changed: make(chan struct{}, 1), renewAt: time.Now().Add(renewEvery)}
	key := queueKey{request.Region, request.Mode, request.MaxPlayers}
	p.queue = r.queues[key]
	if p.queue == nil {
		p.queue = &queue{key: key, room: r, wake: make(chan struct{}, 1)}
		r.queues[key] = p.queue
	}
	p.queue.addPlayer(p)
	return p, nil
}

// removePlayer returns the seat of the player, if it has one. A player that leaves while its call of Place runs gives the
// seat back when the call returns.
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

func (r *Room) wakeDemand() { wait.Wake(r.newWork) }

// Run asks for seats and records demand until ctx ends. Then it deletes the demand of the players who have left.
func (r *Room) Run(ctx context.Context) {
	capacity, stop := r.store.Subscribe(db.TopicCapacity, "")
	defer stop()
	var running sync.WaitGroup
	running.Go(func() { r.recordDemand(ctx) })
	r.beginQueues(ctx)
	follow.Loop{
		Name: "waiting queues", Every: lookEvery, Wakes: follow.Wakes{capacity}, Guard: r.guard,
		Do: func(context.Context, bool) error { r.wakeQueues(); return nil },
	}.Run(ctx)
	running.Wait()
	r.askingQueues.Wait()
}

// beginQueues starts the queues of the players who joined before Run.
func (r *Room) beginQueues(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.runContext = ctx
	for _, q := range r.queues {
		q.startAsking()
	}
}

func (r *Room) wakeQueues() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, q := range r.queues {
		q.hasMissed = false
		q.signalWake()
	}
}
