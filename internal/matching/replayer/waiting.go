package replayer

import (
	"cmp"
	"slices"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/matching/ticketbody"
	"github.com/lattice-director/director/match/replay"
)

// readQueue reads the tickets of the profile that wait: they are in no history, and the replay searches with them.
func (h *history) readQueue() error {
	h.isWaiting = map[string]bool{}
	for after, more := "", true; more; {
		page, full, err := h.store.CandidatesAfter(h.ctx, h.pastRange.Region, after)
		if err != nil {
			return err
		}
		for i := range page {
			if err := h.readWaiting(&page[i]); err != nil {
				return err
			}
			after = page[i].TicketID
		}
		more = full
	}
	slices.SortFunc(h.waitingArrivals, func(a, b replay.Arrival) int {
		return cmp.Or(a.Ticket.Created.Compare(b.Ticket.Created), cmp.Compare(a.Ticket.ID, b.Ticket.ID))
	})
	return nil
}

// readWaiting adds a ticket that waits, as the history will have it. A ticket that cannot be decoded is left out, as no
// worker has it as a candidate.
func (h *history) readWaiting(c *db.Candidate) error {
	profiles, mayHavePlayers := ticketbody.Requested(c.Body, h.recording.PlayerArg)
	// The ticket came after the time that is replayed, or only other profiles or none may match it.
	if !mayHavePlayers || !c.CreatedAt.Before(h.pastRange.Until) ||
		len(profiles) > 0 && !slices.Contains(profiles, h.pastRange.ProfileName) {
		return nil
	}
	t, err := ticketbody.Decode(c.TicketID, c.CreatedAt, c.Body, h.recording.PlayerArg)
	if err != nil {
		return nil //nolint:nilerr // left out
	}
	// Made from a row of the history, so that the ticket lacks what a recording does not keep, as all others do.
	row := query.ReplayTicketsRow{ID: c.TicketID, Created: c.CreatedAt, SeenAt: c.SeenAt, Profiles: t.Profiles,
		Outcome: stillWaits}
	for _, p := range t.Players {
		row.Party = append(row.Party, p.Sub)
	}
	row.Party = h.recording.Privacy.Party(row.Party)
	row.Attributes, row.Latencies = h.recording.Privacy.Facts(t)
	a, err := h.arrivalOf(row)
	if err != nil {
		return err
	}
	h.isWaiting[c.TicketID], h.waitingArrivals = true, append(h.waitingArrivals, a)
	return nil
}
