package bench

import (
	"context"
	"net/http"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// world is the players, game servers and profiles of a run.
type world struct {
	job        *Job
	ctx        context.Context // of the run
	client     *Client
	fleetToken Credential
	places     places
	shape      shape // of its turns

	players  atomic.Int64         // that were handed out
	turns    atomic.Int64         // of heartbeat and register
	crowds   atomic.Int64         // of match-queue and match-servers
	reserved [][]seat             // by caller, oldest first
	fleet    []*instance          // which the turns share; set before the load
	hosts    map[string]*instance // the same by endpoint
	profile  string               // of match-life, match-steady and match-idle

	mu       sync.Mutex
	servers  []*instance // that were registered, to be deregistered at the end
	profiles []string    // that were applied, to be retired at the end
}

// seat is a player's seat.
type seat struct {
	player player

	sessionID, handle, endpoint string
	reservedAt                  time.Time
}

// newWorld makes a world without game servers.
func newWorld(ctx context.Context, job *Job, s shape) *world {
	load := &job.Options.Load
	if job.Options.Scenario.Name == "heartbeat" {
		// Two callers never send a heartbeat of the same game server at once.
		load.Instances = max(load.Instances, load.Callers)
	}
	if load.Instances > 0 {
		load.Instances = max(load.Instances, load.Regions)
	}
	w := &world{job: job, ctx: ctx, shape: s,
		client:     NewClient(ctx),
		fleetToken: FleetToken(job.Options.FleetToken), places: newPlaces(job.ID, *load),
		reserved: make([][]seat, load.Callers)}
	job.OnEnd(w.end)
	return w
}

// end retires the profiles, which cancels the tickets that still wait for them, and deregisters the game servers.
func (w *world) end(ctx context.Context) error {
	w.client = NewClient(ctx) // that of the run has ended with its ctx
	for _, name := range w.profiles {
		_ = w.client.Do(w.profileRequest(http.MethodDelete, name, nil)) // one that stays live has no tickets
	}
	w.deregister(ctx, w.servers)
	return nil
}

// player is one who has not called before in this run, so that no rate limit per player is reached.
type player struct{ sub, token string }

// makeTokens makes the tokens of the first players, on all CPUs. They are made before the load, because signing one takes
// as long as some of the measured calls. In production the login service makes them.
func (w *world) makeTokens(ctx context.Context) error {
	w.job.Enter("making access tokens")
	n := int(w.players.Load()) + w.turnsAhead()*w.shape.players // in front are the players that are queued
	return Concurrently(ctx, n, runtime.GOMAXPROCS(0), func(_ context.Context, i int) error {
		_, err := w.job.Options.AccessToken(subOf(int64(i)))
		return err
	})
}

// nextPlayer returns the next player. Without a prepared token, since the load was faster than expected or longer than
// tokens are prepared for, it makes one.
func (w *world) nextPlayer() (p player, err error) {
	p.sub = subOf(w.players.Add(1) - 1)
	p.token, err = w.job.Options.AccessToken(p.sub)
	return p, err
}

// subOf is the name of a player, the same in each run: tokens are reused.
func subOf(i int64) string { return "bench-" + strconv.FormatInt(i, 10) }
