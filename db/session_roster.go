package db

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/batch"
	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
)

// RosterState is what a game server needs to wait for a change of its sessions.
type RosterState struct {
	// Digest changes when the instance's sessions, their players or the states of their seats change.
	Digest string

	instanceID  string
	region      string
	endpoint    string
	incarnation uuid.UUID
}

// SessionRoster is an open session and its players.
type SessionRoster struct {
	SessionID     string
	SessionHandle string
	Mode          string
	PlayerCount   int // seats taken
	MaxPlayers    int
	OpenedAt      time.Time

	MatchID        *uuid.UUID // nil for a session that no match opened; then the next four fields are zero
	ProfileName    string
	ProfileVersion int
	ChosenValues   json.RawMessage // object: the values that "common" rules chose, by attribute
	ProfileData    json.RawMessage // of the profile, for game servers; nil: none

	// BotsByTeam is how many bots each team needs, by the name of the team, to have as many players as it is filled to.
	// Teams that need none are left out. nil: no bots fill the match.
	BotsByTeam map[string]int

	Players []SessionPlayer // sorted by sub
}

// SessionPlayer is a player with a seat in a session, or a player of its match that no longer has one.
type SessionPlayer struct {
	Sub        string
	SeatState  string // "reserved", "connected" or "left"
	Team       string
	Role       string
	TicketID   string
	Attributes json.RawMessage // those that the profile's tell names; nil: none
	// AttributeSources say who vouches for attributes, claim or backend, by name; the others are the client's word.
	AttributeSources map[string]string
}

// The bounds of a page of SessionRosters. The largest session alone has about 64 KiB of match and 1,024 seats.
const (
	rostersPage      = 256 // sessions
	rostersPageBytes = 256 << 10
)

type rosterCall = batch.Call[InstanceRef, RosterState]

// ReadRosterState returns the current digest of an instance's sessions. Calls that wait at the same time share one
// statement, so that many game servers that wake up together cost few statements. Errors: NotFound when the instance is
// unknown or its lease has expired, Superseded, Unavailable.
func (s *Store) ReadRosterState(ctx context.Context, ref InstanceRef) (RosterState, error) {
	return s.batchGroups.rosterStates.Do(ctx, "", ref)
}

// rosterStateBatch decides a batch of polls. It reads only digests, so that a poll without a change reads no roster.
func (s *Store) rosterStateBatch(ctx context.Context, _ string, calls []*rosterCall) error {
	ids := make([]string, len(calls))
	for i, c := range calls {
		ids[i] = c.Req.InstanceID
	}
	// Each id once, since an instance may ask several times in one batch.
	slices.Sort(ids)
	rows, err := s.q.RosterStates(ctx, slices.Compact(ids))
	if err != nil {
		return err
	}
	known, states := make(directory, len(rows)), make(map[string]RosterState, len(rows))
	for _, r := range rows {
		known[r.InstanceID] = query.FindInstancesRow{InstanceID: r.InstanceID, Region: r.Region,
			Incarnation: r.Incarnation, Alive: r.Alive}
		states[r.InstanceID] = RosterState{Digest: strconv.FormatUint(uint64(r.Digest), 36), instanceID: r.InstanceID,
			region: r.Region, endpoint: r.Endpoint, incarnation: r.Incarnation}
	}
	for _, c := range calls {
		// The instance may have been replaced since the caller registered.
		_, err := s.liveRegionHere(known, c.Req)
		c.Answer(states[c.Req.InstanceID], err)
	}
	return nil
}

// SubscribeSessions returns a wake-up channel, as Subscribe does, that fires when players are seated on an instance.
// Reports of the instance and expired seats do not fire the channel, so subscribers also poll.
func (s *Store) SubscribeSessions(state RosterState) (wake <-chan struct{}, stop func()) {
	return s.noticeBus.SubscribeKey(topicSessions, state.region, state.endpoint)
}

// SessionRosters returns open sessions of an instance in the order of their ids, behind the session with the id after;
// "" returns the first ones. It returns at most 256 sessions and about 256 KiB, but at least one session. more reports
// whether others follow. The result is at least as new as the digest. Errors: Invalid for an id of another region;
// Unavailable.
func (s *Store) SessionRosters(ctx context.Context, state RosterState,
	after string) (rosters []SessionRoster, more bool, err error) {
	p := query.SessionRostersParams{
		Region: state.region, InstanceID: state.instanceID, Incarnation: state.incarnation, Most: rostersPage,
		MostBytes: rostersPageBytes,
	}
	if after != "" {
		// The session itself is not read: it may have ended since the page before.
		region, id, ok := parseSessionID(after)
		if !ok || region != state.region {
			return nil, false, fault.New(fault.Invalid, "invalid_request",
				"after must be a session id of this instance")
		}
		p.After = id
	}
	rows, err := s.q.SessionRosters(ctx, p)
	if err != nil {
		return nil, false, frame.Classify(err)
	}
	rosters = make([]SessionRoster, len(rows))
	for i, r := range rows {
		if rosters[i], err = sessionRosterOf(r, state.region); err != nil {
			return nil, false, frame.Classify(err)
		}
	}
	return rosters, len(rows) > 0 && rows[len(rows)-1].Followed, nil
}

func sessionRosterOf(r query.SessionRostersRow, region string) (SessionRoster, error) {
	out := SessionRoster{
		SessionID: sessionID(region, r.ID), SessionHandle: r.Handle, Mode: r.Mode, PlayerCount: int(r.PlayerCount),
		MaxPlayers: int(r.MaxPlayers),
		OpenedAt:   r.OpenedAt, MatchID: r.MatchID, ProfileName: r.Profile, ProfileVersion: int(r.Version),
		ChosenValues: jsonOrNil(r.Chosen),
		ProfileData:  jsonOrNil(r.Data),
	}
	var matched []rosterPlayer
	if err := json.Unmarshal(r.Roster, &matched); err != nil {
		return SessionRoster{}, err
	}
	players := make(map[string]SessionPlayer, len(matched)+len(r.Subs))
	// Of a player who was matched into the session again there are two entries, of which the last one counts.
	for _, p := range matched {
		players[p.Sub] = SessionPlayer{Sub: p.Sub, SeatState: "left", Team: p.Team, Role: p.Role, TicketID: p.Ticket,
			Attributes: p.Attributes, AttributeSources: p.Sources}
	}
	// Players with a seat have not left. Those of no match have only a seat.
	for i, sub := range r.Subs {
		p := players[sub]
		p.Sub, p.SeatState, p.Team = sub, r.States[i], r.Teams[i]
		players[sub] = p
	}
	out.Players = sortedPlayers(players)
	var fillTo map[string]int
	if err := json.Unmarshal(r.FillTo, &fillTo); err != nil {
		return SessionRoster{}, err
	}
	out.BotsByTeam = botsBeside(out.Players, fillTo)
	return out, nil
}

// botsBeside counts the bots that fill each team to a number of players, fillTo. A player who has left does not count.
func botsBeside(players []SessionPlayer, fillTo map[string]int) map[string]int {
	if len(fillTo) == 0 {
		return nil
	}
	bots := maps.Clone(fillTo)
	for _, p := range players {
		if p.SeatState != "left" && bots[p.Team] > 0 {
			bots[p.Team]--
		}
	}
	maps.DeleteFunc(bots, func(_ string, n int) bool { return n == 0 })
	return bots
}

func sortedPlayers(bySub map[string]SessionPlayer) []SessionPlayer {
	players := make([]SessionPlayer, 0, len(bySub))
	for _, sub := range slices.Sorted(maps.Keys(bySub)) {
		players = append(players, bySub[sub])
	}
	return players
}

// jsonOrNil returns nil for JSON's null.
func jsonOrNil(b []byte) json.RawMessage {
	if string(b) == "null" {
		return nil
	}
	return b
}
