package db

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/pack"
	"github.com/lattice-director/director/db/internal/tx"
	"github.com/lattice-director/director/db/internal/value"
	"github.com/lattice-director/director/db/query"
)

// hostCandidates returns the locked hosts that take sessions.
func (t *matchTx) hostCandidates() *candidates {
	c := newCandidates(t.committer.region)
	for _, r := range t.heldLocks.lockedHosts {
		// LockHosts also returns the instances of seats that were given up, which may take no sessions.
		if r.Open {
			c.addHost(r)
		}
	}
	return c
}

// giveSeatsUp locks sessions, frees the reserved seats of the players, closes the sessions that are empty then, and
// locks hosts.
func (t *matchTx) giveSeatsUp(ctx context.Context, open []*matchCall) error {
	seats := byPlayer(t.heldLocks.nearbySeats).ownSeats
	release := query.ReleaseSeatsParams{Region: t.committer.region, Reason: "given up"}
	for _, m := range open {
		for _, ref := range seatsToGiveUp(m, seats) {
			release.SessionIds = append(release.SessionIds, ref.sessionID)
			release.Subs = append(release.Subs, ref.playerSub)
		}
	}
	var out tx.Pipeline
	var freed []query.ReleaseSeatsRow
	// Sessions before seats, in the order of all locks.
	t.addSessionLocks(&out, slices.Concat(t.joinedSessions(), release.SessionIds))
	query.Queue(&out, &freed, (*query.Queries).ReleaseSeats, release)
	if err := t.q.Send(ctx, &out); err != nil {
		return err
	}
	hosts, empty := t.hostsFor(open), t.emptiedSessions(freed)
	for _, s := range empty {
		hosts.Also = append(hosts.Also, s.instanceID)
	}
	rows, err := t.q.LockHosts(ctx, hosts)
	if err != nil {
		return err
	}
	t.heldLocks.lockedHosts = rows
	if len(empty) == 0 {
		return nil
	}
	if _, err := t.q.CloseSessions(ctx, query.CloseSessionsParams{Region: t.committer.region, Ids: vacatedIDs(empty),
		Reason: "empty"}); err != nil {
		return err
	}
	// Read again, since hosts have more room without the closed sessions.
	t.heldLocks.lockedHosts, err = t.q.LockHosts(ctx,
		query.LockHostsParams{Region: t.committer.region, Also: hostIDs(rows), Wait: true})
	return err
}

// emptiedSessions returns the locked sessions of which all seats were freed.
func (t *matchTx) emptiedSessions(freed []query.ReleaseSeatsRow) (empty []vacatedSession) {
	freedSeats := map[uuid.UUID]int{} // by session
	for _, f := range freed {
		freedSeats[f.SessionID]++
	}
	for _, s := range t.heldLocks.lockedSessions {
		if n := freedSeats[s.ID]; n > 0 && n == int(s.PlayerCount) {
			empty = append(empty, vacatedSession{id: s.ID, instanceID: s.InstanceID, isEmpty: true})
		}
	}
	return empty
}

// judgeJoins gives the matches whose players cannot join their session a verdict, and returns the others. The sessions
// are locked.
func (t *matchTx) judgeJoins(open []*matchCall, verdicts map[*matchCall]MatchOutcome) (left []*matchCall) {
	t.joinableMatches = t.playingMatches()
	for _, m := range open {
		if m.match.Join == "" {
			left = append(left, m)
			continue
		}
		j := t.joinableMatches[m.match.Join] // nil: no match plays in the session, which joinRefusal refuses
		if reason := m.joinRefusal(j); reason != "" {
			verdicts[m] = MatchOutcome{Kind: MatchRefused, RefusalReason: reason}
			continue
		}
		// The roster and the counters were read once: a second match joins in the next transaction.
		if j.isTaken {
			verdicts[m] = MatchOutcome{Kind: MatchPlayersBusy, BusyPlayers: m.playerSubs}
			continue
		}
		j.isTaken = true
		left = append(left, m)
	}
	return left
}

// playingMatches returns the matches of the locked sessions, by the public id of the session.
func (t *matchTx) playingMatches() map[string]*joinedMatch {
	all := map[string]*joinedMatch{}
	for _, s := range t.heldLocks.lockedSessions {
		i := slices.IndexFunc(t.heldLocks.playingMatches,
			func(m query.PlayingMatchesRow) bool { return m.SessionID == s.ID })
		if i >= 0 {
			m := t.heldLocks.playingMatches[i]
			all[sessionID(t.committer.region, s.ID)] = &joinedMatch{id: m.ID, sessionRow: s, playerSubs: m.Subs,
				rosterBytes: int(m.RosterBytes)}
		}
	}
	return all
}

// maxRosterBytes is what the constraint a_roster_fits_in_64_kib allows.
const maxRosterBytes = 64 << 10

// joinRefusal returns why the players cannot join a playing match; empty if they can.
func (c *matchCall) joinRefusal(j *joinedMatch) string {
	if j == nil || !j.sessionRow.TakesPlayers || !slices.Contains(c.match.Modes, j.sessionRow.Mode) {
		return RefusedSessionGone
	}
	if int(j.sessionRow.PlayerCount)+len(c.playerSubs) > int(j.sessionRow.MaxPlayers) ||
		j.rosterBytes+jsonbBytes(c.rosterJSON) > maxRosterBytes {
		return RefusedSessionFull
	}
	isNew := func(sub string) bool { return !slices.Contains(c.match.Beside, sub) }
	if c.match.Beside != nil && slices.ContainsFunc(j.playerSubs, isNew) {
		return RefusedRoster
	}
	return ""
}

// place chooses for each match the session that it joins, or the least loaded host in the first of its modes that has
// one.
func (t *matchTx) place(c *candidates, open []*matchCall) {
	for _, m := range open {
		switch {
		case len(m.match.Modes) == 0:
			t.seatedMatches = append(t.seatedMatches, seatedMatch{call: m})
		case m.match.Join != "":
			t.seatedMatches = append(t.seatedMatches, joinSeats(t.committer.region, m, t.joinableMatches[m.match.Join]))
		default:
			if s, ok := t.openSeats(c, m); ok {
				t.seatedMatches = append(t.seatedMatches, s)
			} else {
				t.unplacedMatches = append(t.unplacedMatches, m)
			}
		}
	}
}

func joinSeats(region string, m *matchCall, j *joinedMatch) seatedMatch {
	s := j.sessionRow
	return seatedMatch{call: m, sessionID: s.ID, mode: s.Mode, joined: j, placement: Placement{
		SessionID: m.match.Join, SessionHandle: s.Handle, Endpoint: s.Endpoint, Region: region, Mode: s.Mode,
		PlayerCount: int(s.PlayerCount) + len(m.playerSubs), MaxPlayers: int(s.MaxPlayers),
	}}
}

// openSeats opens a session for a match on a candidate, and counts it there.
func (t *matchTx) openSeats(c *candidates, m *matchCall) (s seatedMatch, ok bool) {
	for _, mode := range m.match.Modes {
		h := pack.LeastLoaded(pack.Shape{Mode: mode, MaxPlayers: m.match.Size}, c.packHosts)
		if h < 0 {
			continue
		}
		// Counted in memory, so that the next match of this transaction sees the session.
		c.packHosts[h].ReservedSeats += m.match.Size
		c.packHosts[h].FreeSlots--
		id := value.NewID()
		c.packedSessions = append(c.packedSessions,
			pack.Session{Shape: pack.Shape{Mode: mode, MaxPlayers: m.match.Size}, ID: id,
				PlayerCount: len(m.playerSubs), HostIndex: h})
		c.openSession(&t.newSessions, c.packedSessions[len(c.packedSessions)-1], m.match.ID)
		placement := *c.placementOf(len(c.packedSessions) - 1)
		return seatedMatch{call: m, sessionID: id, mode: mode, placement: placement}, true
	}
	return s, false
}

// stillPlaceableParams asks for which unplaced matches a fresh snapshot shows room. A request has the index of its
// match in unplacedMatches.
func (t *matchTx) stillPlaceableParams() query.StillPlaceableParams {
	arg := query.StillPlaceableParams{Region: t.committer.region}
	for i, m := range t.unplacedMatches {
		for _, mode := range m.match.Modes {
			arg.Requests = append(arg.Requests, int32(i))
			arg.Modes = append(arg.Modes, mode)
			arg.MaxPlayers = append(arg.MaxPlayers, int32(m.match.Size))
			arg.Sizes = append(arg.Sizes, int32(m.match.Size))
		}
	}
	return arg
}
