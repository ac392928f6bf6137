package db_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/provider"
	"github.com/lattice-director/director/token/netcode"
)

func TestAppVersionReadsEveryColumn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Exec(`INSERT INTO app_versions (app, version, provider, launch, ports, game_port, modes, capacity, max_players, env, dialect, protocol_id)
	        VALUES ('arena', 'v1', 'process', 'arena', '[{"name": "game", "internal": 7777, "protocol": "udp"}]', 'game', '{duel}', 8, 2,
	                '{"A": "b"}', 'lightyear-be', '18446744073709551615')`)
	v, err := b.FindAppVersion(t.Context(), "arena", "v1")
	require.NoError(t, err)
	require.NotZero(t, v.AppliedAt)
	v.AppliedAt = time.Time{}
	require.Equal(t, provision.AppVersion{
		App: "arena", Version: "v1", Provider: "process", Launch: "arena", Ports: []provision.AppPort{{Name: "game", Internal: 7777, Protocol: provider.UDP}},
		GamePort: "game", Endpoint: "{ip}:{port}", Modes: []string{"duel"}, Capacity: 8, MaxPlayers: 2, Env: map[string]string{"A": "b"},
		StartWithin: 3 * time.Minute, RegisterWithin: time.Minute, Grace: 30 * time.Second, MaxLifetime: 24 * time.Hour, DrainAhead: time.Hour,
		Dialect: netcode.LightyearBE, ProtocolID: 1<<64 - 1,
	}, v)

	_, err = b.FindAppVersion(t.Context(), "arena", "v2")
	require.True(t, fault.Is(err, fault.NotFound), "%v", err)
}

func TestAppVersionThatWasUsed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Exec(`INSERT INTO app_versions (app, version, provider, launch, ports, game_port, modes, capacity, max_players, used_at)
	        VALUES ('arena', 'v1', 'process', 'arena', '[]', 'game', '{duel}', 8, 2, now())`)
	v, err := b.FindAppVersion(t.Context(), "arena", "v1")
	require.NoError(t, err)
	require.True(t, v.WasStarted)
}
