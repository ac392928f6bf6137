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

// joinedMatch is a match that plays already, in a session that this transaction holds.
type joinedMatch struct {
	id          uuid.UUID
	session     query.LockMatchSessionsRow
	subs        []string
	rosterBytes int
	isTaken     bool // by a match of this transaction
}

// sessionsAndHosts returns the candidates for the matches. Where seats may be given up, it gives them up and locks
// sessions and hosts first; elsewhere they are locked already.
func (t *matchTx) sessionsAndHosts(ctx context.Context, open []*matchCall,
	verdicts map[*matchCall]MatchOutcome) (*candidates, []*matchCall, error) {
	c := newCandidates(t.region)
	if t.mayGiveUpSeats && len(open) > 0 {
		if err := t.giveSeatsUp(ctx, open); err != nil {
			return nil, nil, err
		}
	}
	for _, r := range t.locks.hosts {
		if r.Open {
			c.addHost(r)
		}
	}
	return c, t.judgeJoins(open, verdicts), nil
}

// giveSeatsUp frees the unused seats of the players, closes the sessions that are empty then, and locks hosts.
func (t *matchTx) giveSeatsUp(ctx context.Context, open []*matchCall) error {
	seats := byPlayer(t.locks.nearbySeats).ownSeats
	release := query.ReleaseSeatsParams{Region: t.region, Reason: "given up"}
	for _, m := range open {
		for _, ref := range givenUp(m, seats) {
			release.SessionIds, release.Subs = append(release.SessionIds, ref.session), append(release.Subs, ref.sub)
		}
	}
	var out tx.Pipeline
	var freed []query.ReleaseSeatsRow
	// Sessions before seats, in the order of all locks.
	t.queueSessions(&out, slices.Concat(t.joins(), release.SessionIds))
	query.Queue(&out, &freed, (*query.Queries).ReleaseSeats, release)
	if err := t.q.Send(ctx, &out); err != nil {
		return err
	}
	hosts, empty := t.hostsFor(open), t.emptied(freed)
	for _, s := range empty {
		hosts.Also = append(hosts.Also, s.instance)
	}
	rows, err := t.q.LockHosts(ctx, hosts)
	if err == nil && len(empty) > 0 {
		if _, err = t.q.CloseSessions(ctx,
			query.CloseSessionsParams{Region: t.region, Ids: vacatedIDs(empty), Reason: "empty"}); err == nil {
			// with the room that they have now
			rows, err = t.q.LockHosts(ctx, query.LockHostsParams{Region: t.region, Also: hostIDs(rows), Wait: true})
		}
	}
	t.locks.hosts = rows
	return err
}

// emptied returns the sessions in which no seat is left.
func (t *matchTx) emptied(freed []query.ReleaseSeatsRow) (empty []vacatedSession) {
	seats := map[uuid.UUID]int{}
	for _, f := range freed {
		seats[f.SessionID]++
	}
	for _, s := range t.locks.sessions {
		// All of its seats are given up.
		if n := seats[s.ID]; n > 0 && n == int(s.PlayerCount) {
			empty = append(empty, vacatedSession{s.ID, s.InstanceID, true})
		}
	}
	return empty
}

// judgeJoins drops the matches whose players cannot join their session, judged under its lock, and returns the others.
func (t *matchTx) judgeJoins(open []*matchCall, verdicts map[*matchCall]MatchOutcome) (left []*matchCall) {
	t.joinable = t.playingMatches()
	for _, m := range open {
		if m.Join == "" {
			left = append(left, m)
			continue
		}
		// nil, if nothing plays in the session: cannotJoin refuses that first.
		j := t.joinable[m.Join]
		switch reason := m.cannotJoin(j); {
		case reason != "":
			verdicts[m] = MatchOutcome{Kind: MatchRefused, Reason: reason}
		// The roster and the counters were read once: a second match joins by the next transaction.
		case j.isTaken:
			verdicts[m] = MatchOutcome{Kind: MatchPlayersBusy, BusyPlayers: m.subs}
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
	for _, s := range t.locks.sessions {
		i := slices.IndexFunc(t.locks.playing, func(m query.PlayingMatchesRow) bool { return m.SessionID == s.ID })
		if i >= 0 {
			m := t.locks.playing[i]
			all[sessionID(t.region, s.ID)] = &joinedMatch{id: m.ID, session: s, subs: m.Subs,
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
	case j == nil, !j.session.TakesPlayers, !slices.Contains(c.Modes, j.session.Mode):
		return RefusedSessionGone
	case int(j.session.PlayerCount)+len(c.subs) > int(j.session.MaxPlayers), j.rosterBytes+
		jsonbBytes(c.roster) > maxRosterBytes:
		return RefusedSessionFull
	case c.Beside != nil && slices.ContainsFunc(j.subs,
		func(sub string) bool { return !slices.Contains(c.Beside, sub) }):
		return RefusedRoster
	}
	return ""
}

// place chooses for each match the session that it joins, or the least loaded host in the first of its modes that has
// one.
func (t *matchTx) place(c *candidates, open []*matchCall) {
	for _, m := range open {
		switch {
		case len(m.Modes) == 0:
			t.seated = append(t.seated, seatedMatch{matchCall: m})
		case m.Join != "":
			t.seated = append(t.seated, joining(t.region, m, t.joinable[m.Join]))
		default:
			if s, ok := t.opening(c, m); ok {
				t.seated = append(t.seated, s)
			} else {
				t.unplaced = append(t.unplaced, m)
			}
		}
	}
}

func joining(region string, m *matchCall, j *joinedMatch) seatedMatch {
	s := j.session
	return seatedMatch{matchCall: m, session: s.ID, mode: s.Mode, joined: j, placement: Placement{
		SessionID: m.Join, SessionHandle: s.Handle, Endpoint: s.Endpoint, Region: region, Mode: s.Mode,
		PlayerCount: int(s.PlayerCount) + len(m.subs), MaxPlayers: int(s.MaxPlayers),
	}}
}

// opening opens a session for a match on a candidate, and counts it there.
func (t *matchTx) opening(c *candidates, m *matchCall) (s seatedMatch, ok bool) {
	for _, mode := range m.Modes {
		h := pack.LeastLoaded(pack.Shape{Mode: mode, MaxPlayers: m.Size}, c.hosts)
		if h < 0 {
			continue
		}
		c.hosts[h].Reserved += m.Size
		// Counted in memory, so that the next match of this transaction sees it.
		c.hosts[h].FreeSlots--
		id := value.NewID()
		c.packed = append(c.packed, pack.Session{Shape: pack.Shape{Mode: mode, MaxPlayers: m.Size}, ID: id,
			Players: len(m.subs), Host: h})
		c.openSession(&t.sessions, c.packed[len(c.packed)-1], m.ID)
		return seatedMatch{matchCall: m, session: id, mode: mode, placement: *c.placement(len(c.packed) - 1)}, true
	}
	return s, false
}

// stillPlaceable asks which unplaced matches a fresh snapshot shows room for.
func (t *matchTx) stillPlaceable() query.StillPlaceableParams {
	arg := query.StillPlaceableParams{Region: t.region}
	for i, m := range t.unplaced {
		for _, mode := range m.Modes {
			arg.Requests, arg.Modes = append(arg.Requests, int32(i)), append(arg.Modes, mode)
			arg.MaxPlayers, arg.Sizes = append(arg.MaxPlayers, int32(m.Size)), append(arg.Sizes, int32(m.Size))
		}
	}
	return arg
}
