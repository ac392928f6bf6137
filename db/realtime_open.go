package db

import (
	"context"
	"slices"
	"unicode/utf8"

	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/lobby"
)

// OpenRealtime opens a session, or resumes the one that the client names, and makes the replica its owner. A session is
// resumed while it is live or suspended for less than its TTL, by the token with which it was last attached, by the
// same player, or, with ResumeByKey, by a token of the same key; otherwise the client gets a new one. A live session is
// taken over: its new owner has the next epoch, and the calls of the former owner are refused.
//
// Errors: Invalid, Forbidden (token_expired, key_required, key_unknown, key_revoked, key_scope), TooMany (takeovers:
// ten within ten seconds; too_many_sessions: the player has 32, or the key Config.MaxSessionsOfKey), Unavailable.
func (s *Store) OpenRealtime(ctx context.Context, o RealtimeRequest) (OpenedRealtime, error) {
	if n := utf8.RuneCountInString(o.ProjectID); n == 0 || n > maxProjectID || !isStorable(o.ProjectID) {
		return OpenedRealtime{}, &fault.Error{Kind: fault.Invalid, Code: "invalid", Field: "project_id",
			Detail: "a project id has 1 to 128 characters"}
	}
	if !isStorable(o.PlayerSub) || !isStorable(o.KeyID) {
		return OpenedRealtime{}, &fault.Error{Kind: fault.Invalid, Code: "invalid", Field: "token",
			Detail: "a claim of the token has characters that cannot be stored"}
	}
	return s.batchGroups.realtimeOpens.Do(ctx, o.Region, o)
}

const maxProjectID = 128 // in characters

// openRealtimeBatch opens sessions of one region in one transaction, and resumes each session at most once. Further
// calls for a session stay for the next batch.
func (s *Store) openRealtimeBatch(ctx context.Context, region string, calls []*openCall) error {
	calls = onePerSession(calls)
	var opening *realtimeOpening
	err := s.onSessions(ctx, region, func(t *sessionTx) error {
		opening = &realtimeOpening{tx: t, openedSessions: make([]OpenedRealtime, len(calls)),
			refusals: make([]error, len(calls))}
		return opening.run(ctx, calls)
	})
	if err != nil {
		return err
	}
	opening.addAnswers(calls)
	for i, c := range calls {
		c.Answer(opening.openedSessions[i], opening.refusals[i])
	}
	return nil
}

// onePerSession returns the calls without those that resume the session of an earlier one.
func onePerSession(calls []*openCall) (first []*openCall) {
	seen := make(map[string]bool, len(calls))
	for _, c := range calls {
		// "": the call opens a new session, which no other call can want.
		if id := c.Req.resumes(); id == "" || !seen[id] {
			seen[id] = true
			first = append(first, c)
		}
	}
	return first
}

// run decides the calls, and defers the statements that store the sessions and read what their clients need.
func (t *realtimeOpening) run(ctx context.Context, calls []*openCall) (err error) {
	if t.openFacts, err = t.tx.loadOpenings(ctx, calls); err != nil {
		return err
	}
	inserted := query.InsertRealtimeSessionsParams{Region: t.tx.region}
	attached := query.AttachRealtimeSessionsParams{Region: t.tx.region}
	backActions := make(map[string]func(string) lobby.Action) // by resumed session
	var namedSessions []string                                // new sessions of players with names
	for i, c := range calls {
		o := &t.openedSessions[i]
		*o, t.refusals[i] = t.openFacts.judge(c.Req)
		if t.refusals[i] != nil {
			continue
		}
		if !o.IsResumed {
			addSessionToInsert(&inserted, c.Req, *o)
			// Only a player with a name can have been invited before its session was there.
			if o.PlayerSub != o.SessionID {
				namedSessions = append(namedSessions, o.SessionID)
			}
			continue
		}
		addSessionToAttach(&attached, c.Req, *o)
		backActions[o.SessionID] = c.Req.BackAction
		// Wakes the replica of the former connection, which closes that.
		if o.TookOver {
			t.tx.changedSessions = append(t.tx.changedSessions, o.SessionID)
		}
	}
	if len(inserted.Ids) > 0 {
		query.QueueExec(t.tx.q.Deferred(), (*query.Queries).InsertRealtimeSessions, inserted)
	}
	if len(attached.Ids) > 0 {
		query.QueueExec(t.tx.q.Deferred(), (*query.Queries).AttachRealtimeSessions, attached)
	}
	t.readInvitations(namedSessions, attached.Ids)
	if len(attached.Ids) == 0 {
		return nil
	}
	return t.comeBack(ctx, attached.Ids,
		func(session string) lobby.Action { return backActions[session](session) })
}

// comeBack runs the back actions of resumed sessions in their rooms, resumes their tickets, and defers reading what
// their clients have missed.
func (t *realtimeOpening) comeBack(ctx context.Context, sessions []string, back func(string) lobby.Action) (err error) {
	if t.sessionRooms, err = t.tx.actInRooms(ctx, sessions, joinedRooms, back); err != nil {
		return err
	}
	t.readMissed(sessions)
	// The sessions are connected, so that their tickets are candidates again.
	t.tx.store.resumeTicketsOf(t.tx.q, t.tx.region, sessions)
	query.Queue(t.tx.q.Deferred(), &t.ticketRows, (*query.Queries).TicketsOfSessions,
		query.TicketsOfSessionsParams{Region: t.tx.region, Sessions: sessions})
	return nil
}

// readInvitations defers reading the open invitations of sessions until the new ones have a row.
func (t *realtimeOpening) readInvitations(opened, resumed []string) {
	if len(opened)+len(resumed) == 0 {
		return
	}
	query.Queue(t.tx.q.Deferred(), &t.invitationRows, (*query.Queries).RealtimeInvitations,
		query.RealtimeInvitationsParams{
			Region: t.tx.region, Sessions: slices.Concat(opened, resumed), Opened: append([]string{}, opened...),
		})
}

// addAnswers completes the answers with what is known after the commit.
func (t *realtimeOpening) addAnswers(calls []*openCall) {
	openedByID := make(map[string]*OpenedRealtime, len(calls))
	invitations := invitationsBySession(t.invitationRows)
	for i := range t.openedSessions {
		if o := &t.openedSessions[i]; t.refusals[i] == nil {
			o.Invitations = invitations[o.SessionID]
			openedByID[o.SessionID] = o
		}
	}
	for _, r := range t.ticketRows {
		openedByID[r.Session].TicketID = r.Ticket
	}
	missed := t.missedRows()
	for _, r := range t.sessionRooms {
		// An action that failed leaves its room out of the answer; the others are resumed.
		if o := openedByID[r.session]; o != nil && r.result.err == nil {
			answer := r.result.answer
			answer.MissedRows = missed[sessionRoom{r.session, answer.LobbyUID}]
			o.RoomAnswers = append(o.RoomAnswers, answer)
		}
	}
}

func addSessionToInsert(p *query.InsertRealtimeSessionsParams, o RealtimeRequest, opened OpenedRealtime) {
	p.Ids = append(p.Ids, opened.SessionID)
	p.Projects = append(p.Projects, o.ProjectID)
	p.Players = append(p.Players, opened.PlayerSub)
	p.Authenticated = append(p.Authenticated, o.IsAuthenticated)
	p.KeyIds = append(p.KeyIds, o.KeyID)
	p.Digests = append(p.Digests, o.TokenDigest)
	p.Expires = append(p.Expires, o.TokenExpires)
	p.Ttls = append(p.Ttls, o.ResumeTTL)
	p.Owners = append(p.Owners, o.ReplicaID)
}

func addSessionToAttach(p *query.AttachRealtimeSessionsParams, o RealtimeRequest, opened OpenedRealtime) {
	p.Ids = append(p.Ids, opened.SessionID)
	p.TookOver = append(p.TookOver, opened.TookOver)
	p.Authenticated = append(p.Authenticated, o.IsAuthenticated)
	p.KeyIds = append(p.KeyIds, o.KeyID)
	p.Digests = append(p.Digests, o.TokenDigest)
	p.Expires = append(p.Expires, o.TokenExpires)
	p.Ttls = append(p.Ttls, o.ResumeTTL)
	p.Owners = append(p.Owners, o.ReplicaID)
}
