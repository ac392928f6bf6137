package db_test

import (
	"crypto/sha256"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
)

// Pins three bugs: keys that can be read from the database, keys that stay valid after they are revoked, and two keys
// with one name.
func TestAgentKeys(t *testing.T) {
	t.Parallel()
	r := setupAgents(t)
	name := "eu0"
	key, made, err := r.CreateAgentKey(t.Context(), db.NewAgentKey{Region: fleetRegion, Name: "eu.1", BoundName: &name, BoundLabels: map[string]string{"region": "eu"}, Actor: "sql:ann"})
	require.NoError(t, err)
	require.Len(t, key, 43)
	require.Empty(t, strings.Trim(key, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"), "a token of HTTP")
	other, _, err := r.CreateAgentKey(t.Context(), db.NewAgentKey{Region: "other", Name: "eu.1"})
	require.NoError(t, err, "a name is unique within a region only")
	require.NotEqual(t, key, other)
	keys, err := r.AgentKeys(t.Context(), fleetRegion)
	require.NoError(t, err)
	require.Len(t, keys, 1)
	require.Equal(t, sha256.Sum256([]byte(key)), keys[0].Digest)
	made.CreatedAt = keys[0].CreatedAt
	require.Equal(t, made, keys[0])

	_, _, err = r.CreateAgentKey(t.Context(), db.NewAgentKey{Region: fleetRegion, Name: "eu.1"})
	require.True(t, fault.Is(err, fault.Conflict), "%v", err)
	for _, bad := range []string{"", "a b", "ü", strings.Repeat("a", 65)} {
		_, _, err = r.CreateAgentKey(t.Context(), db.NewAgentKey{Region: fleetRegion, Name: bad})
		require.True(t, fault.Is(err, fault.Invalid), "%v", err)
	}
	require.NoError(t, r.RevokeAgentKey(t.Context(), fleetRegion, "eu.1", "sql:ann"))
	require.True(t, fault.Is(r.RevokeAgentKey(t.Context(), fleetRegion, "eu.1", "sql:ann"), fault.NotFound))
	keys, err = r.AgentKeys(t.Context(), fleetRegion)
	require.NoError(t, err)
	require.Empty(t, keys)
	_, _, err = r.CreateAgentKey(t.Context(), db.NewAgentKey{Region: fleetRegion, Name: "eu.1"})
	require.NoError(t, err, "the name of a revoked key can be used again")
	require.Equal(t, []string{"agent_key.created sql:ann eu.1", "agent_key.revoked sql:ann eu.1"}, one[[]string](r.bundle,
		"SELECT array_agg(kind || ' ' || actor || ' ' || (detail->>'name') ORDER BY tx, id) FROM events WHERE region = $1 AND actor = 'sql:ann'", fleetRegion))
}

func TestAgentKeysAreBounded(t *testing.T) {
	t.Parallel()
	r := setupAgents(t)
	r.Exec("INSERT INTO agent_keys (region, name, digest) SELECT $1, 'k' || n, sha256(n::text::bytea) FROM generate_series(1, 1000) n", fleetRegion)
	_, _, err := r.CreateAgentKey(t.Context(), db.NewAgentKey{Region: fleetRegion, Name: "more"})
	require.True(t, fault.Is(err, fault.TooMany), "%v", err)
}
