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
// taken over: its former owner gets an older epoch. Errors: Invalid, Forbidden (token_expired, key_required,
// key_unknown, key_revoked, key_scope), TooMany (takeovers: ten within ten seconds; too_many_sessions: the player has 32,
// or the key 100,000), Unavailable.
func (s *Store) OpenRealtime(ctx context.Context, o OpenRealtime) (OpenedRealtime, error) {
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

const maxProjectID = 128

// openSessions opens sessions of one region in one transaction, and resumes each session at most once. Further calls
// for a session stay for the next batch.
func (s *Store) openSessions(ctx context.Context, region string, calls []*openCall) error {
	calls = onePerSession(calls)
	var opening *realtimeOpening
	err := s.onSessions(ctx, region, func(t *sessionTx) error {
		opening = &realtimeOpening{tx: t, openedSessions: make([]OpenedRealtime, len(calls)),
			refused: make([]error, len(calls))}
		return opening.run(ctx, calls)
	})
	if err != nil {
		return err
	}
	opening.addAnswers(calls)
	for i, c := range calls {
		c.Answer(opening.openedSessions[i], opening.refused[i])
	}
	return nil
}

// onePerSession returns the first call that resumes each session. A second one is decided by the next batch.
func onePerSession(calls []*openCall) (out []*openCall) {
	seen := make(map[string]bool, len(calls))
	for _, c := range calls {
		// New sessions have no row that two calls could want.
		if id := c.Req.resumes(); id == "" || !seen[id] {
			seen[id] = true
			out = append(out, c)
		}
	}
	return out
}

func (t *realtimeOpening) run(ctx context.Context, calls []*openCall) (err error) {
	if t.openFacts, err = t.tx.loadOpenings(ctx, calls); err != nil {
		return err
	}
	made, attached := query.InsertRealtimeSessionsParams{Region: t.tx.region}, query.AttachRealtimeSessionsParams{Region: t.tx.region}
	back := make(map[string]func(string) lobby.Action)
	var named []string // new sessions of players with names
	for i, c := range calls {
		o := &t.openedSessions[i]
		*o, t.refused[i] = t.openFacts.judge(c.Req)
		if t.refused[i] != nil {
			continue
		}
		if !o.IsResumed {
			addSessionToInsert(&made, c.Req, *o)
			// Only a player with a name can have been invited before its session was there.
			if o.PlayerSub != o.SessionID {
				named = append(named, o.SessionID)
			}
			continue
		}
		addSessionToAttach(&attached, c.Req, *o)
		back[o.SessionID] = c.Req.BackAction
		// The replica of the former connection closes it.
		if o.TookOver {
			t.tx.changedSessions = append(t.tx.changedSessions, o.SessionID)
		}
	}
	if len(made.Ids) > 0 {
		query.QueueExec(t.tx.q.Deferred(), (*query.Queries).InsertRealtimeSessions, made)
	}
	if len(attached.Ids) > 0 {
		query.QueueExec(t.tx.q.Deferred(), (*query.Queries).AttachRealtimeSessions, attached)
	}
	t.readInvitations(named, attached.Ids)
	if len(attached.Ids) == 0 {
		return nil
	}
	return t.comeBack(ctx, attached.Ids, func(session string) lobby.Action { return back[session](session) })
}

// comeBack lets the rooms of resumed sessions know, and reads what they need.
func (t *realtimeOpening) comeBack(ctx context.Context, sessions []string, back func(string) lobby.Action) (err error) {
	if t.sessionRooms, err = t.tx.actInRooms(ctx, sessions, joinedRooms, back); err != nil {
		return err
	}
	t.readMissed(sessions)
	// Resumed: the tickets are candidates again.
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
	of, invited := make(map[string]*OpenedRealtime, len(calls)), invitationsBySession(t.invitationRows)
	for i := range t.openedSessions {
		if o := &t.openedSessions[i]; t.refused[i] == nil {
			o.Invitations = invited[o.SessionID]
			of[o.SessionID] = o
		}
	}
	for _, r := range t.ticketRows {
		of[r.Session].TicketID = r.Ticket
	}
	missed := t.missedRows()
	for _, r := range t.sessionRooms {
		// An action that failed leaves its room out of the answer; the others are resumed.
		if o := of[r.session]; o != nil && r.result.err == nil {
			o.RoomAnswers = append(o.RoomAnswers, r.result.answer)
			o.RoomAnswers[len(o.RoomAnswers)-1].MissedRows = missed[missedIn{r.session, r.result.answer.LobbyUID}]
		}
	}
}

func addSessionToInsert(p *query.InsertRealtimeSessionsParams, o OpenRealtime, opened OpenedRealtime) {
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

func addSessionToAttach(p *query.AttachRealtimeSessionsParams, o OpenRealtime, opened OpenedRealtime) {
	p.Ids = append(p.Ids, opened.SessionID)
	p.TookOver = append(p.TookOver, opened.TookOver)
	p.Authenticated = append(p.Authenticated, o.IsAuthenticated)
	p.KeyIds = append(p.KeyIds, o.KeyID)
	p.Digests = append(p.Digests, o.TokenDigest)
	p.Expires = append(p.Expires, o.TokenExpires)
	p.Ttls = append(p.Ttls, o.ResumeTTL)
	p.Owners = append(p.Owners, o.ReplicaID)
}
