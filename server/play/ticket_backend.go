package play

import (
	"context"
	"slices"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/matching/ticketbody"
	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/server/rest"
)

// createByBackend queues players for whom a backend vouches. The ticket is that of the first player of the party, who
// counts as having posted it: a player with a ticket of its own for the profile keeps it. Nobody needs to wait for the
// ticket, so it stays until its time is over.
func (f ticketFace) createByBackend(ctx context.Context, in rest.In[ticketRequest]) (ticket, error) {
	var c rest.Check
	c.That(in.Body.Party != nil, "party", "is required")
	c.That(in.Body.Lobby == nil, "lobby", "must be absent: a backend names the party")
	if err := c.Err(); err != nil {
		return ticket{}, err
	}
	// The first by name, so that a retry that names the party in another order is for the same ticket.
	key, first := in.Header("Idempotency-Key"), slices.Min(in.Body.Party)
	draft, err := in.Body.draftFor(first, key, nil)
	if err != nil {
		return ticket{}, err
	}
	if err := f.tickets.CheckHere(nearestRegion(draft.Latencies)); err != nil {
		return ticket{}, err
	}
	vouchForAll(&draft, match.FromBackend)
	a, err := f.admitDraft(ctx, draft)
	if err != nil {
		return ticket{}, err
	}
	return f.enterQueue(ctx, a, nil, db.PlayerTicketRequest{
		Caller: first, IsVouched: true, IdempotencyKey: key, RequestHash: hashOf(draft, nil, true),
	})
}

// vouchForAll makes source the source of each attribute of a draft, for all of its players.
func vouchForAll(d *ticketbody.Draft, source match.Source) {
	for i, p := range d.Players {
		sources := make(map[string]match.Source, len(d.Attributes)+len(p.Attributes))
		for name := range d.Attributes {
			sources[name] = source
		}
		for name := range p.Attributes {
			sources[name] = source
		}
		d.Players[i].Sources = sources
	}
}

// cancelByBackend takes a ticket out of the queue. While its players are being asked, it declines for them.
func (f ticketFace) cancelByBackend(ctx context.Context, in rest.In[rest.None]) (ticket, error) {
	id := in.Param("id")
	t, err := f.readTicket(ctx, id)
	if err != nil {
		return ticket{}, err
	}
	if len(t.Party) > 0 {
		// The store cancels as a player of the ticket; the first one can do so as well as any other.
		err = f.cancelAs(ctx, t.Party[0], id)
	}
	return f.answerChange(ctx, id, err, db.TicketAssigned)
}
