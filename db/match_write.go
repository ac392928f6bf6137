package db

import (
	"encoding/json"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/query"
)

// write defers the statements of the transaction to its commit. The last one reads for which of the unplaced matches a
// snapshot from after the writes shows room.
func (t *matchTx) write() error {
	// In the order in which all transactions lock: sessions and seats before matches and tickets.
	out := t.q.Deferred()
	t.writeSessions()
	if ended := t.endedProposals(); len(ended) > 0 {
		query.QueueExec(out, (*query.Queries).EndProposals,
			query.EndProposalsParams{Universe: t.committer.universe, Ids: ended})
	}
	t.requeueEnded()
	if len(t.seatedMatches) > 0 {
		settle, err := t.settlement()
		if err != nil {
			return err
		}
		// A transaction that takes tickets has deleted them, and the rows of their players, with its first statements.
		if !t.takesTickets {
			query.QueueExec(out, (*query.Queries).ForgetTicketPlayers,
				query.ForgetTicketPlayersParams{Universe: t.committer.universe, Tickets: settle.Ids})
			query.QueueExec(out, (*query.Queries).DeleteLockedTickets,
				query.DeleteLockedTicketsParams{Universe: t.committer.universe, Ids: settle.Ids})
		}
		query.QueueExec(out, (*query.Queries).SettleMatched, settle)
		query.QueueExec(out, (*query.Queries).RecordMatches, t.recordParams())
		t.writeRooms()
	}
	if served := t.servedDemand(); len(served.Keys) > 0 {
		query.QueueExec(out, (*query.Queries).ServeDemand, served)
	}
	if len(t.unplacedMatches) > 0 {
		query.Queue(out, &t.placeableIndexes, (*query.Queries).StillPlaceable, t.stillPlaceableParams())
	}
	t.isWritten = true
	return nil
}

// writeSessions defers the statements that store sessions, seats and playing matches.
func (t *matchTx) writeSessions() {
	out, region := t.q.Deferred(), t.committer.region
	fill := query.FillSessionsParams{Region: region}
	seats := query.TakeMatchSeatsParams{Region: region, SeatTtl: t.committer.store.cfg.Timing.SeatTTL}
	start := query.StartMatchesParams{Region: region, Universe: t.committer.universe}
	join := query.JoinMatchesParams{Region: region}
	for _, s := range t.seatedMatches {
		// A match without a mode plays elsewhere, and has no seats.
		if s.mode == "" {
			continue
		}
		addSeatsToTake(&seats, s)
		if s.joined == nil {
			addMatchToStart(&start, s)
			continue
		}
		fill.Ids = append(fill.Ids, s.sessionID)
		fill.Players = append(fill.Players, int32(len(s.call.playerSubs)))
		addMatchToJoin(&join, s)
	}
	if len(fill.Ids) > 0 {
		query.QueueExec(out, (*query.Queries).FillSessions, fill)
		query.QueueExec(out, (*query.Queries).JoinMatches, join)
	}
	if len(seats.Subs) > 0 {
		query.QueueExec(out, (*query.Queries).TakeMatchSeats, seats)
	}
	if len(start.Ids) > 0 {
		query.QueueExec(out, (*query.Queries).StartMatches, start)
		t.newSessions.queue(out, &t.commandSenders)
	}
}

// addSeatsToTake adds a seat for each player of a match.
func addSeatsToTake(p *query.TakeMatchSeatsParams, s seatedMatch) {
	for _, k := range s.call.match.Tickets {
		key := partyKey(k.subs())
		for _, player := range k.Players {
			p.Sessions = append(p.Sessions, s.sessionID)
			p.Subs = append(p.Subs, player.Sub)
			p.Modes = append(p.Modes, s.mode)
			p.Parties = append(p.Parties, key)
			p.Matches = append(p.Matches, s.playingMatchID())
			p.Teams = append(p.Teams, player.Team)
		}
	}
}

func addMatchToStart(p *query.StartMatchesParams, s seatedMatch) {
	p.Ids = append(p.Ids, s.call.match.ID)
	p.Sessions = append(p.Sessions, s.sessionID)
	p.Profiles = append(p.Profiles, s.call.match.Profile)
	p.Versions = append(p.Versions, int32(s.call.match.Version))
	p.DecidedAt = append(p.DecidedAt, s.call.match.DecidedAt)
	p.Chosen = append(p.Chosen, objectText(s.call.match.Chosen))
	p.Rosters = append(p.Rosters, string(s.call.rosterJSON))
	p.Data = append(p.Data, string(s.call.match.Data))
	p.Tickets = append(p.Tickets, textArray(s.call.match.ticketIDs()))
	p.FillTo = append(p.FillTo, string(s.call.match.FillTo))
}

func addMatchToJoin(p *query.JoinMatchesParams, s seatedMatch) {
	p.Ids = append(p.Ids, s.joined.id)
	p.Rosters = append(p.Rosters, string(s.call.rosterJSON))
	p.Tickets = append(p.Tickets, textArray(s.call.match.ticketIDs()))
}

// endedProposals returns the ids of the accepted matches that are committed, or lost a ticket.
func (t *matchTx) endedProposals() (ids []uuid.UUID) {
	for _, s := range t.seatedMatches {
		if s.call.match.Accepted {
			ids = append(ids, s.call.match.ID)
		}
	}
	for _, m := range t.endedMatches {
		ids = append(ids, m.match.ID)
	}
	return ids
}

// requeueEnded defers the statement that puts the tickets of ended matches back into the queue.
func (t *matchTx) requeueEnded() {
	arg, free := query.RequeueTicketsParams{Universe: t.committer.universe}, t.freeTickets()
	for _, m := range t.endedMatches {
		for _, k := range m.match.Tickets {
			// The others have left the queue, or are in another match.
			if _, held := free[k.ID]; held {
				arg.Ids = append(arg.Ids, k.ID)
				arg.Matches = append(arg.Matches, m.match.ID)
			}
		}
	}
	if len(arg.Ids) > 0 {
		query.QueueExec(t.q.Deferred(), (*query.Queries).RequeueTickets, arg)
	}
}

// settlement returns the rows of settled tickets: the tickets of the seated matches with their assignments.
func (t *matchTx) settlement() (query.SettleMatchedParams, error) {
	arg, free := query.SettleMatchedParams{Universe: t.committer.universe}, t.freeTickets()
	for i, s := range t.seatedMatches {
		arg.Assignments = append(arg.Assignments, t.committer.assign(s.call.match, s.placement))
		arg.Playing = append(arg.Playing, s.playingMatchID())
		for _, k := range s.call.match.Tickets {
			detail, err := json.Marshal(newAssignment(s.placement, k))
			if err != nil {
				return arg, err
			}
			arg.Ids = append(arg.Ids, k.ID)
			arg.Match = append(arg.Match, int32(i+1)) // its index in Assignments and Playing: Postgres counts from 1
			arg.Details = append(arg.Details, string(detail))
			arg.Parties = append(arg.Parties, textArray(k.subs()))
			row := free[k.ID]
			// LockMatchTickets returns no body for tickets of players.
			if row.Body == nil {
				row.Body = bareTicket(k.ID)
			}
			arg.Versions = append(arg.Versions, row.Version)
			arg.Bodies = append(arg.Bodies, row.Body)
		}
	}
	return arg, nil
}

// assignment is where the players of a ticket play, as the ticket's last event has it in JSON.
type assignment struct {
	SessionHandle string            `json:"session_handle,omitempty"`
	SessionID     string            `json:"session_id,omitempty"`
	Endpoint      string            `json:"endpoint,omitempty"`
	Region        string            `json:"region,omitempty"`
	Mode          string            `json:"mode,omitempty"`
	Teams         map[string]string `json:"teams"` // by player of the ticket
}

func newAssignment(p Placement, k MatchTicket) assignment {
	a := assignment{p.SessionHandle, p.SessionID, p.Endpoint, p.Region, p.Mode, map[string]string{}}
	for _, player := range k.Players {
		a.Teams[player.Sub] = player.Team
	}
	return a
}

// recordParams returns the rows of the history of matches.
func (t *matchTx) recordParams() query.RecordMatchesParams {
	p := query.RecordMatchesParams{Universe: t.committer.universe, Region: t.committer.region,
		Keep: !t.committer.store.cfg.NoHistory}
	for _, s := range t.seatedMatches {
		// The fence has found the owners of all profiles.
		o, _ := t.committer.ownerOf(s.call)
		p.Ids = append(p.Ids, s.call.match.ID)
		p.Profiles = append(p.Profiles, s.call.match.Profile)
		p.Versions = append(p.Versions, int32(s.call.match.Version))
		p.Epochs = append(p.Epochs, o.Epoch)
		p.Seeds = append(p.Seeds, int64(s.call.match.Seed))
		p.DecidedAt = append(p.DecidedAt, s.call.match.DecidedAt)
		p.Modes = append(p.Modes, s.mode)
		p.Sessions = append(p.Sessions, s.sessionID)
		p.Joined = append(p.Joined, s.joined != nil)
		p.Players = append(p.Players, int32(len(s.call.playerSubs)))
		p.Why = append(p.Why, objectText(s.call.match.Why))
		p.Tickets = append(p.Tickets, textArray(s.call.match.ticketIDs()))
	}
	return p
}

// servedDemand returns the demand of the committed matches, which no longer wait for a server.
func (t *matchTx) servedDemand() query.ServeDemandParams {
	arg := query.ServeDemandParams{Region: t.committer.region}
	for _, s := range t.seatedMatches {
		if s.call.match.Demand != (DemandKey{}) {
			arg.Modes = append(arg.Modes, s.call.match.Demand.Mode)
			arg.Keys = append(arg.Keys, s.call.match.Demand.Key)
			arg.Players = append(arg.Players, int32(len(s.call.playerSubs)))
		}
	}
	return arg
}

// proposeAll defers the rows of proposed matches and the marks of their tickets, which the transaction has locked.
func (t *matchTx) proposeAll(open []*matchCall) error {
	put := query.ProposeMatchesParams{Universe: t.committer.universe, Within: t.proposeFor}
	mark := query.MarkProposedParams{Universe: t.committer.universe}
	for _, m := range open {
		if err := addMatchToPropose(&put, m); err != nil {
			return err
		}
		for _, id := range m.match.ticketIDs() {
			mark.Ids = append(mark.Ids, id)
			mark.Matches = append(mark.Matches, m.match.ID)
			mark.Marks = append(mark.Marks, readyCheckMark(m.match.ID))
		}
	}
	t.proposedMatches = open
	if len(open) > 0 {
		query.QueueExec(t.q.Deferred(), (*query.Queries).ProposeMatches, put)
		query.QueueExec(t.q.Deferred(), (*query.Queries).MarkProposed, mark)
		// Sessions of the realtime lobby are asked in the same transaction.
		t.addSessionsToAsk(mark.Ids)
	}
	t.isWritten = true
	return nil
}

// addMatchToPropose adds a match with its decision, by which any worker can commit it later.
func addMatchToPropose(p *query.ProposeMatchesParams, m *matchCall) error {
	decision, err := json.Marshal(m.match)
	if err != nil {
		return err
	}
	p.Ids = append(p.Ids, m.match.ID)
	p.Profiles = append(p.Profiles, m.match.Profile)
	p.Versions = append(p.Versions, int32(m.match.Version))
	p.Chosen = append(p.Chosen, objectText(m.match.Chosen))
	p.Rosters = append(p.Rosters, string(m.rosterJSON))
	p.Data = append(p.Data, string(m.match.Data))
	p.Decisions = append(p.Decisions, string(decision))
	p.DecidedAt = append(p.DecidedAt, m.match.DecidedAt)
	p.Tickets = append(p.Tickets, textArray(m.match.ticketIDs()))
	return nil
}
