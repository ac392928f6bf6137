package db

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db/query"
)

// What the seats of an earlier request mean for a new one, a row for each rule.
func TestResume(t *testing.T) {
	t.Parallel()
	s1, s2 := uuid.New(), uuid.New()
	seat := func(session uuid.UUID, sub, by, state string, party ...string) query.SeatsAroundRow {
		return query.SeatsAroundRow{SessionID: session, Sub: sub, Mode: "duel", State: state, ReservedBy: by,
			Party: partyKey(party), MaxPlayers: 4, Live: true}
	}
	resolved := func(st query.SeatsAroundRow) query.SeatsAroundRow { st.Resolved = true; return st }
	dead := func(st query.SeatsAroundRow) query.SeatsAroundRow { st.Live = false; return st }
	elsewhere := func(st query.SeatsAroundRow) query.SeatsAroundRow { st.Mode = "race"; return st }
	alone := []string{"ann"}
	pair := []string{"ann", "bob"}

	for name, c := range map[string]struct {
		party   []string
		max     int
		seats   []query.SeatsAroundRow
		session uuid.UUID // the answer
		giveUp  []seatRef
		code    string
		played  []uuid.UUID
	}{
		"nothing held": {party: alone, max: 4},
		"the same again": {party: alone, max: 4,
			seats: []query.SeatsAroundRow{seat(s1, "ann", "ann", "reserved", alone...)}, session: s1},
		"another size": {party: alone, max: 2,
			seats:  []query.SeatsAroundRow{seat(s1, "ann", "ann", "reserved", alone...)},
			giveUp: []seatRef{{s1, "ann"}}},
		"a seat in a dead session": {party: alone, max: 4,
			seats:  []query.SeatsAroundRow{dead(seat(s1, "ann", "ann", "reserved", alone...))},
			giveUp: []seatRef{{s1, "ann"}}},
		"reserved by a stranger": {party: alone, max: 4,
			seats:  []query.SeatsAroundRow{seat(s1, "ann", "eve", "reserved", "eve", "ann")},
			giveUp: []seatRef{{s1, "ann"}}},
		"the same party, other caller": {party: pair, max: 4,
			seats: []query.SeatsAroundRow{seat(s1, "ann", "bob", "reserved", pair...),
				seat(s1, "bob", "bob", "reserved", pair...)}, session: s1},
		"the party, one seat expired": {party: pair, max: 4,
			seats: []query.SeatsAroundRow{seat(s1, "ann", "ann", "reserved", pair...)}, giveUp: []seatRef{{s1, "ann"}}},
		"the party got smaller": {party: alone, max: 4,
			seats: []query.SeatsAroundRow{seat(s1, "ann", "ann", "reserved", pair...),
				seat(s1, "bob", "ann", "reserved", pair...)}, giveUp: []seatRef{{s1, "ann"}, {s1, "bob"}}},
		"a friend looks for a game alone": {party: pair, max: 4,
			seats: []query.SeatsAroundRow{seat(s1, "bob", "bob", "reserved", "bob")}, code: "party_conflict"},
		"a friend resolved a stranger's seat": {party: pair, max: 4,
			seats: []query.SeatsAroundRow{resolved(seat(s1, "bob", "eve", "reserved", "eve", "bob"))},
			code:  "party_conflict"},
		"a friend in a stranger's party": {party: pair, max: 4,
			seats:  []query.SeatsAroundRow{seat(s1, "bob", "eve", "reserved", "eve", "bob")},
			giveUp: []seatRef{{s1, "bob"}}},
		"rejoin": {party: alone, max: 4,
			seats: []query.SeatsAroundRow{seat(s1, "ann", "ann", "connected", alone...)}, session: s1},
		"rejoin, whatever the size": {party: alone, max: 2,
			seats: []query.SeatsAroundRow{seat(s1, "ann", "ann", "connected", alone...)}, session: s1},
		"connected, but not the friend": {party: pair, max: 4,
			seats: []query.SeatsAroundRow{seat(s1, "ann", "ann", "connected", alone...)}, played: []uuid.UUID{s1}},
		"connected in a dead session": {party: alone, max: 4,
			seats: []query.SeatsAroundRow{dead(seat(s1, "ann", "ann", "connected", alone...))}},
		"an unused seat goes before a rejoin": {party: alone, max: 4,
			seats: []query.SeatsAroundRow{seat(s1, "ann", "ann", "connected", alone...),
				seat(s2, "ann", "ann", "reserved", alone...)}, session: s2},
		"both connected, in different sessions": {party: pair, max: 4,
			seats: []query.SeatsAroundRow{seat(s1, "ann", "ann", "connected", alone...),
				seat(s2, "bob", "bob", "connected", "bob")}, played: []uuid.UUID{s1, s2}},
		"another mode does not matter": {party: alone, max: 4,
			seats: []query.SeatsAroundRow{elsewhere(seat(s1, "ann", "ann", "reserved", alone...))}},
		"too many held in other modes": {party: []string{"ann", "bob", "cid"}, max: 4, seats: []query.SeatsAroundRow{
			elsewhere(seat(s1, "ann", "ann", "reserved", "ann")), elsewhere(seat(s1, "bob", "ann", "reserved", "ann")),
		}, code: "too_many_reserved"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := resumePlacement(PlaceRequest{Caller: "ann", Region: "eu", Mode: "duel", Party: c.party,
				MaxPlayers: c.max}, c.seats, 4)
			if c.session != uuid.Nil {
				require.NotNil(t, v.knownPlacement)
				require.Equal(t, sessionID("eu", c.session), v.knownPlacement.SessionID)
				require.Empty(t, v.giveUp, "a request that is answered gives up no seat")
				return
			}
			require.Nil(t, v.knownPlacement)
			require.ElementsMatch(t, c.giveUp, v.giveUp)
			require.Equal(t, c.played, v.excludedSessions)
			if c.code == "" {
				require.Nil(t, v.err)
			} else {
				require.Equal(t, c.code, v.err.Code)
			}
		})
	}
}
