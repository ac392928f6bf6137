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
	// tokenLeeway allows for the clock of whoever mints tokens, which may be behind the database's.
	tokenLeeway = 5 * time.Second
	// expiredResumeTime is how long an expired token can resume its session, since clients cannot change their token.
	expiredResumeTime = 24 * time.Hour

	// maxTakeovers bounds how often a live session is taken over within ten seconds, which the statements count.
	maxTakeovers = 10

	maxSessionsOfPlayer = 32
)

// loadOpenings locks the sessions to resume, and reads the other facts, in one round trip.
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
	f.openedByKey, f.maxSessionsOfKey = map[projectKeyName]int{}, t.store.cfg.MaxSessionsOfKey
	f.sessionsByID, f.keysByName = byID(locked), make(map[projectKeyName]query.JudgeRealtimeKeysRow, len(known))
	for _, k := range known {
		f.keysByName[projectKeyName{k.Project, k.ID}] = k
	}
	return f, nil
}

// judge decides which session a client gets, and counts a new one among the sessions of its player and its key. Errors:
// Forbidden, TooMany, Unavailable.
func (f openFacts) judge(o RealtimeRequest) (OpenedRealtime, error) {
	row, resumed := f.resumable(o)
	hasSameToken := resumed && bytes.Equal(row.TokenDigest, o.TokenDigest)
	if err := f.judgeToken(o, hasSameToken); err != nil {
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
		if err := f.countNewSession(o); err != nil {
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

// countNewSession counts a new session for the calls of the batch that follow, or refuses it if its player or its key
// has too many. Sessions that were closed count until they can no longer be resumed.
func (f openFacts) countNewSession(o RealtimeRequest) error {
	playerIndex := slices.IndexFunc(f.playerSessions, func(r query.SessionsOfPlayersRow) bool {
		return r.Project == o.ProjectID && r.Player == o.PlayerSub
	})
	key := projectKeyName{o.ProjectID, o.KeyID}
	switch {
	case playerIndex >= 0 && f.playerSessions[playerIndex].Sessions >= maxSessionsOfPlayer:
		return tooManySessions("the player has %d sessions", maxSessionsOfPlayer)
	case int(f.keysByName[key].Sessions)+f.openedByKey[key] >= f.maxSessionsOfKey:
		return tooManySessions("the key has %d sessions", f.maxSessionsOfKey)
	}
	// -1: the client has no name.
	if playerIndex >= 0 {
		f.playerSessions[playerIndex].Sessions++
	}
	f.openedByKey[key]++
	return nil
}

func tooManySessions(format string, limit int) error {
	e := fault.New(fault.TooMany, "too_many_sessions", format, limit)
	e.RetryAfter = fault.RetryAfter
	return e
}

// resumable returns the session that the client asks for, if it may resume it.
func (f openFacts) resumable(o RealtimeRequest) (query.LockRealtimeSessionsRow, bool) {
	row, ok := f.sessionsByID[o.resumes()]
	if !ok || row.Expired || row.Project != o.ProjectID {
		return row, false
	}
	sameToken := bytes.Equal(row.TokenDigest, o.TokenDigest)
	// The name of a player may look like the id of a session without a name.
	samePlayer := o.PlayerSub != "" && row.Player == o.PlayerSub && row.Player != row.ID
	sameKey := o.ResumeByKey && o.KeyID != "" && row.KeyID != nil && *row.KeyID == o.KeyID
	return row, sameToken || samePlayer || sameKey
}

// judgeToken refuses a token that has expired. A client cannot change its token while it is connected: with the token
// of the session, it resumes the session for some time after the token has expired.
func (f openFacts) judgeToken(o RealtimeRequest, hasSameToken bool) error {
	if o.TokenExpires.IsZero() {
		return nil
	}
	allowance := tokenLeeway
	if hasSameToken {
		allowance = expiredResumeTime
	}
	if f.dbNow.After(o.TokenExpires.Add(allowance)) {
		return fault.New(fault.Forbidden, "token_expired", "the token has expired")
	}
	return nil
}

// judgeKey refuses a client whose key may open no session.
func (f openFacts) judgeKey(o RealtimeRequest) error {
	// Only a verified token names a key.
	if !o.IsAuthenticated {
		return nil
	}
	if o.KeyID == "" {
		if o.KeyRequired {
			return fault.New(fault.Forbidden, "key_required", "the token names no key")
		}
		return nil
	}
	key, known := f.keysByName[projectKeyName{o.ProjectID, o.KeyID}]
	switch {
	case !known:
		return fault.New(fault.Forbidden, "key_unknown", "the project has no such key")
	case key.Revoked:
		return fault.New(fault.Forbidden, "key_revoked", "the key is revoked")
	case o.KeyScope != "" && !slices.Contains(key.Scopes, o.KeyScope):
		return fault.New(fault.Forbidden, "key_scope", "the key lacks the scope %s", o.KeyScope)
	}
	return nil
}
