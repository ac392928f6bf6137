package db_test

import (
	"net/netip"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/provider"
)

// arenaOfFake is an app version of provider fake.
var arenaOfFake = map[string]any{"version": "1.0", "provider": "fake", "ports": `[{"name": "game", "internal": 5000, "protocol": "udp"}]`}

func newArena() provision.NewDeployment {
	return provision.NewDeployment{ID: uuid.New(), App: "arena", Version: "1.0", Provider: "fake", Tag: provider.NewTag(), Origin: provision.OriginOperator}
}

func TestStartAndStopDeployment(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddAppVersion(arenaOfFake)
	woken, stop := b.Subscribe(db.TopicDeployments, "eu")
	defer stop()
	n := newArena()
	n.Address, n.SealedKey, n.SealedBy = netip.MustParseAddr("::ffff:192.0.2.1"), []byte{1}, "kek"
	require.NoError(t, b.StartDeployment(t.Context(), "eu", n))
	<-woken
	require.Equal(t, "wanted running 192.0.2.1 t", one[string](b, `SELECT phase || ' ' || desired || ' ' || host(address) || ' ' || left((next_at <= now())::text, 1) FROM deployments`))
	require.True(t, one[bool](b, "SELECT used_at IS NOT NULL FROM app_versions"))
	require.Equal(t, "arena", one[string](b, "SELECT detail->>'app' FROM events WHERE kind = 'deployment.wanted' AND instance_id = $1", n.ID.String()))

	b.Exec("UPDATE deployments SET next_at = NULL")
	require.NoError(t, b.StopDeployment(t.Context(), "eu", n.ID, "too expensive"))
	require.NoError(t, b.StopDeployment(t.Context(), "eu", n.ID, "again"))
	require.Equal(t, "stopped too expensive 1", one[string](b, "SELECT desired || ' ' || reason || ' ' || generation FROM deployments WHERE next_at IS NOT NULL"))
	require.Equal(t, 1, one[int](b, "SELECT count(*)::int FROM events WHERE kind = 'deployment.stopped'"))
	requireKind(t, fault.NotFound, "deployment_unknown", b.StopDeployment(t.Context(), "us", n.ID, ""))
}

func TestStartDeploymentChecksTheVersion(t *testing.T) {
	t.Parallel()
	b := setup(t)
	requireKind(t, fault.NotFound, "app_version_unknown", b.StartDeployment(t.Context(), "eu", newArena()))
	b.AddAppVersion(arenaOfFake)
	n := newArena()
	n.Provider = "docker"
	requireKind(t, fault.Invalid, "provider_mismatch", b.StartDeployment(t.Context(), "eu", n))
	require.Zero(t, one[int](b, "SELECT count(*)::int FROM deployments"))
}

// Pins a player who is placed on a server that is being stopped.
func TestAStoppedDeploymentGetsNoPlayers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddAppVersion(arenaOfFake)
	n := newArena()
	require.NoError(t, b.StartDeployment(t.Context(), "eu", n))
	b.AddServer(n.ID.String(), 8)
	b.place(request("anna", 2))
	require.NoError(t, b.StopDeployment(t.Context(), "eu", n.ID, "done"))
	_, err := b.Place(t.Context(), request("ben", 2))
	requireKind(t, fault.NoCapacity, "no_capacity", err)
}
