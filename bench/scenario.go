package bench

import (
	"maps"
	"slices"
)

// The scenarios: what a caller does over and over.
const (
	matchmake   = "matchmake"    // another player each time asks for a seat
	resolve     = "resolve"      // another player each time exchanges the handle of a seat, reserved beforehand, for a token
	heartbeat   = "heartbeat"    // the game servers beat in turn
	register    = "register"     // another game server each time registers
	sessionLife = "session-life" // another player each time gets a seat, resolves it, joins and leaves
	mixed       = "mixed"        // four turns of five are heartbeat, one is session-life
	noop        = "noop"         // matchmake without what it is for: an endpoint of the baselines that only authenticates
	fleetNoop   = "fleet-noop"   // the same of heartbeat
)

// scenario is what makes a turn.
type scenario struct {
	turn      func(*caller) error // what it does with [caller.timed] is measured
	calls     int                 // of a turn
	players   float64             // that a turn needs
	fleetless bool                // it needs no game servers
}

var scenarios = map[string]scenario{
	matchmake:   {turn: (*caller).matchmake, calls: 1, players: 1},
	resolve:     {turn: (*caller).resolve, calls: 1, players: 1},
	heartbeat:   {turn: (*caller).heartbeat, calls: 1},
	register:    {turn: (*caller).register, calls: 1},
	sessionLife: {turn: (*caller).sessionLife, calls: 4, players: 1},
	mixed:       {turn: (*caller).mixed, calls: 2, players: 1.0 / lifeEvery},
	noop:        {turn: (*caller).noop, calls: 1, players: 1, fleetless: true},
	fleetNoop:   {turn: (*caller).fleetNoop, calls: 1, fleetless: true},
}

// Scenarios are the names of all there are, sorted.
func Scenarios() []string { return slices.Sorted(maps.Keys(scenarios)) }

func (c *caller) matchmake() error {
	p, err := c.players.another()
	if err != nil {
		return err
	}
	_, err = c.seat(p)
	return err
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
	err := c.timed(heartbeat, func() error { return c.fleet.beat(c.url, one) })
	c.fleet.revive(one, err)
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

// lifeEvery is how many turns of the mix one session-life is in. A game server beats every five seconds; with 16 players
// on it who stay for five minutes, one comes and goes for every four beats.
const lifeEvery = 5

func (c *caller) mixed() error {
	if c.dice.IntN(lifeEvery) == 0 {
		return c.sessionLife()
	}
	return c.heartbeat()
}

func (c *caller) noop() error {
	p, err := c.players.another()
	if err != nil {
		return err
	}
	body := c.places.any(c.dice).body
	return c.timed(noop, func() error { return c.client.asPlayer(c.url+"/noop", p.token, body, nothing) })
}

// nobody has the form of an instance.
var nobody = encode(&life{ID: "bench-nobody-000", Incarnation: "00000000-0000-4000-8000-000000000000"})

func (c *caller) fleetNoop() error {
	return c.timed(fleetNoop, func() error { return c.client.asFleet(c.url+"/fleet/noop", nobody, nothing) })
}
