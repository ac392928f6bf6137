package bench

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// world is the players, game servers and profiles of a run.
type world struct {
	job          *Job
	ctx          context.Context // of the run
	client       *Client
	fleet        *fleet
	players      *players
	places       places
	reserved     [][]seat     // by caller, oldest first
	crowds       atomic.Int64 // of match-queue and match-servers
	callsPerTurn int

	profile  string // of match-life, match-steady and match-idle
	filling  sync.Mutex
	mu       sync.Mutex
	profiles []string // that were applied, to be retired at the end
}

// seat is a player's seat.
type seat struct {
	player player

	sessionID, handle, endpoint string
	reservedAt                  time.Time
}

// newWorld makes a world without game servers.
func newWorld(ctx context.Context, job *Job, callsPerTurn int) *world {
	if job.Options.Scenario.Name == "heartbeat" {
		job.Options.Load.Instances = max(job.Options.Load.Instances,
			job.Options.Load.Callers) // two callers never send a heartbeat of the same game server at once
	}
	if job.Options.Load.Instances > 0 {
		job.Options.Load.Instances = max(job.Options.Load.Instances, job.Options.Load.Regions)
	}
	// connections for the two calls that a caller of match-life makes at once, for preparing, and for keepAlive
	w := &world{job: job, ctx: ctx, client: NewClient(ctx, 2*job.Options.Load.Callers+2*maxConcurrent), callsPerTurn: callsPerTurn,
		players: &players{mint: job.Options.AccessToken}, places: newPlaces(job.ID, job.Options.Load),
		reserved: make([][]seat, job.Options.Load.Callers)}
	w.fleet = newFleet(w.client, job.Options, "", w.places, job.Options.Load.Capacity)
	job.OnEnd(func() error { w.client.Close(); return nil })
	return w
}

// callAsPlayer makes a call of a new player.
func (w *world) callAsPlayer(c *Caller, path string, body []byte) error {
	p, err := w.players.next()
	if err != nil {
		return err
	}
	return c.Timed(path[1:], func() error { return w.client.Post(c.URL+path, Bearer(p.token), body, nil) })
}
