package server_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/testkit/keytest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/storetest"
	"github.com/lattice-director/director/sdk"
)

// knows says to a cell that another one serves regions; without regions, no longer.
func (b *bundle) knows(other db.OtherCell) {
	b.t.Helper()
	act := b.store.As("").Because("test")
	if len(other.ServedRegions) == 0 {
		must.Get(act.RemoveCell(b.t.Context(), other.Name))(b.t)
	} else {
		other.EvenIfUsed = true
		must.Get(act.SetCell(b.t.Context(), other))(b.t)
	}
	require.NoError(b.t, b.store.ReadCells(b.t.Context()))
}

// asCell is a cell as others know it.
func (b *bundle) asCell(name string, regions ...string) db.OtherCell {
	return db.OtherCell{Name: name, APIAddress: b.url(), ServedRegions: regions}
}

func (b *bundle) url() string { return "http://" + b.server.Addr().String() }

// sdkServer starts a game server that knows the address of one cell.
func (b *bundle) sdkServer(id, region, token string) *sdk.GameServer {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), wait)
	defer cancel()
	s := must.Get(sdk.Start(ctx, b.sdkClient(),
		sdk.ServerOptions{InstanceID: id, Endpoint: id + ".example:7777", Region: region, Modes: []string{"duel"},
			Capacity: 8, FleetToken: token, HeartbeatEvery: 50 * time.Millisecond}))(b.t)
	b.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), wait)
		defer cancel()
		_ = s.Close(ctx)
	})
	return s
}

func (b *bundle) sdkClient() *sdk.Client {
	b.t.Helper()
	return must.Get(sdk.New(sdk.Options{URLs: []string{b.url()}, HTTPClient: b.plainClient()}))(b.t)
}

// Two cells with one login. Game servers and players know the address of either, and meet where the region is; and again where
// it is after it was given to the other cell, and back.
func TestPlayersAndGameServersFindTheirCell(t *testing.T) {
	t.Parallel()
	login := keytest.NewLogin(t)
	common := func(c *config) { c.Access.Keys = login.Source }
	eu, us := setup(t, common), setup(t, common)
	eu.knows(us.asCell("us", "us"))
	us.knows(eu.asCell("eu", "eu"))
	meet := func(entry *bundle, player, region string, s *sdk.GameServer) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		defer cancel()
		p := sdk.NewPlayer(entry.sdkClient(),
			func(context.Context) (string, error) { return login.Token(fields{"sub": player}), nil })
		seat, err := p.Seat(ctx, sdk.MatchRequest{Region: region, Mode: "duel"})
		require.NoError(t, err)
		require.Equal(t, s.Endpoint(), seat.Endpoint)
		admitted, err := s.Admit(ctx, seat.SessionToken)
		require.NoError(t, err, "the keys of the cell verify the token")
		require.Equal(t, player, admitted.Sub)
	}
	enrolled := eu.sdkServer("us-1", "us", us.enrolment(func(n *db.NewEnrolment) { n.Region = "us" }))
	meet(eu, "ada", "us", enrolled)
	meet(us, "bo", "us", enrolled)
	meet(us, "cy", "eu", us.sdkServer("eu-1", "eu", fleetToken))
	require.Equal(t, 1, us.store.Count("SELECT count(*) FROM instances"))
	require.Equal(t, 1, eu.store.Count("SELECT count(*) FROM instances"))

	require.NoError(t, enrolled.Close(t.Context()))
	moving := us.sdkServer("us-2", "us", fleetToken)
	meet(eu, "di", "us", moving)
	us.knows(eu.asCell("eu", "eu", "us"))
	eu.knows(us.asCell("us"))
	eu.store.Await("SELECT EXISTS (SELECT FROM instances WHERE id = 'us-2' AND status = 'ready')")
	meet(us, "ed", "us", moving)
	us.knows(eu.asCell("eu", "eu"))
	eu.knows(us.asCell("us", "us"))
	back := us.store.Now()
	require.Eventually(t, func() bool { // it registers there as the same process, and then sends heartbeats
		return storetest.One[bool](us.store,
			"SELECT heartbeat_at > $1::timestamptz + interval '200 ms' FROM instance_leases WHERE instance_id = 'us-2'",
			back)
	}, wait, 10*time.Millisecond)
	meet(eu, "flo", "us", moving)
	require.NoError(t, moving.Err())
}
