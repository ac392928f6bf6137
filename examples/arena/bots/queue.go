package bots

import (
	"context"
	"fmt"
	"time"

	"github.com/lattice-director/director/sdk"
)

// cancelWithin bounds how long a party that stops waits for its ticket to leave the queue.
const cancelWithin = 2 * time.Second

// matchByTicket queues the party until it is assigned, and returns its match. It replaces a ticket that leaves the
// queue in another way.
func (p *party) matchByTicket(ctx context.Context) (sdk.Match, error) {
	leader := p.members[0]
	return retryForever(ctx, leader, func() (sdk.Match, error) {
		queued, err := leader.player.Queue(ctx, p.ticketRequest())
		if err != nil {
			return sdk.Match{}, err
		}
		status, err := awaitFinal(ctx, queued)
		if err != nil {
			// Also when ctx has ended: nobody would accept a match for it.
			withdrawTicket(ctx, queued)
			return sdk.Match{}, err
		}
		// Expired, cancelled or declined: an error, after which retryForever queues a new ticket.
		if status.State != sdk.QueueAssigned {
			return sdk.Match{}, fmt.Errorf("ticket %s is %s: %s", queued.ID(), status.State, status.Reason)
		}
		return sdk.Match{Handle: status.Handle, Endpoint: status.Endpoint, Region: status.Region, Mode: p.gameMode,
			MaxPlayers: p.config.MaxPlayers}, nil
	})
}

// ticketRequest returns the request with the skill of each member and the latency to the region.
func (p *party) ticketRequest() sdk.TicketRequest {
	req := sdk.TicketRequest{
		Profiles: []string{p.profile}, Players: map[string]sdk.TicketPlayer{},
		// One region alone, so that the match is made where the bots' servers are.
		Latencies: map[string]int{p.config.Region: 1},
	}
	for _, b := range p.members {
		req.Party = append(req.Party, b.name)
		req.Players[b.name] = sdk.TicketPlayer{Attributes: map[string]any{"skill": b.skillRating}}
	}
	return req
}

// awaitFinal waits until the ticket has left the queue, and accepts matches meanwhile.
func awaitFinal(ctx context.Context, q *sdk.Queued) (sdk.QueueStatus, error) {
	for {
		status, err := q.Next(ctx)
		if err != nil || status.State.Final() {
			return status, err
		}
		if status.State == sdk.QueueAccepting {
			_, _ = q.Accept(ctx, status.MatchID) // too late: the next state says so
		}
	}
}

// withdrawTicket cancels a ticket that nobody waits for any more, so that the ticket leaves the queue before it
// expires.
func withdrawTicket(ctx context.Context, q *sdk.Queued) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelWithin)
	defer cancel()
	// The error does not matter: a ticket that stays expires with the profile's ttl.
	_, _ = q.Cancel(ctx)
}
