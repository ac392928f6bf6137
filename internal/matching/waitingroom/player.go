package waitingroom

import (
	"context"
	"time"

	"github.com/lattice-director/director/internal/base/fault"
)

// Changed returns a channel that holds one signal: the state may have changed since the last call of State.
func (p *Player) Changed() <-chan struct{} { return p.changed }

// State returns the state. It does not block.
func (p *Player) State() State {
	p.room.mu.Lock()
	defer p.room.mu.Unlock()
	state := p.state
	state.Outlook = p.queue.poolOutlook
	state.Trouble = p.queue.lastTrouble
	return state
}

// LeaveWithSeat takes the player out of the room, and does not free its seat.
func (p *Player) LeaveWithSeat() { p.room.removePlayer(p) }

// Leave takes the player out of the room. A player with a seat has lost the seat when Leave returns; the demand of a
// player without one is deleted soon afterwards. Errors: why the seat was not freed; such a seat expires.
func (p *Player) Leave(ctx context.Context) error {
	seat := p.room.removePlayer(p)
	if seat == nil {
		return nil
	}
	return p.room.giveBackSeat(ctx, seat.SessionID, p.request.Sub)
}

// Join adds a player, who then waits until it gets a seat or leaves: call LeaveWithSeat or Leave when done. Players who
// join before Run are asked for when Run begins. Errors: TooMany, "waiting_full", if the room is full.
func (r *Room) Join(request Request) (*Player, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.playerCount >= r.maxPlayers {
		return nil, &fault.Error{Kind: fault.TooMany, Code: "waiting_full",
			Detail: "too many players wait in this replica", RetryAfter: lookEvery}
	}
	r.playerCount++
	// After renewEvery the player is demand even if no call of its queue has missed: see needsWrite.
	p := &Player{room: r, request: request, changed: make(chan struct{}, 1), renewAt: time.Now().Add(renewEvery)}
	key := queueKey{request.Region, request.Mode, request.MaxPlayers}
	p.queue = r.queues[key]
	if p.queue == nil {
		p.queue = &queue{key: key, room: r, wake: make(chan struct{}, 1)}
		r.queues[key] = p.queue
	}
	p.queue.addPlayer(p)
	return p, nil
}
