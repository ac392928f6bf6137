package db_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/internal/notify/notifytest"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/testkit/must"
)

func (b *bundle) rosterState(r db.InstanceRef) db.RosterState {
	b.t.Helper()
	return must.Get(b.ReadRosterState(b.t.Context(), r))(b.t)
}

// rosters returns all sessions of an instance.
func (b *bundle) rosters(instance string) (all []db.SessionRoster) {
	b.t.Helper()
	state, after := b.rosterState(ref(instance)), ""
	for more := true; more; {
		var page []db.SessionRoster
		var err error
		page, more, err = b.SessionRosters(b.t.Context(), state, after)
		require.NoError(b.t, err)
		all = append(all, page...)
		if more {
			after = page[len(page)-1].SessionID
		}
	}
	return all
}

// A game server reads what was decided about each of its sessions, and who is in it.
func TestRosters(t *testing.T) {
	t.Parallel()
	m := setupMatches(t)
	require.Empty(t, m.rosters("a"))
	d := m.duel("ann", "bob")
	d.Size = 3
	d.Tickets[0].Players[0].Role, d.Tickets[0].Players[0].Told = "tank", json.RawMessage(`{"skill": 7}`)
	d.Data = json.RawMessage(`{"ranked": true}`)
	p := m.requireCommitted(m.commit(d)[0])
	got := m.rosters("a")
	require.Len(t, got, 1)
	want := db.SessionRoster{
		SessionID: p.SessionID, SessionHandle: p.SessionHandle, Mode: "duel", PlayerCount: 2, MaxPlayers: 3,
		OpenedAt: got[0].OpenedAt,
		MatchID:  &d.ID, ProfileName: "duels", ProfileVersion: 3, ChosenValues: json.RawMessage(`{"map": "dust"}`), ProfileData: d.Data,
		Players: []db.SessionPlayer{
			{Sub: "ann", SeatState: "reserved", Team: "red", Role: "tank", TicketID: d.Tickets[0].ID, Attributes: json.RawMessage(`{"skill": 7}`)},
			{Sub: "bob", SeatState: "reserved", Team: "blue", TicketID: d.Tickets[1].ID},
		},
	}
	require.Equal(t, want, got[0])

	m.connect("a", p, "ann")
	m.report(db.SeatReport{InstanceRef: ref("a"), SessionID: p.SessionID, LeftPlayers: []db.Left{{PlayerSub: "bob"}}})
	newcomer := matchOf(m.queued("red", "cid"))
	newcomer.Join = p.SessionID
	m.requireCommitted(m.commit(newcomer)[0])
	want.Players[0].SeatState, want.Players[1].SeatState = "connected", "left"
	want.Players = append(want.Players, db.SessionPlayer{Sub: "cid", SeatState: "reserved",
		Team: newcomer.Tickets[0].Players[0].Team, TicketID: newcomer.Tickets[0].ID})
	require.Equal(t, []db.SessionRoster{want}, m.rosters("a"))

	open := m.place(request("dan", 8, "eve"))
	got = m.rosters("a")
	require.Equal(t, db.SessionRoster{
		SessionID: open.SessionID, SessionHandle: open.SessionHandle, Mode: "duel", PlayerCount: 2, MaxPlayers: 8,
		OpenedAt: got[1].OpenedAt,
		Players:  []db.SessionPlayer{{Sub: "dan", SeatState: "reserved"}, {Sub: "eve", SeatState: "reserved"}},
	}, got[1], "no match opened this one")
}

// Pins a game server that does not know how many bots play, or keeps one in the place of a player.
func TestRostersSayWhereBotsPlay(t *testing.T) {
	t.Parallel()
	m := setupMatches(t)
	d := m.duel("ann", "bob")
	d.Size, d.FillTo = 8, json.RawMessage(`{"red": 2, "blue": 2, "green": 1}`)
	p := m.requireCommitted(m.commit(d)[0])
	bots := func() map[string]int { return m.rosters("a")[0].BotsByTeam }
	require.Equal(t, map[string]int{"red": 1, "blue": 1, "green": 1}, bots())
	newcomer := matchOf(m.queued("red", "cid"))
	newcomer.Join = p.SessionID
	m.requireCommitted(m.commit(newcomer)[0])
	require.Equal(t, map[string]int{"blue": 1, "green": 1}, bots(), "cid plays for a bot")
	m.connect("a", p, "ann")
	m.report(db.SeatReport{InstanceRef: ref("a"), SessionID: p.SessionID, LeftPlayers: []db.Left{{PlayerSub: "ann"}}})
	require.Equal(t, map[string]int{"red": 1, "blue": 1, "green": 1}, bots(), "a bot plays for ann")
}

// The digest is that of the instance's sessions: it changes with them and with nothing else.
func TestRosterDigests(t *testing.T) {
	t.Parallel()
	m := setupMatches(t)
	m.AddServer("b", 64)
	m.drain("b")
	known := m.rosterState(ref("a")).Digest
	changed := func(why string) {
		t.Helper()
		require.NotEqual(t, known, m.rosterState(ref("a")).Digest, why)
		known = m.rosterState(ref("a")).Digest
	}
	empty := m.rosterState(ref("b")).Digest
	require.Equal(t, known, empty)

	d := m.duel("ann", "bob")
	d.Size = 3
	p := m.requireCommitted(m.commit(d)[0])
	changed("a match")
	m.resolve(p, "ann")
	require.Equal(t, known, m.rosterState(ref("a")).Digest, "what is sent is the same")
	m.connect("a", p, "ann")
	changed("a player connected")
	newcomer := matchOf(m.queued("red", "cid"))
	newcomer.Join = p.SessionID
	m.requireCommitted(m.commit(newcomer)[0])
	changed("a newcomer")
	m.report(db.SeatReport{InstanceRef: ref("a"), SessionID: p.SessionID, LeftPlayers: []db.Left{{PlayerSub: "cid"}}})
	changed("a player left")
	m.place(request("dan", 8))
	changed("a session of /matchmake")
	m.report(db.SeatReport{InstanceRef: ref("a"), SessionID: p.SessionID, HasEnded: true})
	changed("a session ended")
	require.Equal(t, empty, m.rosterState(ref("b")).Digest, "another instance's")
}

func (b *bundle) drain(instance string) {
	b.t.Helper()
	must.Get(b.SetDrain(b.t.Context(), ref(instance), true))(b.t)
}

func TestRostersOfOtherIncarnations(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.ReadRosterState(t.Context(), ref("a"))
	requireKind(t, fault.NotFound, "instance_unknown", err)
	old := b.AddServer("a", 8)
	b.place(request("ann", 8))
	b.AddServer("a", 8, func(r *db.Registration) { r.BootID = "boot-2" })
	_, err = b.ReadRosterState(t.Context(), refOf(old))
	requireKind(t, fault.Superseded, "superseded", err)
	require.Empty(t, b.rosters("a"), "its sessions ended with the incarnation before")
	_, _, err = b.SessionRosters(t.Context(), b.rosterState(ref("a")), "us.0b8f9a3e-5f0c-4d59-9d5b-0f7d0e1c2a33")
	requireKind(t, fault.Invalid, "invalid_request", err)
}

// Pages bound what one answer takes, and leave nothing out: by number, and by size.
func TestPagesOfRosters(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("a", 100_000)
	for _, c := range []struct{ sessions, seats, pages int }{{600, 1, 3}, {10, 200, 3}} {
		b.Exec("DELETE FROM sessions")
		b.Exec(`INSERT INTO sessions (region, id, handle, mode, instance_id, incarnation, player_count, max_players)
			SELECT 'eu', gen_random_uuid(), 'eu.' || n, 'duel', 'a', i.incarnation, $2, $2 FROM generate_series(1, $1::int) n, instances i`, c.sessions, c.seats)
		b.Exec(`INSERT INTO seats (region, session_id, sub, mode, party, reserved_by, state)
			SELECT 'eu', s.id, s.handle || '-' || n, 'duel', s.id, '', 'connected' FROM sessions s, generate_series(1, s.max_players) n`)
		all := b.rosters("a")
		require.Len(t, all, c.sessions)
		seen := map[string]bool{}
		for _, r := range all {
			require.Len(t, r.Players, c.seats)
			seen[r.SessionID] = true
		}
		require.Len(t, seen, c.sessions)
		page, more, err := b.SessionRosters(t.Context(), b.rosterState(ref("a")), "")
		require.NoError(t, err)
		require.True(t, more)
		require.Equal(t, c.pages, (c.sessions+len(page)-1)/len(page))
	}
}

// Players who are seated wake the server that they are on, at any replica, and no other server.
func TestSeatedPlayersWakeTheirServer(t *testing.T) {
	t.Parallel()
	m := setupMatches(t)
	m.AddServer("b", 64)
	m.drain("b")
	other := m.Replica()
	state, err := other.ReadRosterState(t.Context(), ref("a"))
	require.NoError(t, err)
	woken, stop := other.SubscribeSessions(state)
	defer stop()
	here, stop := m.SubscribeSessions(state)
	defer stop()
	notifytest.RequireWoken(t, woken, "it listens")
	notifytest.RequireWoken(t, here, "it listens")
	beside, stop := m.SubscribeSessions(m.rosterState(ref("b")))
	defer stop()

	m.requireCommitted(m.commit(m.duel("ann", "bob"))[0])
	notifytest.RequireWoken(t, here, "a match")
	notifytest.RequireWoken(t, woken, "a match of another replica")
	m.place(request("dan", 8))
	notifytest.RequireWoken(t, here, "a party of /matchmake")
	notifytest.RequireWoken(t, woken, "a party of another replica's /matchmake")
	notifytest.RequireAsleep(t, beside, "nothing happened on it")
}
