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

// sessionsAndHosts returns the candidates for the matches. Where seats may be given up, it gives them up and locks
// sessions and hosts first; elsewhere they are locked already.
func (t *matchTx) sessionsAndHosts(ctx context.Context, open []*matchCall,
	verdicts map[*matchCall]MatchOutcome) (*candidates, []*matchCall, error) {
	c := newCandidates(t.committer.region)
	if t.mayGiveUpSeats && len(open) > 0 {
		if err := t.giveSeatsUp(ctx, open); err != nil {
			return nil, nil, err
		}
	}
	for _, r := range t.heldLocks.lockedHosts {
		// LockHosts returns the instances of given up seats as well, which may have stopped.
		if r.Open {
			c.addHost(r)
		}
	}
	return c, t.judgeJoins(open, verdicts), nil
}

// giveSeatsUp frees the unused seats of the players, closes the sessions that are empty then, and locks hosts.
func (t *matchTx) giveSeatsUp(ctx context.Context, open []*matchCall) error {
	seats := byPlayer(t.heldLocks.nearbySeats).ownSeats
	release := query.ReleaseSeatsParams{Region: t.committer.region, Reason: "given up"}
	for _, m := range open {
		for _, ref := range givenUp(m, seats) {
			release.SessionIds = append(release.SessionIds, ref.sessionID)
			release.Subs = append(release.Subs, ref.playerSub)
		}
	}
	var out tx.Pipeline
	var freed []query.ReleaseSeatsRow
	// Sessions before seats, in the order of all locks.
	t.queueSessions(&out, slices.Concat(t.joinedSessions(), release.SessionIds))
	query.Queue(&out, &freed, (*query.Queries).ReleaseSeats, release)
	if err := t.q.Send(ctx, &out); err != nil {
		return err
	}
	hosts, empty := t.hostsFor(open), t.emptiedSessions(freed)
	for _, s := range empty {
		hosts.Also = append(hosts.Also, s.instanceID)
	}
	rows, err := t.q.LockHosts(ctx, hosts)
	if err == nil && len(empty) > 0 {
		if _, err = t.q.CloseSessions(ctx,
			query.CloseSessionsParams{Region: t.committer.region, Ids: vacatedIDs(empty),
				Reason: "empty"}); err == nil {
			// with the room that they have now
			rows, err = t.q.LockHosts(ctx,
				query.LockHostsParams{Region: t.committer.region, Also: hostIDs(rows), Wait: true})
		}
	}
	t.heldLocks.lockedHosts = rows
	return err
}

// emptiedSessions returns the sessions in which no seat is left.
func (t *matchTx) emptiedSessions(freed []query.ReleaseSeatsRow) (empty []vacatedSession) {
	seats := map[uuid.UUID]int{}
	for _, f := range freed {
		seats[f.SessionID]++
	}
	for _, s := range t.heldLocks.lockedSessions {
		// All of its seats are given up.
		if n := seats[s.ID]; n > 0 && n == int(s.PlayerCount) {
			empty = append(empty, vacatedSession{s.ID, s.InstanceID, true})
		}
	}
	return empty
}

// judgeJoins drops the matches whose players cannot join their session, judged under its lock, and returns the others.
func (t *matchTx) judgeJoins(open []*matchCall, verdicts map[*matchCall]MatchOutcome) (left []*matchCall) {
	t.joinableMatches = t.playingMatches()
	for _, m := range open {
		if m.match.Join == "" {
			left = append(left, m)
			continue
		}
		// nil, if nothing plays in the session: cannotJoin refuses that first.
		j := t.joinableMatches[m.match.Join]
		switch reason := m.cannotJoin(j); {
		case reason != "":
			verdicts[m] = MatchOutcome{Kind: MatchRefused, RefusalReason: reason}
		// The roster and the counters were read once: a second match joins by the next transaction.
		case j.isTaken:
			verdicts[m] = MatchOutcome{Kind: MatchPlayersBusy, BusyPlayers: m.playerSubs}
		default:
			j.isTaken = true
			left = append(left, m)
		}
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

// cannotJoin returns why the players cannot join a playing match; empty if they can.
func (c *matchCall) cannotJoin(j *joinedMatch) string {
	switch {
	case j == nil, !j.sessionRow.TakesPlayers, !slices.Contains(c.match.Modes, j.sessionRow.Mode):
		return RefusedSessionGone
	case int(j.sessionRow.PlayerCount)+len(c.playerSubs) > int(j.sessionRow.MaxPlayers), j.rosterBytes+
		jsonbBytes(c.rosterJSON) > maxRosterBytes:
		return RefusedSessionFull
	case c.match.Beside != nil && slices.ContainsFunc(j.playerSubs,
		func(sub string) bool { return !slices.Contains(c.match.Beside, sub) }):
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
		c.packHosts[h].ReservedSeats += m.match.Size
		// Counted in memory, so that the next match of this transaction sees it.
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

// stillPlaceable asks which unplaced matches a fresh snapshot shows room for.
func (t *matchTx) stillPlaceable() query.StillPlaceableParams {
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
