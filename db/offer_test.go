package db_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/token/netcode"
)

func TestOffersFollowThePools(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first, second := arenaVersion("v1"), arenaVersion("v2")
	first.Dialect, first.ProtocolID = netcode.LightyearLE, 7
	eu, us := euPool("v1", "solo", "duel"), euPool("v1", "solo")
	us.Region = "us"
	eu.Networks = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("2001:db8::/32")}
	none := euPool("v2")
	none.Modes = []string{}
	b.declare([]provision.AppVersion{first, second}, eu, us, none)

	offers, err := b.Offers(t.Context())
	require.NoError(t, err)
	require.Equal(t, []db.Offer{
		{App: "arena", Version: "v1", MaxPlayers: 2, Dialect: netcode.LightyearLE, Regions: []db.OfferRegion{
			{Region: "eu", Modes: []string{"duel", "solo"}, Networks: eu.Networks},
			{Region: "us", Modes: []string{"solo"}},
		}},
		{App: "arena", Version: "v2", MaxPlayers: 2},
	}, offers, "modes are in the order of the app version; the pool of v2 has none")

	_, err = b.RollPool(t.Context(), provision.PoolEdit{Region: "eu", App: "arena", Version: "v1"}, "v2")
	require.NoError(t, err)
	offers, err = b.Offers(t.Context())
	require.NoError(t, err)
	require.Equal(t, []db.OfferRegion{{Region: "us", Modes: []string{"solo"}}}, offers[0].Regions)
	require.Equal(t, "eu", offers[1].Regions[0].Region)
}
