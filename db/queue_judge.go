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
	// A younger request must not replace the ticket that is kept here.
	if same := t.sameTicket(p); same != "" {
		t.markDecided(p)
		t.writes.keptTickets = append(t.writes.keptTickets, same)
		return PlayerTicketAnswer{ID: same}, nil
	}
	v, err := t.judge(p)
	if err != nil {
		return PlayerTicketAnswer{}, err
	}
	t.markDecided(p)
	maps.Copy(t.leavingTickets, v.leavingTickets)
	return t.add(p, v.staleRows), nil
}

func (t *queueTurn) markDecided(p *party) {
	for _, sub := range p.request.Party {
		t.decidedPlayers[sub] = true
	}
}

// partyVerdict is what a new ticket of a party replaces.
type partyVerdict struct {
	leavingTickets map[ticketRef]leavingTicket
	staleRows      []query.PlayersQueuedRow // rows of players whose tickets are gone
}

// judge decides whether a party gets a new ticket, and changes nothing. Errors: NotFound, "profile_unknown"; Invalid,
// "cannot_match"; Conflict, "ticket_exists", "matched" and "party_conflict"; TooMany.
func (t *queueTurn) judge(p *party) (partyVerdict, error) {
	v := partyVerdict{leavingTickets: map[ticketRef]leavingTicket{}}
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
		return t.sameRequest(p.request)
	case fromSession:
		if row := t.keptRow(p); row != nil {
			return row.Ticket
		}
		return ""
	default: // fromRoom
		return ""
	}
}

// sameRequest returns the ticket that the caller of a request waits with for the same request; "": none.
func (t *queueTurn) sameRequest(r PlayerTicketRequest) string {
	for _, row := range t.queuedPlayers[r.Caller] {
		// requeuedHash marks a ticket that an evacuation made, which has no request.
		isSame := bytes.Equal(row.RequestHash, r.RequestHash) || bytes.Equal(row.RequestHash, requeuedHash)
		if row.Waits && !row.Over && isSame && r.asksFor(row.Profile) &&
			!t.hasLeft(ticketRef{t.universe, row.TicketID}) {
			return row.TicketID
		}
	}
	return ""
}

// checkProfile refuses a ticket that its profile cannot match with any other. Errors: NotFound, "profile_unknown";
// Invalid, "cannot_match".
func (t *queueTurn) checkProfile(p *party) error {
	name := p.request.ProfileNames[0]
	judge, known := t.profilesByName[name]
	if !known {
		return fault.New(fault.NotFound, "profile_unknown", "there is no profile %q, or it is retired", name)
	}
	// This release cannot read the profile: a worker of a newer release decides for it.
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

// replaceSessions adds to the verdict the tickets with which the sessions and the room of a party wait. Errors:
// Conflict, "ticket_exists", where a request names a room that waits already; "matched".
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
		case isInCycle(r):
			return ofTicket(r.Ticket, fault.New(fault.Conflict, "matched",
				"the session is in a match that an Open Match director assigns soon"))
		}
		// Forced out of a match of the loop. A ticket in a match of Open Match was refused above.
		v.leavingTickets[ref] = leavingTicket{ticketID: r.Ticket, finalState: TicketCancelled, finalReason: reasonElsewhere,
			isForced: r.Pending}
	}
	return nil
}

// replaces reports whether a ticket leaves the queue for a party: it is of a member or of the room, or another session
// of a player made it alone, for the same profile.
func (t *queueTurn) replaces(p *party, r query.WaitingSessionsRow) bool {
	hasSameProfile := t.store.profileOf(r.RoomType) == t.store.profileOf(p.lobbyQueue.RoomType)
	for i, m := range p.members {
		isOfSamePlayer := r.Lobby == nil && r.Sub == p.playerSubs[i]
		if m.Session == r.Session || isOfSamePlayer && hasSameProfile {
			return true
		}
	}
	return isOfRoom(r, p.roomUID)
}

func isOfRoom(r query.WaitingSessionsRow, room uuid.UUID) bool {
	return r.Lobby != nil && *r.Lobby == room
}

// clearCaller adds to the verdict the tickets of parties that the caller has not joined. Errors: Conflict, where the
// caller waits for one of the profiles with a ticket that it posted or joined, or that is in a match.
func (t *queueTurn) clearCaller(r PlayerTicketRequest, v *partyVerdict) error {
	for _, row := range t.queuedPlayers[r.Caller] {
		if !row.Waits || row.Over || !r.asksFor(row.Profile) || t.leavesWith(v, row) {
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
		// Another player posted the ticket, and the caller does not know it.
		v.leavingTickets[ticketRef{t.universe, row.TicketID}] = leavingTicket{ticketID: row.TicketID,
			finalState: TicketCancelled, finalReason: reasonElsewhere}
	}
	return nil
}

func ofTicket(id string, e *fault.Error) *fault.Error {
	e.TicketID = id
	return e
}

// checkMember adds to the verdict the rows and tickets of a member that are in the way of its new row. Errors:
// Conflict, where the member waits for one of the profiles elsewhere; TooMany, where it has too many tickets. Of the
// caller's tickets only those count that it posted or joined, so that nobody can fill its share.
func (t *queueTurn) checkMember(r PlayerTicketRequest, sub string, v *partyVerdict) error {
	var countedTickets []string
	for _, row := range t.queuedPlayers[sub] {
		// The ticket is gone. Its row is forgotten even if the ticket is among those that leave: only a ticket that is
		// there takes its rows with it.
		if !row.Waits {
			if r.asksFor(row.Profile) {
				v.staleRows = append(v.staleRows, row)
			}
			continue
		}
		if t.leavesWith(v, row) {
			continue
		}
		switch {
		case row.Over:
			v.leavingTickets[ticketRef{t.universe, row.TicketID}] = leavingTicket{ticketID: row.TicketID,
				finalState: TicketExpired, finalReason: reasonTTL, isForced: true}
		case r.asksFor(row.Profile):
			return fault.New(fault.Conflict, "party_conflict",
				"another member of the party waits with a ticket of its own for this profile")
		case (sub != r.Caller || row.Seen) && !slices.Contains(countedTickets, row.TicketID):
			countedTickets = append(countedTickets, row.TicketID)
		}
	}
	if len(countedTickets) >= maxTicketsOfPlayer {
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
