package waitingroom

import (
	"context"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/base/follow"
)

const (
	// TTL is how long the demand of a player is kept without renewal.
	TTL = 15 * time.Second
	// renewEvery is a third of TTL, so that one renewal may fail.
	renewEvery = TTL / 3
	// renewParts is the number of parts in which the players are renewed, spread over renewEvery.
	renewParts = 20
)

// runDemand writes the demand of the players until ctx ends: at once of those for whom there was no capacity, and of
// each player every five seconds. Then it deletes the demand of players who have left.
func (r *Room) runDemand(ctx context.Context) {
	follow.Loop{
		Name: "demand", Every: renewEvery / renewParts, Timeout: callTimeout, Wakes: follow.Wakes{r.demandWake},
		Do: func(ctx context.Context, _ bool) error { return r.writeDemand(ctx) }, Guard: r.guard,
		Report: r.outage.Report,
	}.Run(ctx)
	// The replica stops: the demand of players who have left is deleted now, so that pools start no server for them
	// until it lapses.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	r.outage.Report(ctx, r.deleteEnded(ctx))
}

// writeDemand writes the demand that is due, and deletes that of players who left.
func (r *Room) writeDemand(ctx context.Context) error {
	// Written first: the demand of a player who leaves during the write is deleted after it.
	if err := r.putDemand(ctx); err != nil {
		return err
	}
	return r.deleteEnded(ctx)
}

// putDemand writes the demand that is due, and signals its players what the database knows of it.
func (r *Room) putDemand(ctx context.Context) error {
	players, demand := r.takeDue(time.Now())
	if len(demand) == 0 {
		return nil
	}
	outlooks, err := r.store.PutWaiting(ctx, r.demandSource, TTL, demand)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range players {
		if p.state.Seat != nil { // seated during the call, which may have written the row again
			r.endedDemand = append(r.endedDemand, p.request.demandRow())
		}
		p.state.Recorded = p.state.Recorded || err == nil
		p.signalChange()
	}
	for _, o := range outlooks {
		r.learnOutlook(o)
	}
	return err
}

// takeDue returns the players whose demand must be written now, with that demand, and makes their next renewal due
// after renewEvery. They are players for whom there was no capacity, and those whose renewal is due, of these at most
// one part of all. So many players that joined together are renewed over five seconds, not at one moment.
func (r *Room) takeDue(now time.Time) (players []*Player, demand []db.Waiting) {
	r.mu.Lock()
	defer r.mu.Unlock()
	// One more than the part, so that a room of few players renews each of them in time.
	renewals := r.playerCount/renewParts + 1
	for _, q := range r.queues {
		for _, p := range q.players {
			isDue := renewals > 0 && !now.Before(p.renewAt)
			if !p.needsWrite(isDue) {
				continue
			}
			if isDue {
				renewals--
			}
			p.mayHaveRow, p.renewAt = true, now.Add(renewEvery)
			players, demand = append(players, p), append(demand, p.request.demandRow())
		}
	}
	return players, demand
}

// needsWrite reports whether a player's demand must be written now; isDue says that its renewal is due. The room's
// mutex is locked.
func (p *Player) needsWrite(isDue bool) bool {
	switch {
	case p.state.Recorded:
		return isDue
	case p.isAsking:
		return false // the call may return a seat at any moment: then the player is no demand
	default:
		// Until a call of the queue has missed, the player may get a seat without a new server. isDue: no call missed
		// for renewEvery, but none gave the player a seat either.
		return p.queue.hasMissed || isDue
	}
}

// learnOutlook stores an outlook for all players of a mode in a region. r.mu is locked.
func (r *Room) learnOutlook(o fault.Outlook) {
	for _, q := range r.queues {
		if q.key.region != o.Region || q.key.mode != o.Mode || q.poolOutlook == o {
			continue
		}
		q.poolOutlook = o
		for _, p := range q.players {
			p.signalChange()
		}
	}
}

// deleteEnded deletes the demand of the players who left. What cannot be deleted is deleted by a later call, or lapses.
func (r *Room) deleteEnded(ctx context.Context) error {
	r.mu.Lock()
	ended := r.endedDemand
	r.endedDemand = nil
	r.mu.Unlock()
	if len(ended) == 0 {
		return nil
	}
	err := r.store.EndWaiting(ctx, ended)
	if err == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	// In the order in which the players left: others have left during the call.
	r.endedDemand = append(ended, r.endedDemand...)
	// Bounded during an outage: demand that is not deleted lapses after TTL, the oldest first.
	r.endedDemand = r.endedDemand[max(0, len(r.endedDemand)-r.maxPlayers):]
	return err
}
