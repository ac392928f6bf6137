package db

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/tx"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
)

const (
	tokenLeeway = 5 * time.Second // between the clocks of who mints tokens and of the database
	// for which an expired token can resume its session: clients cannot change their token
	resumeExpired = 24 * time.Hour

	maxTakeovers = 10 // of a live session, in the ten seconds of the statements

	maxSessionsOfPlayer = 32
)

// loadOpenings locks the sessions to resume, and reads the rest, in one round trip.
func (t *sessionTx) loadOpenings(ctx context.Context, calls []*openCall) (openFacts, error) {
	// Sessions of rooms to which the resumed ones return: see lockMoreError.
	ids := slices.Clone(t.furtherSessions)
	var replicas []uuid.UUID
	keys := query.JudgeRealtimeKeysParams{Region: t.region, Most: int32(t.store.cfg.MaxSessionsOfKey)}
	players := query.SessionsOfPlayersParams{Region: t.region, Most: maxSessionsOfPlayer}
	for _, c := range calls {
		if id := c.Req.resumes(); id != "" {
			ids = append(ids, id)
		}
		if c.Req.KeyID != "" {
			keys.Projects = append(keys.Projects, c.Req.ProjectID)
			keys.Ids = append(keys.Ids, c.Req.KeyID)
		}
		if c.Req.PlayerSub != "" {
			players.Projects = append(players.Projects, c.Req.ProjectID)
			players.Players = append(players.Players, c.Req.PlayerSub)
		}
		if !slices.Contains(replicas, c.Req.ReplicaID) {
			replicas = append(replicas, c.Req.ReplicaID)
		}
	}
	var p tx.Pipeline
	var locked []query.LockRealtimeSessionsRow
	var known []query.JudgeRealtimeKeysRow
	var f openFacts
	if len(ids) > 0 {
		query.Queue(&p, &locked, (*query.Queries).LockRealtimeSessions,
			query.LockRealtimeSessionsParams{Region: t.region, Ids: ids})
	}
	if len(keys.Ids) > 0 {
		query.Queue(&p, &known, (*query.Queries).JudgeRealtimeKeys, keys)
	}
	if len(players.Players) > 0 {
		query.Queue(&p, &f.playerSessions, (*query.Queries).SessionsOfPlayers, players)
	}
	query.Queue(&p, &f.endedReplicas, (*query.Queries).EndedReplicas,
		query.EndedReplicasParams{Region: t.region, Ids: replicas})
	query.Queue(&p, &f.dbNow, func(q *query.Queries, ctx context.Context,
		_ struct{}) (time.Time, error) {
		return q.ClockReading(ctx)
	}, struct{}{})
	if err := t.q.Send(ctx, &p); err != nil {
		return openFacts{}, err
	}
	f.openedByKey, f.mostOfKey = map[projectKeyName]int{}, t.store.cfg.MaxSessionsOfKey
	f.sessionsByID, f.keysByName = byID(locked), make(map[projectKeyName]query.JudgeRealtimeKeysRow, len(known))
	for _, k := range known {
		f.keysByName[projectKeyName{k.Project, k.ID}] = k
	}
	return f, nil
}

// judge decides which session a client gets.
func (f openFacts) judge(o OpenRealtime) (OpenedRealtime, error) {
	row, resumed := f.resumable(o)
	// A client cannot change its token while it is connected: with the very token of the session, it resumes that also
	// after the token has expired.
	if err := f.judgeToken(o, resumed && bytes.Equal(row.TokenDigest, o.TokenDigest)); err != nil {
		return OpenedRealtime{}, err
	}
	if err := f.judgeKey(o); err != nil {
		return OpenedRealtime{}, err
	}
	// A session with an owner that has ended would be suspended at once. The replica begins anew with another id.
	if slices.Contains(f.endedReplicas, o.ReplicaID) {
		return OpenedRealtime{}, fault.NewUnavailable("the lease of this replica has expired", nil)
	}
	if !resumed {
		if err := f.judgeNumber(o); err != nil {
			return OpenedRealtime{}, err
		}
		id := newSessionID()
		player := o.PlayerSub
		// A client without a name is a player of its own, named as its session.
		if player == "" {
			player = id
		}
		return OpenedRealtime{SessionID: id, OwnerEpoch: 1, PlayerSub: player, PreviousSession: o.ResumedSession}, nil
	}
	live := row.Owner != nil
	if live && row.Contested && row.Takeovers >= maxTakeovers {
		e := fault.New(fault.TooMany, "takeovers",
			"the session is open elsewhere, and was taken over %d times within ten seconds", maxTakeovers)
		e.RetryAfter = fault.RetryAfter
		return OpenedRealtime{}, e
	}
	return OpenedRealtime{SessionID: row.ID, OwnerEpoch: row.Epoch + 1, PlayerSub: row.Player, IsResumed: true,
		TookOver: live}, nil
}

// judgeNumber refuses a new session of a player, or of a key, that has too many. The ones that were closed count until
// they can no longer be resumed.
func (f openFacts) judgeNumber(o OpenRealtime) error {
	at := slices.IndexFunc(f.playerSessions, func(r query.SessionsOfPlayersRow) bool {
		return r.Project == o.ProjectID && r.Player == o.PlayerSub
	})
	key := projectKeyName{o.ProjectID, o.KeyID}
	switch {
	case at >= 0 && f.playerSessions[at].Sessions >= maxSessionsOfPlayer:
		return tooManySessions("the player has %d sessions", maxSessionsOfPlayer)
	case int(f.keysByName[key].Sessions)+f.openedByKey[key] >= f.mostOfKey:
		return tooManySessions("the key has %d sessions", f.mostOfKey)
	}
	// Counted for the calls of this batch that follow.
	if at >= 0 {
		f.playerSessions[at].Sessions++
	}
	f.openedByKey[key]++
	return nil
}

func tooManySessions(format string, most int) error {
	e := fault.New(fault.TooMany, "too_many_sessions", format, most)
	e.RetryAfter = fault.RetryAfter
	return e
}

// resumable returns the session that the client asks for, if it may resume it.
func (f openFacts) resumable(o OpenRealtime) (query.LockRealtimeSessionsRow, bool) {
	row, ok := f.sessionsByID[o.resumes()]
	if !ok || row.Expired || row.Project != o.ProjectID {
		return row, false
	}
	sameToken := bytes.Equal(row.TokenDigest, o.TokenDigest)
	// a sub may look like the id of a session without one
	samePlayer := o.PlayerSub != "" && row.Player == o.PlayerSub && row.Player != row.ID
	sameKey := o.ResumeByKey && o.KeyID != "" && row.KeyID != nil && *row.KeyID == o.KeyID
	return row, sameToken || samePlayer || sameKey
}

func (f openFacts) judgeToken(o OpenRealtime, identical bool) error {
	expires := !o.TokenExpires.IsZero()
	expired := expires && f.dbNow.After(o.TokenExpires.Add(tokenLeeway))
	tooOld := expires && f.dbNow.After(o.TokenExpires.Add(resumeExpired))
	if expired && !identical || tooOld {
		return fault.New(fault.Forbidden, "token_expired", "the token has expired")
	}
	return nil
}

// judgeKey refuses a client whose key may open no session.
func (f openFacts) judgeKey(o OpenRealtime) error {
	// Only a verified token names a key.
	if !o.IsAuthenticated {
		return nil
	}
	key, known := f.keysByName[projectKeyName{o.ProjectID, o.KeyID}]
	switch {
	case o.KeyID == "" && o.KeyRequired:
		return fault.New(fault.Forbidden, "key_required", "the token names no key")
	case o.KeyID == "":
		return nil
	case !known:
		return fault.New(fault.Forbidden, "key_unknown", "the project has no such key")
	case key.Revoked:
		return fault.New(fault.Forbidden, "key_revoked", "the key is revoked")
	case o.KeyScope != "" && !slices.Contains(key.Scopes, o.KeyScope):
		return fault.New(fault.Forbidden, "key_scope", "the key lacks the scope %s", o.KeyScope)
	}
	return nil
}
