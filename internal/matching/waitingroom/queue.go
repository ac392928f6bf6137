package waitingroom

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/base/wait"
)

const (
	// askInterval is the least time between two turns of a queue: each may find nothing and cost a transaction.
	askInterval = 25 * time.Millisecond
	// maxAsking bounds the calls of Place that run for one queue at a time.
	maxAsking = 256
)

// addPlayer adds a player at the end of the queue, and has its seat or its demand asked for. The room's mutex is
// locked.
func (q *queue) addPlayer(p *Player) {
	q.players = append(q.players, p)
	q.startAsking()
	if q.hasMissed {
		q.room.wakeDemand() // the player is behind others for whom there was no capacity
		return
	}
	q.signalWake()
}

// startAsking starts the queue's goroutine, unless it runs, has nothing to do, or the room does not run. The room's
// mutex is locked.
func (q *queue) startAsking() {
	ctx := q.room.runContext // nil before Run, which starts the queues that it finds
	if q.isRunning || ctx == nil || ctx.Err() != nil || len(q.players) == 0 {
		return
	}
	q.isRunning = true
	// No follow.Loop: Room.Run wakes all queues at intervals, and the goroutine of a queue ends with its last player.
	q.room.askingQueues.Go(func() {
		for !q.stopIfDone(ctx) {
			_ = q.room.guard.Do("waiting players",
				func() error { q.askForSeats(ctx); return nil }) // the error is a panic, which the guard has logged
			// When ctx ends, stopIfDone ends the loop.
			wait.For(ctx, askInterval)
			select {
			case <-q.wake:
			case <-ctx.Done():
			}
		}
	})
}

// stopIfDone marks the queue as stopped if it has no players or ctx has ended, and reports so. A queue without players
// is taken out of the room.
func (q *queue) stopIfDone(ctx context.Context) (stopped bool) {
	q.room.mu.Lock()
	defer q.room.mu.Unlock()
	if len(q.players) > 0 && ctx.Err() == nil {
		return false
	}
	q.isRunning = false
	if len(q.players) == 0 && q.room.queues[q.key] == q {
		delete(q.room.queues, q.key)
	}
	return true
}

// askForSeats asks for the seats of the oldest players, for twice as many after each success, until a player gets none.
func (q *queue) askForSeats(ctx context.Context) {
	for n := 1; ctx.Err() == nil; n = min(2*n, maxAsking) {
		players := q.takeOldest(n)
		if len(players) == 0 {
			return
		}
		var asking sync.WaitGroup
		for _, p := range players {
			asking.Go(func() {
				if err := q.room.guard.Do("waiting player",
					func() error { p.askForSeat(ctx); return nil }); err != nil {
					p.settleWait(nil, err)
				}
			})
		}
		// All of them, before more are asked for: one that gets no seat sets hasMissed, which ends the turn.
		asking.Wait()
	}
}

// takeOldest returns the oldest n players and marks them as asking. After a miss it returns none.
func (q *queue) takeOldest(n int) []*Player {
	q.room.mu.Lock()
	defer q.room.mu.Unlock()
	if q.hasMissed {
		return nil
	}
	players := slices.Clone(q.players[:min(n, len(q.players))])
	for _, p := range players {
		p.isAsking = true
	}
	return players
}

// askForSeat asks for the player's seat once. The call outlives the player's own context, so that its outcome is known.
func (p *Player) askForSeat(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	seat, err := p.room.store.Place(ctx, p.request.place())
	switch {
	case err == nil:
		p.settleWait(&seat, nil)
	case fault.Is(err, fault.NoCapacity), fault.Is(err, fault.Unavailable):
		p.keepWaiting(err)
	default:
		p.settleWait(nil, err)
	}
}

// settleWait ends the wait of a player with a seat or an error. The seat of a player who has left is given back.
func (p *Player) settleWait(seat *db.Placement, err error) {
	r := p.room
	r.mu.Lock()
	p.isAsking = false
	isUnwanted := p.hasLeft
	p.state.Seat, p.state.Err = seat, err
	p.queue.dropPlayer(p)
	p.queue.lastTrouble = nil
	r.mu.Unlock() // other players must not wait for the call of the database
	if isUnwanted && seat != nil {
		if err := r.giveBackSeat(context.Background(), seat.SessionID, p.request.Sub); err != nil {
			r.log.Warn("the seat of a player that left was not given back: it expires", slog.Any("error", err))
		}
	}
	p.signalChange()
}

// keepWaiting leaves the player in the queue after a call that failed with err, and makes the queue wait for a wake-up.
func (p *Player) keepWaiting(err error) {
	r := p.room
	r.mu.Lock()
	defer r.mu.Unlock()
	p.isAsking = false
	q := p.queue
	q.hasMissed = true
	q.lastTrouble = nil
	if fault.Is(err, fault.Unavailable) {
		q.lastTrouble = err
	}
	r.wakeDemand()
}
