package bench

import (
	"context"
	"maps"
	"slices"
)

// The scenarios: what a caller does in each turn.
const (
	matchmake   = "matchmake"    // a new player asks for a seat
	resolve     = "resolve"      // a new player exchanges the handle of a seat, reserved before, for a token
	heartbeat   = "heartbeat"    // the next game server sends a heartbeat
	register    = "register"     // a new game server registers
	sessionLife = "session-life" // a new player gets a seat, resolves it, joins and leaves
	loginQueue  = "login-queue"  // a new player asks for a place in the login queue
	// calls an endpoint of the baselines that authenticates like matchmake and does nothing else
	noop = "noop"
	// calls an endpoint of the baselines that authenticates like heartbeat and does nothing else
	fleetNoop = "fleet-noop"
)

// scenario describes the turns of a scenario.
type scenario struct {
	turn      func(*caller) error               // calls made with [caller.timed] are measured
	calls     int                               // per turn
	players   float64                           // per turn
	fleetless bool                              // it needs no game servers
	usual     Load                              // zero: any
	prepare   func(*run, context.Context) error // after its game servers have registered; nil: nothing
}

// Load is the size of a load.
type Load struct {
	Callers int
	Rate    float64 // 0 is a closed loop
	Tickets int     // tickets in the queue at the start of a turn; 0: the scenario queues none in advance

	// Of protocols.
	Connections, Watchers, Agents, Rooms, Sessions int

	Alone bool // one caller, without a rate
}

// Usual returns the default load of a scenario; the zero value if it has none of its own.
func Usual(scenario string) Load { return scenarios[scenario].usual }

// waiting returns the number of tickets in the queue at the start of a turn.
func (s scenario) waiting(o Options) int {
	if s.usual.Tickets == 0 {
		return 0
	}
	return o.Tickets
}

var scenarios = map[string]scenario{
	matchmake:   {turn: (*caller).matchmake, calls: 1, players: 1},
	resolve:     {turn: (*caller).resolve, calls: 1, players: 1},
	heartbeat:   {turn: (*caller).heartbeat, calls: 1},
	register:    {turn: (*caller).register, calls: 1},
	sessionLife: {turn: (*caller).sessionLife, calls: 4, players: 1},
	loginQueue:  {turn: (*caller).loginQueue, calls: 1, players: 1, fleetless: true},
	noop:        {turn: (*caller).noop, calls: 1, players: 1, fleetless: true},
	fleetNoop:   {turn: (*caller).fleetNoop, calls: 1, fleetless: true},

	matchQueue:   {turn: (*caller).matchQueue, calls: 1, fleetless: true, usual: Load{Callers: 1, Tickets: 10_000}},
	matchServers: {turn: (*caller).matchServers, calls: 1, fleetless: true, usual: Load{Callers: 1, Tickets: 10_000}},
	matchLife: {turn: (*caller).matchLife, calls: 4, players: 2, usual: Load{Callers: 64, Rate: 100},
		prepare: (*run).applyDuels},
	matchSteady: {turn: (*caller).matchSteady, calls: 1, players: 1,
		usual: Load{Callers: 256, Rate: 2000, Tickets: 20_000}, prepare: (*run).queueStrangers},
	matchIdle: {turn: (*caller).matchIdle, calls: 1, usual: Load{Callers: 1, Tickets: 50_000},
		prepare: (*run).queueStrangers},
}

// Scenarios returns the names of all scenarios, sorted.
func Scenarios() []string { return slices.Sorted(maps.Keys(scenarios)) }

func (c *caller) matchmake() error {
	p, err := c.players.another()
	if err != nil {
		return err
	}
	_, err = c.seat(p)
	return err
}

func (c *caller) loginQueue() error {
	p, err := c.players.another()
	if err != nil {
		return err
	}
	return c.timed(loginQueue, func() error { return c.client.asPlayer(c.url+"/login-queue", p.token, []byte("{}"), ignoreAnswer) })
}

func (c *caller) resolve() error {
	s, err := c.reservedSeat()
	if err != nil {
		return err
	}
	_, err = c.exchange(s)
	return err
}

func (c *caller) heartbeat() error {
	one := c.fleet.next()
	err := c.timed(heartbeat, func() error { return c.fleet.heartbeat(c.url, one) })
	c.fleet.registerAgain(one, err)
	return err
}

func (c *caller) register() error {
	one := c.fleet.instance("new-", int(c.fleet.turn.Add(1)))
	body := c.fleet.registration(one)
	err := c.timed(register, func() error { return c.client.asFleet(c.url+"/fleet/register", body, one.registered) })
	if err == nil {
		c.fleet.add(one)
	}
	return err
}

func (c *caller) sessionLife() error {
	p, err := c.players.another()
	if err != nil {
		return err
	}
	s, err := c.seat(p)
	if err != nil {
		return err
	}
	raw, err := c.exchange(s)
	if err != nil {
		return err
	}
	jti, err := tokenID(raw)
	if err != nil {
		return err
	}
	if err := c.report("joined", s, report{Joined: []joined{{s.sub, jti}}}); err != nil {
		return err
	}
	return c.report("left", s, report{Left: []string{s.sub}})
}

func (c *caller) noop() error {
	p, err := c.players.another()
	if err != nil {
		return err
	}
	body := c.places.any(c.rng).body
	return c.timed(noop, func() error { return c.client.asPlayer(c.url+"/noop", p.token, body, ignoreAnswer) })
}

// unknownInstance is a body as large as that of a real heartbeat.
var unknownInstance = encode(&identity{ID: "bench-nobody-000", Incarnation: "00000000-0000-4000-8000-000000000000"})

func (c *caller) fleetNoop() error {
	return c.timed(fleetNoop, func() error {
		return c.client.asFleet(c.url+"/fleet/noop", unknownInstance,
			ignoreAnswer)
	})
}
