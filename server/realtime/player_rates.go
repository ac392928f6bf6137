package realtime

import (
	"sync"
	"time"
)

// ratesKept is how long the rates of a player are kept after its last connection: after that its buckets are full.
const ratesKept = 10 * time.Second

// playerRates are the rates of the players of this process. All connections of a player share one sharedRates, so that
// a client gets nothing by connecting again. Safe for concurrent use.
type playerRates struct {
	mu       sync.Mutex
	byPlayer map[playerKey]*sharedRates
}

// playerKey is a player of a project. For one without a name, player is the id of its session.
type playerKey struct{ project, player string }

// sharedRates judge the frames of all connections of a player. Safe for concurrent use.
type sharedRates struct {
	connCount int       // guarded by the mutex of playerRates, like leftAt
	leftAt    time.Time // when the last of them was closed

	mu    sync.Mutex
	rates rates
}

func newPlayerRates() *playerRates { return &playerRates{byPlayer: map[playerKey]*sharedRates{}} }

// enter returns the rates of a player that connects. Call leave when the connection is closed.
func (p *playerRates) enter(name playerKey) *sharedRates {
	p.mu.Lock()
	defer p.mu.Unlock()
	shared := p.byPlayer[name]
	if shared == nil {
		shared = &sharedRates{}
		p.byPlayer[name] = shared
	}
	shared.connCount++
	return shared
}

// leave records that a connection of a player is closed.
func (p *playerRates) leave(name playerKey) {
	p.mu.Lock()
	defer p.mu.Unlock()
	shared := p.byPlayer[name]
	shared.leftAt = time.Now()
	shared.connCount--
	// Not at once: a client that connects again would begin with full buckets each time.
	if shared.connCount == 0 {
		time.AfterFunc(ratesKept, func() { p.forget(name) })
	}
}

// forget forgets a player that has not connected again.
func (p *playerRates) forget(name playerKey) {
	p.mu.Lock()
	defer p.mu.Unlock()
	// The player may have come and gone again since the timer was set: then a later timer forgets it.
	if shared := p.byPlayer[name]; shared != nil && shared.connCount == 0 && time.Since(shared.leftAt) >= ratesKept {
		delete(p.byPlayer, name)
	}
}

// judgeFrame counts a frame of any connection of the player.
func (s *sharedRates) judgeFrame(now time.Time, isAck bool) verdict {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rates.judgeFrame(now, isAck)
}
