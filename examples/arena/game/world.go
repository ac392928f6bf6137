package game

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// Sizes and speeds, in metres.
const (
	Size         = 100.0
	Speed        = 20.0 // metres per second
	Reach        = 2.0  // of a player, for picking up coins
	CoinsPerHead = 3
	TickEvery    = 100 * time.Millisecond
)

// Point is a position on the field, or a direction.
type Point struct {
	X float64 `json:"x"`
	Y float64 `json:"y"`
}

// Distance is how far apart two points are.
func (p Point) Distance(q Point) float64 { return math.Hypot(p.X-q.X, p.Y-q.Y) }

// Towards is the direction from p to q.
func (p Point) Towards(q Point) Point { return Point{q.X - p.X, q.Y - p.Y}.unit() }

// unit shortens a direction to length 1, so that no player moves faster by sending a longer one.
func (p Point) unit() Point {
	length := math.Hypot(p.X, p.Y)
	if length <= 1 {
		return p
	}
	return Point{p.X / length, p.Y / length}
}

func (p Point) clamped() Point {
	return Point{min(max(p.X, 0), Size), min(max(p.Y, 0), Size)}
}

// PlayerState is the public state of a player.
type PlayerState struct {
	Name     string `json:"name"`
	Position Point  `json:"at"`
	Score    int    `json:"score"`
}

// State is the world as players see it.
type State struct {
	Tick    uint64        `json:"tick"`
	Players []PlayerState `json:"players"`
	Coins   []Point       `json:"coins"`
}

// ToNearestCoin returns the direction from a player to the coin that is nearest.
func (s *State) ToNearestCoin(name string) Point {
	var me, best Point
	for _, p := range s.Players {
		if p.Name == name {
			me = p.Position
		}
	}
	for i, coin := range s.Coins {
		if i == 0 || me.Distance(coin) < me.Distance(best) {
			best = coin
		}
	}
	return me.Towards(best)
}

// World is one match. It is not safe for concurrent use.
type World struct {
	rng     *rand.Rand
	tick    uint64
	players map[string]*player
	scores  map[string]int // of players who have left, in case they rejoin
	coins   []Point
}

type player struct {
	position, heading Point
	score             int
}

// NewWorld makes an empty field. The same seed and moves give the same match.
func NewWorld(seed uint64) *World {
	return &World{rng: rand.New(rand.NewPCG(seed, 0)), players: map[string]*player{}, scores: map[string]int{}}
}

// Join puts a player on the field, with the former score if the player has been here before.
func (w *World) Join(name string) {
	if w.players[name] == nil {
		w.players[name] = &player{position: w.somewhere(), score: w.scores[name]}
	}
}

// Leave takes a player off the field.
func (w *World) Leave(name string) {
	if p := w.players[name]; p != nil {
		w.scores[name] = p.score
		delete(w.players, name)
	}
}

// Steer sets a player's direction until the next call; zero stands still.
func (w *World) Steer(name string, heading Point) {
	if p := w.players[name]; p != nil {
		p.heading = heading.unit()
	}
}

// Step advances the world by one tick.
func (w *World) Step() {
	w.tick++
	for _, name := range w.names() { // in order, so that the same seed gives the same match
		p := w.players[name]
		reach := Speed * TickEvery.Seconds()
		p.position = Point{p.position.X + p.heading.X*reach, p.position.Y + p.heading.Y*reach}.clamped()
		before := len(w.coins)
		w.coins = slices.DeleteFunc(w.coins, func(c Point) bool { return c.Distance(p.position) <= Reach })
		p.score += before - len(w.coins)
	}
	for len(w.coins) < CoinsPerHead*len(w.players) {
		w.coins = append(w.coins, w.somewhere())
	}
}

// State returns a copy of the world, players sorted by score.
func (w *World) State() State {
	s := State{Tick: w.tick, Players: []PlayerState{}, Coins: append([]Point{}, w.coins...)}
	for _, name := range w.names() {
		s.Players = append(s.Players, PlayerState{name, w.players[name].position, w.players[name].score})
	}
	slices.SortStableFunc(s.Players, func(a, b PlayerState) int { return cmp.Compare(b.Score, a.Score) })
	return s
}

func (w *World) names() []string {
	names := make([]string, 0, len(w.players))
	for name := range w.players {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (w *World) somewhere() Point { return Point{w.rng.Float64() * Size, w.rng.Float64() * Size} }
