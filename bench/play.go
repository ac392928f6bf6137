package bench

import (
	"context"
	"time"
)

// Scenarios are those of the HTTP API of players and game servers.
var Scenarios = []Scenario{
	play("matchmake", "a new player asks for a seat", (*world).matchmake, shape{calls: 1, players: 1},
		(*world).registerFleet, (*world).makeTokens),
	play("resolve", "a new player exchanges a session handle for a session token", (*world).resolve,
		shape{calls: 1, players: 1}, (*world).registerFleet, (*world).makeTokens, (*world).reserveAhead),
	play("heartbeat", "the next game server sends a heartbeat", (*world).heartbeat, shape{calls: 1},
		(*world).registerFleet),
	play("register", "a new game server registers", (*world).registerNew, shape{calls: 1}, (*world).registerFleet),
	play("session-life", "a new player: matchmake, resolve, joined, left", (*world).sessionLife,
		shape{calls: 4, players: 1}, (*world).registerFleet, (*world).makeTokens),
	// Without a valve the director admits at once.
	play("login-queue", "a new player asks for a place in the login queue", asPlayer("/login-queue", []byte("{}")),
		shape{calls: 1, players: 1, hasNoFleet: true}, (*world).makeTokens),
}

// LoopScenarios are those of the director loop, which matches the tickets of profiles. They apply profiles of their own.
var LoopScenarios = []Scenario{
	play("match-queue",
		"--tickets wait; a version of their profile goes live that matches all: until game servers have the last",
		seatCrowd(false), shape{calls: 1, usual: Load{Callers: 1, Tickets: 10_000}, check: checkCrowd}),
	play("match-servers",
		"--tickets are matched and wait for a game server: from its registration until game servers have the last",
		seatCrowd(true), shape{calls: 1, usual: Load{Callers: 1, Tickets: 10_000}, check: checkCrowd}),
	play("match-life", "two new players are queued for a duel and wait for the assignment", (*world).matchLife,
		shape{calls: 4, players: 2, usual: Load{Callers: 64, Rate: 100}},
		(*world).registerFleet, (*world).applyDuels, (*world).makeTokens),
	play("match-steady", "a new player is queued and matched, while --tickets wait whom no rule matches",
		(*world).matchSteady, shape{calls: 1, players: 1, usual: Load{Callers: 256, Rate: 2000, Tickets: 20_000}},
		(*world).registerFleet, (*world).queueStrangers, (*world).makeTokens),
	play("match-idle", "--tickets wait whom no rule matches: a call is a second, and costs what the director uses in it",
		(*world).matchIdle, shape{calls: 1, usual: Load{Callers: 1, Tickets: 50_000}},
		(*world).registerFleet, (*world).queueStrangers),
}

// NoOps are calls of the same stack without the database, which the baselines answer, and no director.
var NoOps = []Scenario{
	play("noop", "the cost of matchmake without the database", asPlayer("/noop", nil),
		shape{calls: 1, players: 1, hasNoFleet: true}, (*world).makeTokens),
	play("fleet-noop", "the same for heartbeat", (*world).fleetNoop, shape{calls: 1, hasNoFleet: true}),
}

// shape is what a turn of a scenario needs.
type shape struct {
	calls, players int  // per turn
	hasNoFleet     bool // it needs no game servers
	usual          Load
	check          func(o *Options) error // nil: nothing
}

// maxCapacity is the most seats of a game server, by the API.
const maxCapacity = 100_000

// defaultCallers is the usual number of callers where a scenario has no other.
const defaultCallers = 64

// play makes a scenario that has regions and modes, and game servers unless its shape says otherwise. Its runs begin
// with the steps, in their order.
func play(name, about string, turn func(*world, *Caller) error, s shape,
	steps ...func(*world, context.Context) error) Scenario {
	if s.usual.Callers == 0 {
		s.usual.Callers = defaultCallers
	}
	s.usual.Regions, s.usual.Modes, s.usual.Capacity = 1, 1, maxCapacity
	if !s.hasNoFleet {
		s.usual.Instances = 16
	}
	return Define(Scenario{Name: name, About: about, Usual: s.usual, Check: s.check},
		func(ctx context.Context, job *Job) *world {
			w := newWorld(ctx, job, s)
			job.Beside(ctx, w.keepAlive) // registering, queueing players and making their tokens can outlast a lease
			return w
		},
		func(w *world, _ context.Context, c *Caller) error { return turn(w, c) }, steps...)
}

// asPlayer is a turn of one call of a new player. Without a body it sends what matchmake sends, so that both read as many
// bytes.
func asPlayer(path string, body []byte) func(*world, *Caller) error {
	return func(w *world, c *Caller) error {
		p, err := w.nextPlayer()
		if err != nil {
			return err
		}
		sent := body
		if sent == nil {
			sent = w.places.draw(c.Random).body
		}
		return c.Timed(path[1:], func() error { return w.client.Post(c.URL+path, Bearer(p.token), sent, nil) })
	}
}

// matchmake asks for a seat for a new player.
func (w *world) matchmake(c *Caller) error {
	_, err := w.takeSeat(c)
	return err
}

// resolve exchanges the handle of a seat that was reserved before, by calls that are not measured.
func (w *world) resolve(c *Caller) error {
	s, err := w.reservedSeat(c)
	if err != nil {
		return err
	}
	_, err = w.exchange(c, s)
	return err
}

// heartbeat sends the heartbeat of the game server whose turn it is, at the replica of the caller.
func (w *world) heartbeat(c *Caller) error {
	one := w.fleet[int(w.turns.Add(1)-1)%len(w.fleet)]
	err := c.Timed("heartbeat", func() error { return w.sendHeartbeat(c.URL, one, nil) })
	w.registerAgain(one, err)
	return err
}

// registerNew registers a new game server, which stays until its lease expires.
func (w *world) registerNew(c *Caller) error {
	one := w.newInstance("new-", int(w.turns.Add(1)), w.places.modes, w.job.Options.Load.Capacity)
	one.url = c.URL
	return c.Timed("register", func() error { return w.register(one) })
}

// sessionLife lets a player come and go. The reports are those of the game server of the seat.
func (w *world) sessionLife(c *Caller) error {
	s, err := w.takeSeat(c)
	if err != nil {
		return err
	}
	jti, err := w.exchange(c, s)
	if err != nil {
		return err
	}
	if err := w.reportSeat(c, "joined", s, report{Joined: []joinedPlayer{{s.player.sub, jti}}}); err != nil {
		return err
	}
	return w.reportSeat(c, "left", s, report{Left: []string{s.player.sub}})
}

// unknownInstance is a body as large as that of a real heartbeat.
var unknownInstance = encode(&identity{ID: "bench-nobody-000", Incarnation: "00000000-0000-4000-8000-000000000000"})

// fleetNoop sends what heartbeat sends.
func (w *world) fleetNoop(c *Caller) error {
	return c.Timed("fleet-noop", func() error {
		return w.client.Post(c.URL+"/fleet/noop", w.fleetToken, unknownInstance, nil)
	})
}

// matchIdle lasts one second, so that the costs of a call are the costs of a second.
func (w *world) matchIdle(c *Caller) error {
	return c.Timed("second", func() error { return Pause(w.ctx, time.Second) })
}
