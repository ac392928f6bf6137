package waitingroom

import (
	"context"
	"log/slog"
	"slices"
	"sync"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/base/wait"
)

// queueKey identifies players who can share a session.
type queueKey struct {
	region, mode string
	maxPlayers   int
}

// queue holds the players of one kind of session, the oldest first. It has a goroutine while it has players. Its fields
// are guarded by the room's mutex.
type queue struct {
	key queueKey

	room    *Room
	wake    chan struct{}
	players []*Player // that have no seat
	runs    bool
	missed  bool          // the last call found no capacity: the next one waits for a wake-up
	outlook fault.Outlook // of the mode's pool
	trouble error         // of the last call of the database
}

// add is called with the room's mutex locked.
func (q *queue) add(p *Player) {
	q.players = append(q.players, p)
	q.start()
	if q.missed {
		q.room.wakeDemand() // it is behind players for whom there was no capacity
		return
	}
	q.signal()
}

// drop is called with the room's mutex locked.
func (q *queue) drop(p *Player) {
	if i := slices.Index(q.players, p); i >= 0 {
		q.players = slices.Delete(q.players, i, i+1)
	}
	if len(q.players) == 0 {
		q.signal() // its goroutine ends
	}
}

func (q *queue) signal() { wait.Wake(q.wake) }

// start is called with the room's mutex locked.
func (q *queue) start() {
	ctx := q.room.ctx
	if q.runs || ctx == nil || ctx.Err() != nil || len(q.players) == 0 {
		return
	}
	q.runs = true
	// No follow.Loop: the queue follows no feed, only a player or news of capacity is a reason to ask, and its goroutine
	// ends with its last player.
	q.room.asking.Go(func() {
		for q.lives(ctx) {
			_ = q.room.guard.Do("waiting players", func() error { q.ask(ctx); return nil }) // the guard has logged it
			wait.For(ctx, askInterval)
			select {
			case <-q.wake:
			case <-ctx.Done():
			}
		}
	})
}

// lives reports whether the queue's goroutine has to continue. A queue without players is forgotten.
func (q *queue) lives(ctx context.Context) bool {
	q.room.mu.Lock()
	defer q.room.mu.Unlock()
	if len(q.players) > 0 && ctx.Err() == nil {
		return true
	}
	q.runs = false
	if len(q.players) == 0 && q.room.queues[q.key] == q {
		delete(q.room.queues, q.key)
	}
	return false
}

// ask asks for the seats of the oldest players, for twice as many after each success, until a player gets none.
func (q *queue) ask(ctx context.Context) {
	for n := 1; ctx.Err() == nil; n = min(2*n, maxAsking) {
		players := q.oldest(n)
		if len(players) == 0 {
			return
		}
		var asking sync.WaitGroup
		for _, p := range players {
			asking.Go(func() {
				if err := q.room.guard.Do("waiting player", func() error { p.ask(ctx); return nil }); err != nil {
					p.settle(nil, err)
				}
			})
		}
		asking.Wait()
	}
}

// oldest returns the players that ask next: none after a miss.
func (q *queue) oldest(n int) []*Player {
	q.room.mu.Lock()
	defer q.room.mu.Unlock()
	if q.missed {
		return nil
	}
	players := slices.Clone(q.players[:min(n, len(q.players))])
	for _, p := range players {
		p.asking = true
	}
	return players
}

// ask asks for the player's seat once. The call outlives the player's own context, so that its outcome is known.
func (p *Player) ask(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	seat, err := p.room.store.Place(ctx, p.request.place())
	switch {
	case err == nil:
		p.settle(&seat, nil)
	case fault.Is(err, fault.NoCapacity), fault.Is(err, fault.Unavailable):
		p.waitOn(err)
	default:
		p.settle(nil, err)
	}
}

// settle ends the wait of a player. A seat that the player no longer wants is given back.
func (p *Player) settle(seat *db.Placement, err error) {
	r := p.room
	r.mu.Lock()
	p.asking = false
	unwanted := p.hasLeft
	p.state.Seat, p.state.Err = seat, err
	p.queue.drop(p)
	p.queue.trouble = nil
	r.mu.Unlock()
	if unwanted && seat != nil {
		if err := r.giveBack(context.Background(), seat.SessionID, p.request.Sub); err != nil {
			r.log.Warn("the seat of a player that left was not given back: it expires", slog.Any("error", err))
		}
	}
	p.signal()
}

// waitOn leaves the player in the queue, which then waits for a wake-up.
func (p *Player) waitOn(err error) {
	r := p.room
	r.mu.Lock()
	defer r.mu.Unlock()
	p.asking = false
	q := p.queue
	q.missed = true
	q.trouble = nil
	if fault.Is(err, fault.Unavailable) {
		q.trouble = err
	}
	r.wakeDemand()
}
