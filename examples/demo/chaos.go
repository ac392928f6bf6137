package main

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"
)

// chaos is what goes wrong on the way, and what an operator does. It keeps what the proofs need to know.
type chaos struct {
	cluster *cluster
	players *players
	screen  *screen

	mu sync.Mutex
	deeds
}

// deeds are what chaos has done so far. Times of servers are the database's; those of the replica are compared with
// what the witness heard in this process.
type deeds struct {
	server         string // killed
	serverKilledAt time.Time

	replica         *replica // killed, and later started again
	replicaKilledAt time.Time
	replicaBackAt   time.Time // zero: not yet

	drained     string
	drainedLife uuid.UUID // the incarnation: should the server register anew, that is another life
	drainedAt   time.Time

	tokensShown, tokensRefused int

	all bool // has been done
}

// done is a copy of the deeds up to now.
func (c *chaos) done() deeds {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.deeds
}

func (c *chaos) note(change func(*deeds)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.deeds)
}

// act is one thing that happens: at its time, a share of the whole length, but not before the system is ready for it. On
// a machine that stands still for seconds, trouble waits for it to go on.
type act struct {
	at    float64
	ready func() bool
	do    func(context.Context) error
}

func (c *chaos) acts() []act {
	return []act{
		{0.25, c.crowded, c.stealTokens},
		{0.33, c.crowded, c.killServer},
		{0.50, c.crowded, c.killReplica},
		{0.60, c.crowded, c.drainServer},
		{0.70, c.servedWithoutIt, c.restartReplica},
		{0.80, c.crowded, c.stealTokens},
	}
}

// run does everything in order, with some time between, and returns early when ctx ends.
func (c *chaos) run(ctx context.Context, length time.Duration) error {
	for _, a := range c.acts() {
		at := c.screen.begun.Add(time.Duration(a.at * float64(length)))
		if soonest := time.Now().Add(length / 20); at.Before(soonest) {
			at = soonest
		}
		if !await(ctx, func() bool { return time.Now().After(at) && a.ready() }) {
			return nil
		}
		if err := a.do(ctx); err != nil {
			return err
		}
	}
	c.note(func(d *deeds) { d.all = true })
	return nil
}

// await returns when something has become true, and false when ctx ends first.
func await(ctx context.Context, so func() bool) bool {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !so() {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
	return true
}

// crowded says that most bots are playing: trouble is to meet somebody.
func (c *chaos) crowded() bool {
	playing := 0
	for _, n := range c.players.Stats().Playing() {
		playing += n
	}
	return playing > c.cluster.options.bots/2
}

func (c *chaos) servedWithoutIt() bool {
	return len(c.players.witness.testimonies(c.done().withoutReplica)) > 0
}

// withoutReplica is what the others told players while the replica was dead.
func (d deeds) withoutReplica(t testimony) bool {
	return t.replica != d.replica.addr && t.at.After(d.replicaKilledAt) && (d.replicaBackAt.IsZero() || t.at.Before(d.replicaBackAt))
}

// byReturned is what the replica told players after it was started again.
func (d deeds) byReturned(t testimony) bool {
	return !d.replicaBackAt.IsZero() && t.replica == d.replica.addr && t.at.After(d.replicaBackAt)
}

// busiest is the server where trouble meets the most players. One that was killed has seen enough of it.
func (c *chaos) busiest(ctx context.Context) (server string, connected int, err error) {
	err = c.cluster.db.QueryRow(ctx, `
		SELECT f.instance, (SELECT count(*) FROM ops.seats s WHERE s.instance = f.instance AND s.state = 'connected')
		FROM ops.fleet f WHERE f.alive AND f.status = 'ready' AND f.instance <> $1 ORDER BY 2 DESC, 1 LIMIT 1`,
		c.done().server).Scan(&server, &connected)
	return server, connected, err
}

func (c *chaos) killServer(ctx context.Context) error {
	server, connected, err := c.busiest(ctx)
	if err != nil {
		return err
	}
	var now time.Time
	if err := c.cluster.db.QueryRow(ctx, `SELECT clock_timestamp()`).Scan(&now); err != nil {
		return err
	}
	c.cluster.process(server).Kill()
	c.note(func(d *deeds) { d.server, d.serverKilledAt = server, now })
	c.screen.notef("!", "kill -9 %s, with %d players on it", server, connected)
	return nil
}

func (c *chaos) killReplica(context.Context) error {
	r := c.cluster.replicas[len(c.cluster.replicas)-1]
	c.cluster.process(r.Name).Kill()
	c.note(func(d *deeds) { d.replica, d.replicaKilledAt = r, time.Now() })
	c.screen.notef("!", "kill -9 %s, which had answered %d calls of players", r.Name, c.players.witness.answered(r.addr))
	return nil
}

func (c *chaos) restartReplica(ctx context.Context) error {
	r := c.done().replica
	begun := time.Now()
	if err := c.cluster.launch(ctx, r); err != nil {
		return err
	}
	c.note(func(d *deeds) { d.replicaBackAt = time.Now() })
	c.screen.notef("✓", "%s was started again, ready %s", r.Name, took(begun))
	return nil
}

// drainServer is what an operator would type into psql.
func (c *chaos) drainServer(ctx context.Context) error {
	server, _, err := c.busiest(ctx)
	if err != nil {
		return err
	}
	if _, err := c.cluster.db.Exec(ctx, `SELECT ops.drain($1)`, server); err != nil {
		return err
	}
	var now time.Time
	var life uuid.UUID
	err = c.cluster.db.QueryRow(ctx, `SELECT clock_timestamp(), incarnation FROM instances WHERE id = $1`, server).Scan(&now, &life)
	if err != nil {
		return err
	}
	c.note(func(d *deeds) { d.drained, d.drainedLife, d.drainedAt = server, life, now })
	c.screen.notef("·", "an operator: SELECT ops.drain('%s'), so nobody new goes there", server)
	return nil
}

func (c *chaos) stealTokens(ctx context.Context) error {
	tried, refused := c.players.steal(ctx)
	c.note(func(d *deeds) { d.tokensShown += tried; d.tokensRefused += refused })
	mark := "✓"
	if refused < tried {
		mark = "!"
	}
	c.screen.notef(mark, "a thief shows %d tokens of players who are in a match: %d refused", tried, refused)
	return nil
}
