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
	// renewParts is how often players are renewed in that time: each time another part of them.
	renewParts = 20
)

// recordDemand writes the demand of the players until ctx ends: of new players at once, and of each again every five
// seconds.
func (r *Room) recordDemand(ctx context.Context) {
	follow.Loop{
		Name: "demand", Every: renewEvery / renewParts, Timeout: callTimeout, Wakes: follow.Wakes{r.newWork},
		Do: func(ctx context.Context, _ bool) error { return r.writeOnce(ctx) }, Guard: r.guard,
		Report: r.outage.Report,
	}.Run(ctx)
	// The replica stops: the demand of players who have left is deleted now, so that pools start no server for them
	// until it lapses.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	r.outage.Report(ctx, r.deleteEnded(ctx))
}

// writeOnce writes before it deletes: a player that left during the write is then deleted.
func (r *Room) writeOnce(ctx context.Context) error {
	if err := r.putDemand(ctx); err != nil {
		return err
	}
	return r.deleteEnded(ctx)
}

func (r *Room) putDemand(ctx context.Context) error {
	players, demand := r.takeUnserved(time.Now())
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

// takeUnserved returns the players whose demand must be written now: new players for whom there was no capacity, and
// those that are due to be renewed, at most one part of all. So many players that joined together are renewed over five
// seconds, not at one moment.
func (r *Room) takeUnserved(now time.Time) (players []*Player, demand []db.Waiting) {
	r.mu.Lock()
	defer r.mu.Unlock()
	// One more than the part, so that a room of few players renews each of them in time.
	renewals := r.playerCount/renewParts + 1
	for _, q := range r.queues {
		for _, p := range q.players {
			due := renewals > 0 && !now.Before(p.renewAt)
			switch {
			// Its row is fresh, or it may get a seat at this moment, without demand.
			case p.state.Recorded && !due, p.isAsking && !p.state.Recorded:
				continue
			case !p.state.Recorded && !q.hasMissed && !due:
				continue // it may get a seat without a new server
			case due:
				renewals--
			}
			p.mayHaveRow, p.renewAt = true, now.Add(renewEvery)
			players, demand = append(players, p), append(demand, p.request.demandRow())
		}
	}
	return players, demand
}

// learnOutlook stores an outlook for all players of a mode. It is called with the mutex locked.
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

// deleteEnded deletes the demand of the players who left. What cannot be deleted is deleted with the next, or lapses.
func (r *Room) deleteEnded(ctx context.Context) error {
	r.mu.Lock()
	ended := r.endedDemand
	r.endedDemand = nil
	r.mu.Unlock()
	if len(ended) == 0 {
		return nil
	}
	err := r.store.EndWaiting(ctx, ended)
	if err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		// In the order in which the players left: others have left during the call.
		r.endedDemand = append(ended, r.endedDemand...)
		// Bounded during an outage: demand that is not deleted lapses after TTL, the oldest first.
		r.endedDemand = r.endedDemand[max(0, len(r.endedDemand)-r.maxPlayers):]
	}
	return err
}
