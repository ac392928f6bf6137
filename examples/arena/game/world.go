package game

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// The measures of the game.
const (
	Size         = 100.0                  // side of the field, in metres
	Speed        = 20.0                   // of a player, in metres per second
	Reach        = 2.0                    // from how far a player picks up a coin, in metres
	CoinsPerHead = 3                      // coins on the field for each player on it
	TickEvery    = 100 * time.Millisecond // the interval of steps and of states that players receive
)

// Point is a position on the field, or a direction.
type Point struct {
	X float64 `json:"x"`
	Y float64 `json:"y"`
}

// Distance is how far apart two points are.
func (p Point) Distance(q Point) float64 { return math.Hypot(p.X-q.X, p.Y-q.Y) }

// Towards is the direction from p to q. It is shorter than 1 when q is nearer than a metre, so that a player slows down
// there.
func (p Point) Towards(q Point) Point { return Point{q.X - p.X, q.Y - p.Y}.atMostUnit() }

// atMostUnit shortens a direction to length 1, so that no player moves faster by sending a longer one.
func (p Point) atMostUnit() Point {
	length := math.Hypot(p.X, p.Y)
	if length <= 1 {
		return p
	}
	return Point{p.X / length, p.Y / length}
}

// clampedToField keeps a point on the field: players stop at its edge.
func (p Point) clampedToField() Point {
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
	// There is a coin wherever there is a player: Step adds coins before a state is sent.
	for i, coin := range s.Coins {
		if i == 0 || me.Distance(coin) < me.Distance(best) {
			best = coin
		}
	}
	return me.Towards(best)
}

// World is one match. It is not safe for concurrent use.
type World struct {
	rng          *rand.Rand
	tickCount    uint64
	playerByName map[string]*player
	leftScores   map[string]int // of players who have left, in case they rejoin
	coinPlaces   []Point
}

type player struct {
	position, heading Point
	score             int
}

// NewWorld makes an empty field. The same seed and moves give the same match.
func NewWorld(seed uint64) *World {
	return &World{rng: rand.New(rand.NewPCG(seed, 0)), playerByName: map[string]*player{}, leftScores: map[string]int{}}
}

// Join puts a player on the field, with the former score if the player has been here before.
func (w *World) Join(name string) {
	if w.playerByName[name] == nil {
		w.playerByName[name] = &player{position: w.randomPoint(), score: w.leftScores[name]}
	}
}

// Leave takes a player off the field.
func (w *World) Leave(name string) {
	if p := w.playerByName[name]; p != nil {
		w.leftScores[name] = p.score
		delete(w.playerByName, name)
	}
}

// Steer sets a player's direction until the next call; zero stands still.
func (w *World) Steer(name string, heading Point) {
	if p := w.playerByName[name]; p != nil {
		p.heading = heading.atMostUnit()
	}
}

// Step advances the world by one tick.
func (w *World) Step() {
	w.tickCount++
	for _, name := range w.playerNames() { // in order, so that the same seed gives the same match
		p := w.playerByName[name]
		moved := Speed * TickEvery.Seconds() // at full speed, in metres
		p.position = Point{p.position.X + p.heading.X*moved, p.position.Y + p.heading.Y*moved}.clampedToField()
		// Of two players who reach a coin in one tick, the first by name gets it.
		before := len(w.coinPlaces)
		w.coinPlaces = slices.DeleteFunc(w.coinPlaces, func(c Point) bool { return c.Distance(p.position) <= Reach })
		p.score += before - len(w.coinPlaces)
	}
	// Coins follow the number of players, so that a full room is no harder than an empty one. They are not taken away
	// when players leave.
	for len(w.coinPlaces) < CoinsPerHead*len(w.playerByName) {
		w.coinPlaces = append(w.coinPlaces, w.randomPoint())
	}
}

// State returns a copy of the world, players sorted by score.
func (w *World) State() State {
	s := State{Tick: w.tickCount, Players: []PlayerState{}, Coins: append([]Point{}, w.coinPlaces...)}
	for _, name := range w.playerNames() {
		s.Players = append(s.Players, PlayerState{name, w.playerByName[name].position, w.playerByName[name].score})
	}
	// Stable: players with equal scores keep the order of their names.
	slices.SortStableFunc(s.Players, func(a, b PlayerState) int { return cmp.Compare(b.Score, a.Score) })
	return s
}

func (w *World) playerNames() []string {
	names := make([]string, 0, len(w.playerByName))
	for name := range w.playerByName {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (w *World) randomPoint() Point { return Point{w.rng.Float64() * Size, w.rng.Float64() * Size} }
