package db_test

import (
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/testkit/must"
)

// netcodeGame is a netcode server with its lists of clients.
type netcodeGame struct {
	*bundle
	db.Registered
	seq int64
}

func netcodeSetup(t *testing.T) *netcodeGame {
	t.Helper()
	b := setup(t)
	_, registered := b.netcodeServer(8)
	return &netcodeGame{b, registered, 0}
}

// client returns the client id of a new token of a player.
func (g *netcodeGame) client(p db.Placement, sub string) uint64 {
	g.t.Helper()
	return g.resolve(p, sub).NetcodeSeat.ClientID
}

// list reports the connected clients, and returns the refused ones.
func (g *netcodeGame) list(clients ...uint64) []db.RefusedClient {
	g.t.Helper()
	g.seq++
	res := must.Get(g.ReportClients(g.t.Context(), db.ClientList{InstanceRef: refOf(g.Registered), Seq: g.seq,
		ClientIDs: clients}))(g.t)
	require.True(g.t, res.IsApplied)
	return res.RefusedClients
}

// connected returns the connected players.
func (g *netcodeGame) connected() []string {
	g.t.Helper()
	return one[[]string](g.bundle, `SELECT coalesce(array_agg(sub ORDER BY sub), '{}') FROM seats WHERE state = 'connected'`)
}

func TestListsOfClientsSeatAndFree(t *testing.T) {
	t.Parallel()
	g := netcodeSetup(t)
	p := g.place(request("ann", 2, "bob"))
	ann, bob := g.client(p, "ann"), g.client(p, "bob")
	require.Empty(t, g.list(ann))
	require.Equal(t, []string{"ann"}, g.connected())
	require.True(t, one[bool](g.bundle, `SELECT jti = $1 AND connection = $1 FROM seats WHERE sub = 'ann'`, strconv.FormatUint(ann, 10)))
	require.Empty(t, g.list(ann, bob))
	require.Equal(t, []string{"ann", "bob"}, g.connected())

	require.Empty(t, g.list(bob))
	require.Equal(t, []string{"bob"}, g.connected())
	require.Equal(t, []db.RefusedClient{{ClientID: ann, SeatResult: db.SeatReplay}}, g.list(ann, bob),
		"a player who left needs another token")
	require.Equal(t, []string{"bob"}, g.connected())

	require.Empty(t, g.list())
	require.Equal(t, []db.RefusedClient{{ClientID: bob, SeatResult: db.SeatGone}}, g.list(bob),
		"the session closed with its last player")
	require.Equal(t, "empty", one[string](g.bundle, `SELECT reason FROM session_history`))
	g.RequireInvariants()
}

// bevygap's server panics on an unknown client id, with everybody on it.
func TestUnknownClientsAreRefusedAlone(t *testing.T) {
	t.Parallel()
	g := netcodeSetup(t)
	other := &netcodeGame{bundle: g.bundle}
	p := g.place(request("ann", 2))
	ann := g.client(p, "ann")
	require.Equal(t, []db.RefusedClient{{ClientID: 1, SeatResult: db.SeatUnknown},
		{ClientID: 1<<63 - 1, SeatResult: db.SeatUnknown}}, g.list(1, ann, 1<<63-1))
	require.Equal(t, []string{"ann"}, g.connected())
	_, other.Registered = g.netcodeServer(8)
	require.Equal(t, []db.RefusedClient{{ClientID: ann, SeatResult: db.SeatUnknown}}, other.list(ann),
		"the token was made for another server")
	require.Equal(t, []string{"ann"}, g.connected())
}

// The newest connection of a player holds the seat; the server ends the older one.
func TestANewerClientReplacesAnOlderOne(t *testing.T) {
	t.Parallel()
	g := netcodeSetup(t)
	p := g.place(request("ann", 2))
	first, second := g.client(p, "ann"), g.client(p, "ann")
	require.Empty(t, g.list(first))
	require.Empty(t, g.list(second))
	require.Equal(t, []db.RefusedClient{{ClientID: first, SeatResult: db.SeatReplay}}, g.list(first, second))
	require.Empty(t, g.list(second), "the older connection frees nothing")
	require.Equal(t, []string{"ann"}, g.connected())
}

func TestLateListsAreIgnored(t *testing.T) {
	t.Parallel()
	g := netcodeSetup(t)
	p := g.place(request("ann", 2, "bob"))
	ann, bob := g.client(p, "ann"), g.client(p, "bob")
	g.seq = 4
	require.Empty(t, g.list(ann, bob)) // 5
	res, err := g.ReportClients(t.Context(),
		db.ClientList{InstanceRef: refOf(g.Registered), Seq: 4, ClientIDs: []uint64{ann}})
	require.NoError(t, err)
	require.Equal(t, db.ClientListResult{}, res)
	require.Equal(t, []string{"ann", "bob"}, g.connected())
	g.seq = 4
	require.Empty(t, g.list(ann, bob), "a retry of the last one")
}

// A list that changes nothing must cost no write: every server sends one with each heartbeat.
func TestAListWithoutChangesWritesNothing(t *testing.T) {
	t.Parallel()
	g := netcodeSetup(t)
	p := g.place(request("ann", 2))
	ann := g.client(p, "ann")
	require.Empty(t, g.list(ann))
	rows := `SELECT array_agg(xmin::text) FROM (SELECT xmin FROM deployments UNION ALL SELECT xmin FROM sessions UNION ALL SELECT xmin FROM seats
		UNION ALL SELECT xmin FROM netcode_tokens UNION ALL SELECT xmin FROM instances) x`
	before := one[[]string](g.bundle, rows)
	for range 3 {
		require.Equal(t, []db.RefusedClient{{ClientID: 7, SeatResult: db.SeatUnknown}}, g.list(ann, 7))
	}
	require.Equal(t, before, one[[]string](g.bundle, rows))
}

// Seats that the server has reported by itself are not of its netcode clients.
func TestListsLeaveReportedSeatsAlone(t *testing.T) {
	t.Parallel()
	g := netcodeSetup(t)
	p := g.place(request("ann", 2))
	g.resolve(p, "ann")
	require.Equal(t, db.SeatOK, g.reportConnection(g.InstanceID, p.SessionID, "ann", "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
		"ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
	require.Empty(t, g.list())
	require.Equal(t, []string{"ann"}, g.connected())
}

// The first list of a server, even an empty one, says that it reports: seats then expire with their tokens.
func TestTheFirstListStartsReporting(t *testing.T) {
	t.Parallel()
	g := netcodeSetup(t)
	g.Exec(`UPDATE instances SET reports_seats = false`)
	p := g.place(request("ann", 2))
	g.resolve(p, "ann")
	require.True(t, one[bool](g.bundle, `SELECT expires_at > now() + '1 hour' FROM seats`))
	require.Empty(t, g.list())
	require.True(t, one[bool](g.bundle, `SELECT expires_at < now() + '3 minutes' FROM seats`))
	require.True(t, one[bool](g.bundle, `SELECT reports_seats FROM instances`))
}

func TestListsOfOtherServersAreRefused(t *testing.T) {
	t.Parallel()
	g := netcodeSetup(t)
	plain := g.AddServer("plain", 8)
	for code, l := range map[string]db.ClientList{
		"no_connect_tokens": {InstanceRef: refOf(plain)},
		"instance_unknown":  {InstanceRef: ref("nobody")},
		"superseded":        {InstanceRef: db.InstanceRef{InstanceID: g.InstanceID, Incarnation: &plain.Incarnation}},
	} {
		_, err := g.ReportClients(t.Context(), l)
		kinds := map[string]fault.Kind{"no_connect_tokens": fault.Conflict, "instance_unknown": fault.NotFound,
			"superseded": fault.Superseded}
		requireKind(t, kinds[code], code, err)
	}
}

// Lists of several servers over several replicas, sent again and out of order: in the end the last list of each server
// counts.
func TestConcurrentListsConverge(t *testing.T) {
	t.Parallel()
	b := setup(t)
	replicas := []*db.Store{b.Store, b.Replica()}
	var all sync.WaitGroup
	for range 3 {
		_, registered := b.netcodeServer(4)
		g := &netcodeGame{b, registered, 0}
		p := b.place(db.PlaceRequest{Caller: "a" + registered.InstanceID, Region: "eu", Mode: "duel", MaxPlayers: 4,
			Party: []string{"a" + registered.InstanceID, "b" + registered.InstanceID, "c" + registered.InstanceID,
				"d" + registered.InstanceID}})
		var ids []uint64
		for _, sub := range []string{"a", "b", "c", "d"} {
			ids = append(ids, g.client(p, sub+registered.InstanceID))
		}
		for seq := int64(1); seq <= 8; seq++ {
			clients := slices.Clone(ids[:min(seq, 4)])
			for _, replica := range replicas {
				all.Go(func() {
					_, err := replica.ReportClients(t.Context(),
						db.ClientList{InstanceRef: refOf(registered), Seq: seq, ClientIDs: clients})
					require.NoError(t, err)
				})
			}
		}
		all.Wait()
		g.seq = 8
		refused := g.list(ids...)
		for _, r := range refused { // a list that came late may have freed a seat for a moment
			require.Equal(t, db.SeatReplay, r.SeatResult)
		}
		require.Len(t, g.connected(), one[int](b, `SELECT sum(player_count)::int FROM sessions`))
	}
	b.RequireInvariants()
}

// A client id is forgotten when its token cannot be used any more, and not while its player is connected.
func TestPruneNetcodeTokens(t *testing.T) {
	t.Parallel()
	g := netcodeSetup(t)
	p := g.place(request("ann", 2, "bob"))
	ann, _ := g.client(p, "ann"), g.client(p, "bob")
	require.Empty(t, g.list(ann))
	n, err := g.PruneNetcodeTokens(t.Context(), "eu", 10)
	require.NoError(t, err)
	require.Equal(t, db.Pruned{}, n)
	g.Exec(`UPDATE netcode_tokens SET expires_at = now()`)
	n, err = g.PruneNetcodeTokens(t.Context(), "eu", 10)
	require.NoError(t, err)
	require.Equal(t, db.Pruned{ExaminedRows: 2, DeletedRows: 1}, n)
	require.Equal(t, []int64{int64(ann)}, one[[]int64](g.bundle, `SELECT array_agg(client_id) FROM netcode_tokens`))
	require.True(t, one[bool](g.bundle, `SELECT expires_at BETWEEN now() + '9 minutes' AND now() + '11 minutes' FROM netcode_tokens`))
	require.Empty(t, g.list(ann))
	require.Empty(t, g.list())
	g.Exec(`UPDATE netcode_tokens SET expires_at = now()`)
	n, err = g.PruneNetcodeTokens(t.Context(), "eu", 10)
	require.NoError(t, err)
	require.Equal(t, db.Pruned{ExaminedRows: 1, DeletedRows: 1}, n)
}

// Pins a list that is applied to what it read before another list changed it: then the director would believe that a
// player is gone whom the server keeps, or the reverse.
func TestListsThatRaceAreDecidedOneAfterTheOther(t *testing.T) {
	t.Parallel()
	g := netcodeSetup(t)
	other := g.Replica()
	p := g.place(request("ann", 2, "bob"))
	ann, bob := g.client(p, "ann"), g.client(p, "bob")
	require.Empty(t, g.list(ann))
	block, err := g.Pool().Begin(t.Context())
	require.NoError(t, err)
	_, err = block.Exec(t.Context(), `SELECT FROM sessions FOR UPDATE`)
	require.NoError(t, err)
	var older, newer db.ClientListResult
	var all sync.WaitGroup
	report := func(s *db.Store, into *db.ClientListResult, l db.ClientList) {
		all.Go(func() {
			var err error
			l.InstanceRef = refOf(g.Registered)
			*into, err = s.ReportClients(t.Context(), l)
			require.NoError(t, err)
		})
	}
	report(g.Store, &older, db.ClientList{Seq: 5, ClientIDs: []uint64{bob}})
	report(other, &newer, db.ClientList{Seq: 6, ClientIDs: []uint64{ann, bob}})
	g.AwaitBlocked(2)
	require.NoError(t, block.Rollback(t.Context()))
	all.Wait()
	want := []string{"ann", "bob"}
	if older.IsApplied {
		want = []string{"bob"}
		require.Equal(t, []db.RefusedClient{{ClientID: ann, SeatResult: db.SeatReplay}}, newer.RefusedClients)
	} else {
		require.Empty(t, newer.RefusedClients)
	}
	require.Equal(t, want, g.connected())
}
