package db

import (
	"bytes"
	"slices"

	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
)

// playerVerdict is what becomes of a request for a ticket: one of err, same, or a new ticket after some have left.
type playerVerdict struct {
	err        error
	sameTicket string // the ticket that the caller waits with already
	leave      []leaving
	staleRows  []query.PlayersQueuedRow // whose tickets are gone
}

// leaving is a ticket that leaves the queue.
type leaving struct {
	id     string
	state  TicketState
	reason string
	forced bool // even where it is in a match
}

// judge decides about a request. rows are what each player of its party waits for.
func (r PlayerTicketRequest) judge(rows map[string][]query.PlayersQueuedRow) (v playerVerdict) {
	if v.sameTicket = r.sameTicket(rows[r.Caller]); v.sameTicket != "" {
		return v
	}
	if v.err = r.clearOwn(rows[r.Caller], &v); v.err != nil {
		return v
	}
	for _, sub := range r.Party {
		if v.err = r.checkMember(sub, rows[sub], &v); v.err != nil {
			return v
		}
	}
	return v
}

// sameTicket returns the ticket with which the caller waits since it, or another member, sent the same request.
func (r PlayerTicketRequest) sameTicket(own []query.PlayersQueuedRow) string {
	for _, row := range own {
		if row.Waits && !row.Over && bytes.Equal(row.RequestHash, r.RequestHash) &&
			slices.Contains(r.wished(), row.Profile) {
			return row.TicketID
		}
	}
	return ""
}

// clearOwn takes the caller out of the ticket of a party that it has not joined. Errors: it waits with a ticket for one
// of the profiles that it posted or joined, or that is in a match.
func (r PlayerTicketRequest) clearOwn(own []query.PlayersQueuedRow, v *playerVerdict) error {
	for _, row := range own {
		if !row.Waits || row.Over || !slices.Contains(r.wished(), row.Profile) {
			continue
		}
		switch {
		case row.Posted:
			return ofTicket(row.TicketID,
				fault.New(fault.Conflict, "ticket_exists",
					"you wait with another ticket for this profile: cancel it first"))
		case row.Seen, row.Pending:
			return ofTicket(row.TicketID,
				fault.New(fault.Conflict, "party_conflict",
					"you wait with the ticket of your party for this profile: cancel it first"))
		}
		v.leave = append(v.leave, leaving{row.TicketID, TicketCancelled, reasonElsewhere, false})
	}
	return nil
}

func ofTicket(id string, e *fault.Error) *fault.Error {
	e.TicketID = id
	return e
}

// checkMember makes room for a member's row. Errors: the member waits for one of the profiles elsewhere, or has too
// many tickets. Of the caller's tickets only those count that it posted or joined, so that nobody can fill its share.
func (r PlayerTicketRequest) checkMember(sub string, rows []query.PlayersQueuedRow, v *playerVerdict) error {
	var tickets []string
	for _, row := range rows {
		leaves := slices.ContainsFunc(v.leave, func(l leaving) bool { return l.id == row.TicketID })
		switch {
		case leaves:
		case !row.Waits:
			if slices.Contains(r.wished(), row.Profile) {
				v.staleRows = append(v.staleRows, row)
			}
		case row.Over:
			v.leave = append(v.leave, leaving{row.TicketID, TicketExpired, reasonTTL, true})
		case slices.Contains(r.wished(), row.Profile):
			return fault.New(fault.Conflict, "party_conflict",
				"another member of the party waits with a ticket of its own for this profile")
		case (sub != r.Caller || row.Seen) && !slices.Contains(tickets, row.TicketID):
			tickets = append(tickets, row.TicketID)
		}
	}
	if len(tickets) >= maxTicketsOfPlayer {
		e := fault.New(fault.TooMany, "too_many_tickets", "a player waits with at most %d tickets", maxTicketsOfPlayer)
		e.RetryAfter = fault.RetryAfter
		return e
	}
	return nil
}
