package db

import (
	"bytes"
	"errors"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/match/explain"
)

// errPartyBusy is the error of a party with a player about whom an older party of the transaction has decided. The next
// transaction decides about it.
var errPartyBusy = errors.New("the transaction has decided about a player of the party")

// enter decides about a party, and adds what it needs to the statements of the turn. Errors: errPartyBusy; those of
// judge, after which the party has changed nothing.
func (t *queueTurn) enter(p *party) (PlayerTicketAnswer, error) {
	if slices.ContainsFunc(p.request.Party, func(sub string) bool { return t.decidedPlayers[sub] }) {
		return PlayerTicketAnswer{}, errPartyBusy
	}
	var v partyVerdict
	same := t.sameTicket(p)
	if same == "" {
		var err error
		if v, err = t.judge(p); err != nil {
			return PlayerTicketAnswer{}, err
		}
	}
	// Also for a party that keeps its ticket: a younger request must not replace it in this turn.
	for _, sub := range p.request.Party {
		t.decidedPlayers[sub] = true
	}
	if same != "" {
		t.writes.keptTickets = append(t.writes.keptTickets, same)
		return PlayerTicketAnswer{ID: same}, nil
	}
	maps.Copy(t.leavingTickets, v.leavingTickets)
	return t.add(p, v.staleRows), nil
}

// partyVerdict is what a new ticket of a party takes away.
type partyVerdict struct {
	leavingTickets map[ticketRef]leaving
	staleRows      []query.PlayersQueuedRow // whose tickets are gone
}

// judge decides whether a party gets a new ticket, and changes nothing. Errors: NotFound, "profile_unknown"; Invalid,
// "cannot_match"; Conflict, "ticket_exists", "matched" and "party_conflict"; TooMany.
func (t *queueTurn) judge(p *party) (partyVerdict, error) {
	v := partyVerdict{leavingTickets: map[ticketRef]leaving{}}
	if p.judgedTicket != nil {
		if err := t.checkProfile(p); err != nil {
			return v, err
		}
	}
	// Sessions wait in rows of their own. What their players wait for as callers is judged below.
	if len(p.members) > 0 {
		if err := t.replaceSessions(p, &v); err != nil {
			return v, err
		}
	}
	if err := t.clearCaller(p.request, &v); err != nil {
		return v, err
	}
	for _, sub := range p.request.Party {
		if err := t.checkMember(p.request, sub, &v); err != nil {
			return v, err
		}
	}
	return v, nil
}

// sameTicket returns the ticket that a party keeps; "": none. A request keeps the one that it, or another member with
// the same request, has got, and one that an evacuation made for its caller, whatever it asks for: a client that knows
// nothing of evacuations posts its request again. A session keeps the one with which it, or an earlier session of its
// player, waits for the same room type, size and attributes. An action in a room gets a new one.
func (t *queueTurn) sameTicket(p *party) string {
	switch p.origin {
	case fromRequest:
		for _, row := range t.queuedPlayers[p.request.Caller] {
			// Also of a ticket that an evacuation made, which has no request.
			isSame := bytes.Equal(row.RequestHash, p.request.RequestHash) || bytes.Equal(row.RequestHash, requeuedHash)
			if row.Waits && !row.Over && isSame && p.request.asksFor(row.Profile) &&
				!t.hasLeft(ticketRef{t.universe, row.TicketID}) {
				return row.TicketID
			}
		}
	case fromSession:
		if row := t.keptWait(p); row != nil {
			return row.Ticket
		}
	// Whatever it waits for is replaced.
	case fromRoom:
	}
	return ""
}

// checkProfile refuses a ticket that would wait for nothing. Errors: NotFound, "profile_unknown"; Invalid,
// "cannot_match".
func (t *queueTurn) checkProfile(p *party) error {
	name := p.request.ProfileNames[0]
	judge, known := t.profilesByName[name]
	if !known {
		return fault.New(fault.NotFound, "profile_unknown", "there is no profile %q, or it is retired", name)
	}
	// This release cannot read it: a newer director loop decides.
	if judge == nil {
		return nil
	}
	ticket, err := p.judgedTicket(t.store.Now())
	if err != nil {
		return err
	}
	if why := explain.Refusal(judge, ticket); why != "" {
		return fault.New(fault.Invalid, "cannot_match", "%s", why)
	}
	return nil
}

// replaceSessions lets the tickets leave with which the sessions and the room of a party wait. Errors: Conflict,
// "ticket_exists", where a request names a room that waits already; "matched".
func (t *queueTurn) replaceSessions(p *party, v *partyVerdict) error {
	for _, r := range t.waitingSessions {
		ref := ticketRefOf(r)
		if t.hasLeft(ref) || !t.replaces(p, r) {
			continue
		}
		switch {
		case p.origin == fromRequest && r.Queued && isOfRoom(r, p.roomUID):
			return ofTicket(r.Ticket, fault.New(fault.Conflict, "ticket_exists",
				"the room waits with another ticket: cancel it first"))
		case waitsElsewhere(r):
			return ofTicket(r.Ticket, fault.New(fault.Conflict, "matched",
				"the session is in a match that an Open Match director assigns soon"))
		}
		// Also out of a match of the loop. One of Open Match was refused above.
		v.leavingTickets[ref] = leaving{r.Ticket, TicketCancelled, reasonElsewhere, r.Pending}
	}
	return nil
}

// replaces reports whether a ticket leaves the queue for a party: it is of a member or of the room, or another session
// of a player made it alone, for the same profile.
func (t *queueTurn) replaces(p *party, r query.WaitingSessionsRow) bool {
	for i, m := range p.members {
		if m.Session == r.Session || r.Lobby == nil && r.Sub == p.playerSubs[i] &&
			t.store.profileOf(r.RoomType) == t.store.profileOf(p.lobbyQueue.RoomType) {
			return true
		}
	}
	return isOfRoom(r, p.roomUID)
}

func isOfRoom(r query.WaitingSessionsRow, room uuid.UUID) bool {
	return r.Lobby != nil && *r.Lobby == room
}

// clearCaller takes the caller out of the ticket of a party that it has not joined. Errors: it waits with a ticket for
// one of the profiles that it posted or joined, or that is in a match.
func (t *queueTurn) clearCaller(r PlayerTicketRequest, v *partyVerdict) error {
	for _, row := range t.queuedPlayers[r.Caller] {
		if !row.Waits || row.Over || !r.asksFor(row.Profile) || t.leavesWith(v, row) {
			continue
		}
		switch {
		// Its own ticket, which it has to cancel itself. Somebody else's ends silently, unless the player knows of it
		// or it is in a match.
		case row.Posted:
			return ofTicket(row.TicketID,
				fault.New(fault.Conflict, "ticket_exists",
					"you wait with another ticket for this profile: cancel it first"))
		case row.Seen, row.Pending:
			return ofTicket(row.TicketID,
				fault.New(fault.Conflict, "party_conflict",
					"you wait with the ticket of your party for this profile: cancel it first"))
		}
		v.leavingTickets[ticketRef{t.universe, row.TicketID}] = leaving{row.TicketID, TicketCancelled, reasonElsewhere,
			false}
	}
	return nil
}

func ofTicket(id string, e *fault.Error) *fault.Error {
	e.TicketID = id
	return e
}

// checkMember makes room for a member's row. Errors: the member waits for one of the profiles elsewhere, or has too
// many tickets. Of the caller's tickets only those count that it posted or joined, so that nobody can fill its share.
func (t *queueTurn) checkMember(r PlayerTicketRequest, sub string, v *partyVerdict) error {
	var tickets []string
	for _, row := range t.queuedPlayers[sub] {
		switch {
		case !row.Waits: // also where the ticket leaves: only a ticket that is there takes its players with it
			if r.asksFor(row.Profile) {
				v.staleRows = append(v.staleRows, row)
			}
		case t.leavesWith(v, row):
		case row.Over:
			v.leavingTickets[ticketRef{t.universe, row.TicketID}] = leaving{row.TicketID, TicketExpired, reasonTTL,
				true}
		case r.asksFor(row.Profile):
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

// leavesWith reports whether the ticket of a row leaves in this transaction, for the party of a verdict or before it.
func (t *queueTurn) leavesWith(v *partyVerdict, row query.PlayersQueuedRow) bool {
	ref := ticketRef{t.universe, row.TicketID}
	_, leaves := v.leavingTickets[ref]
	return leaves || t.hasLeft(ref)
}
