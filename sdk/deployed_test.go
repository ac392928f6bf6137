package sdk_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/sdk"
)

var deployedEnviron = []string{
	"PATH=/bin", "DIRECTOR_URL=https://a.test,https://b.test", "FLEET_TOKEN=ld1.eu.id.mac", "LATTICE_DEPLOYMENT_ID=id", "LATTICE_REGION=eu", "LATTICE_MODES=duel,ffa",
	"LATTICE_CAPACITY=32", "LATTICE_PORT_GAME=7000", "LATTICE_PORT_WEB_RTC=7001", "LATTICE_ENDS_AT=2027-01-02T03:04:05Z",
	"LATTICE_NETCODE_KEY=0001ff", "LATTICE_PROTOCOL_ID=18446744073709551615",
}

func TestDeployed(t *testing.T) {
	t.Parallel()
	d, deployed, err := sdk.Deployed(deployedEnviron)
	require.NoError(t, err)
	require.True(t, deployed)
	require.Equal(t, sdk.Deployment{
		URLs:   []string{"https://a.test", "https://b.test"},
		Server: sdk.ServerOptions{InstanceID: "id", Region: "eu", Modes: []string{"duel", "ffa"}, Capacity: 32, FleetToken: "ld1.eu.id.mac"},
		Ports:  map[string]int{"game": 7000, "web-rtc": 7001}, EndsAt: time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC),
		NetcodeKey: []byte{0, 1, 255}, ProtocolID: 1<<64 - 1,
	}, d)

	for want, environ := range map[string][]string{
		"arena-x7/tag": {"LATTICE_GAME_SERVER=arena-x7", "LATTICE_PROVIDER_TAG=tag"}, "": {"LATTICE_PROVIDER_TAG=tag"},
		"other": {"LATTICE_GAME_SERVER=arena-x7", "LATTICE_PROVIDER_TAG=tag", "LATTICE_PROVIDER_REF=other"},
	} {
		d, _, err = sdk.Deployed(append(slices.Clip(deployedEnviron), environ...))
		require.NoError(t, err)
		require.Equal(t, want, d.Server.ProviderRef)
	}

	_, deployed, err = sdk.Deployed([]string{"FLEET_TOKEN=shared", "LATTICE_REGION=eu"})
	require.NoError(t, err)
	require.False(t, deployed)
	for _, wrong := range []string{
		"FLEET_TOKEN=", "LATTICE_CAPACITY=many", "LATTICE_PORT_GAME=70000", "LATTICE_ENDS_AT=soon", "LATTICE_NETCODE_KEY=sec-ret", "LATTICE_PROTOCOL_ID=-1",
	} {
		_, deployed, err = sdk.Deployed(append(slices.Clip(deployedEnviron), wrong))
		require.True(t, deployed)
		require.Error(t, err, wrong)
		require.NotContains(t, err.Error(), "sec-ret")
	}
}

func asDeployed(o *sdk.ServerOptions) { o.Endpoint = "" }

// A deployed server learns its endpoint from the director, and admits the players who were sent there.
func TestTheDirectorSaysTheEndpoint(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		s := w.serve(asDeployed)
		require.Equal(t, "arena-1.deployed:7777", s.Endpoint())
		a, err := s.Admit(t.Context(), w.token("ann").SessionToken)
		require.NoError(t, err)
		require.Equal(t, "ann", a.Sub)
		w.director.Expire("arena-1")
		advance(10 * time.Second)
		require.Equal(t, "arena-1.deployed:7777", s.Endpoint())
	})
}

// The director wants a server to end: it may finish its sessions, and is told once.
func TestUnwantedServers(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		s := w.serve(asDeployed)
		ended := make(chan error, 1)
		go func() { ended <- s.RunUntilSignal(t.Context(), time.Minute) }()
		advance(time.Minute)
		require.Empty(t, ended)
		w.director.Unwant("arena-1")
		require.NoError(t, <-ended)
		<-s.Unwanted()
		require.Empty(t, w.director.Instances())
	})
}

// A server whose deployment is over must not register again and again.
func TestDeploymentsThatAreOver(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		s := w.serve(asDeployed)
		w.director.EndDeployment("arena-1")
		<-s.Done()
		require.ErrorIs(t, s.Err(), sdk.ErrDeploymentOver)
		require.ErrorIs(t, s.Err(), sdk.ErrGone)
		before := len(w.to("/fleet/register"))
		advance(time.Minute)
		require.Len(t, w.to("/fleet/register"), before)
	})
}
