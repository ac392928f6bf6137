package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/token"
)

// Pins commands whose keys and tokens a replica would refuse.
func TestProjectsOfTheRealtimeLobby(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	environ := env("DATABASE_URL="+url, "DIRECTOR_KEY_ENCRYPTION_KEY="+testKEK, "NEXIS_MASTER_SECRET="+lobbyMaster, "DIRECTOR_REALTIME_REGION=eu")
	run := func(args ...string) string {
		r := director.Run(t, environ, "", append([]string{"projects"}, args...)...)
		require.NoError(t, r.Err, r.Stderr)
		require.NotContains(t, r.Stderr, lobbyMaster)
		return strings.TrimSpace(r.Stdout)
	}
	decode := func(text string, into any) { require.NoError(t, json.Unmarshal([]byte(text), into)) }

	require.Equal(t, "arena", run("create", "Arena", "--id", "arena"))
	require.Len(t, run("create", "Another"), 36)
	var projects []projectLine
	decode(run("list", "-o", "json"), &projects)
	require.Equal(t, []string{"Another", "Arena"}, []string{projects[0].Name, projects[1].Name})
	require.Equal(t, "eu", projects[1].Region)

	var key projectKeyLine
	decode(run("key", "create", "arena", "--name", "backend", "-o", "json"), &key)
	require.Equal(t, []string{"token:mint"}, key.Scopes)
	raw := run("token", "arena", key.ID, "--sub", "alice", "--ttl", "10m")
	claims, err := token.VerifyProject(raw, func(project, _ string) ([]string, error) {
		return []string{token.ProjectSecret(lobbyMaster, project)}, nil
	}, time.Now())
	require.NoError(t, err)
	require.Equal(t, [3]string{"arena", key.ID, "alice"}, [3]string{claims.ProjectID, claims.KeyID, claims.Subject})
	require.Equal(t, "10m0s", claims.Expires.Sub(claims.IssuedAt).String())
	raw = run("token", "arena", key.ID, "--realtime-key-secrets-only")
	_, err = token.VerifyProject(raw, func(string, string) ([]string, error) { return []string{key.Secret}, nil }, claims.IssuedAt)
	require.NoError(t, err, "the key's own secret signs")

	id, secret, _ := strings.Cut(run("key", "rotate", "arena", key.ID, "--grace", "1h"), " ")
	require.Len(t, secret, 43)
	var keys []projectKeyLine
	decode(run("keys", "arena", "-o", "json"), &keys)
	require.Len(t, keys, 2)
	require.Equal(t, []string{id, "backend-rotated", key.ID}, []string{keys[0].ID, keys[0].Name, *keys[0].RotatedFrom})
	require.Equal(t, int64(2), keys[1].TokensMinted)
	require.Equal(t, "1h0m0s", keys[1].RetiresAt.Sub(*keys[1].RevokedAt).String())
	run("key", "revoke", "arena", id)
	require.NotContains(t, run("keys", "arena"), secret)

	for wrong, args := range map[string][]string{
		"there is no project \"unknown\"; 'director projects list' lists them":                          {"keys", "unknown"},
		"there is no key \"unknown\" of a project \"arena\"; 'director projects keys arena' lists them": {"token", "arena", "unknown"}, "key revoked": {"token", "arena", id},
		"key already revoked": {"key", "rotate", "arena", id}, "it must be 30s to 24h": {"token", "arena", id, "--ttl", "1s"}, "--sub": {"token", "arena", id, "--sub", ""},
		`there is a project with the id "arena"`: {"create", "Arena", "--id", "arena"},
	} {
		r := director.Run(t, environ, "", append([]string{"projects"}, args...)...)
		require.ErrorContains(t, r.Err, wrong)
	}
	r := director.Run(t, env("DATABASE_URL="+url), "", "projects", "token", "arena", key.ID)
	require.ErrorContains(t, r.Err, "set DIRECTOR_REALTIME_MASTER_SECRET")
	require.Contains(t, director.Run(t, environ, "", "__complete", "projects", "key", "revoke", "").Stdout, "arena\n")
}
