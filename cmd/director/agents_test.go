package main

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/internal/cli/clitest"
	"github.com/lattice-director/director/internal/doctor"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/storetest"
)

func TestAgentKeys(t *testing.T) {
	t.Parallel()
	environ := env("DATABASE_URL=" + dbtest.New(t))
	require.Equal(t, "[]\n", director.OK(t, environ, "agents", "key", "list", "-o", "json"), "never null")

	made := clitest.Read[agentKeyLine](t, director, environ, "agents", "key", "create", "--name", "eu1", "--label",
		"region=eu", "--label", "tier=1", "--agent-name", "eu0")
	digest := sha256.Sum256([]byte(made.Key))
	require.Equal(t, "key#"+hex.EncodeToString(digest[:4]), made.Fingerprint)
	require.Equal(t, map[string]string{"region": "eu", "tier": "1"}, made.Labels)
	require.Equal(t, "eu0", *made.AgentName)

	printed := director.Run(t, environ, "", "agents", "key", "create", "--name", "any")
	require.NoError(t, printed.Err)
	require.Regexp(t, `^[A-Za-z0-9_-]{43}\n$`, printed.Stdout, "a script takes the output as the key")
	require.Contains(t, printed.Stderr, "cannot be shown again")
	require.NotContains(t, printed.Stderr, strings.TrimSpace(printed.Stdout))
	require.ErrorContains(t, director.Run(t, environ, "", "agents", "key", "create", "--name", "eu1").Err, `a key of agents with the name "eu1"`)
	require.ErrorContains(t, director.Run(t, environ, "", "agents", "key", "create", "--name", "e u").Err,
		"a name has 1 to 64 letters")
	require.Equal(t, 2, cli.ExitCode(director.Run(t, environ, "", "agents", "key", "create").Err))

	keys := clitest.Read[[]agentKeyLine](t, director, environ, "agents", "key", "list")
	require.Len(t, keys, 2)
	require.Nil(t, keys[0].AgentName)
	require.Equal(t, made.Fingerprint, keys[1].Fingerprint)
	listed := director.OK(t, environ, "agents", "key", "list")
	require.Contains(t, listed, made.Fingerprint)
	require.Contains(t, listed, "region=eu,tier=1")
	require.NotContains(t, listed, made.Key)
	require.Empty(t, clitest.Read[[]agentKeyLine](t, director, environ, "agents", "key", "list",
		"--orchestrator-region", "eu"))

	require.Equal(t, []changeLine{{"eu1", true}},
		clitest.Read[[]changeLine](t, director, environ, "agents", "key", "revoke", "eu1"))
	require.ErrorContains(t, director.Run(t, environ, "", "agents", "key", "revoke", "eu1").Err, "no key of agents")
	require.Len(t, clitest.Read[[]agentKeyLine](t, director, environ, "agents", "key", "list"), 1)
	require.Contains(t, director.OK(t, environ, "events", "-o", "json"), "agent_key.revoked")
}

func TestAgents(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	environ := env("DATABASE_URL=" + url)
	require.Equal(t, "[]\n", director.OK(t, environ, "agents", "list", "-o", "json"), "never null")
	store := storetest.OnDatabase(t, url)
	replica, err := store.BeginReplica(t.Context(), "global")
	require.NoError(t, err)
	joinAgent(t, store.Store, replica, "562cfc2cbeef8cf4", "eu0")
	joinAgent(t, store.Store, replica, "562cfc2cbeef8cf5", "eu1")

	_, found, _ := examined(t, environ)
	require.Equal(t, "region global: 2 of 2 Rivalis game servers connected, 0 of them draining", found["agents"].Says)
	require.Equal(t, doctor.OK, found["fleet"].State, "Rivalis game servers need not be instances: %s",
		found["fleet"].Says)
	agents := clitest.Read[[]opsview.Agent](t, director, environ, "agents", "list")
	require.Len(t, agents, 2)
	require.Equal(t, "eu0", agents[0].Name)
	require.Equal(t, "connected", agents[0].State)
	require.EqualValues(t, 1, agents[0].Rooms)
	require.Nil(t, agents[0].MaxRooms)
	require.Len(t, clitest.Read[[]opsview.Agent](t, director, environ, "agents", "list", "--name", "eu1", "--type",
		"match"), 1)
	require.Empty(t, clitest.Read[[]opsview.Agent](t, director, environ, "agents", "list", "--type", "race"))
	require.Contains(t, director.OK(t, environ, "agents", "list", "--wide"), "wss://eu0.example")

	drained := clitest.Read[[]changeLine](t, director, environ, "agents", "drain", "562cfc2cbeef8cf4",
		"562cfc2cbeef8cf5")
	require.Equal(t, []changeLine{{"562cfc2cbeef8cf4", true}, {"562cfc2cbeef8cf5", true}}, drained)
	agents = clitest.Read[[]opsview.Agent](t, director, environ, "agents", "list")
	require.Equal(t, "draining", agents[0].Status)
	require.True(t, agents[0].DrainKept)
	_, found, _ = examined(t, environ)
	require.Equal(t, doctor.Fail, found["agents"].State, "all drain: %s", found["agents"].Says)
	require.Equal(t, []changeLine{{"562cfc2cbeef8cf4", true}},
		clitest.Read[[]changeLine](t, director, environ, "agents", "undrain", "562cfc2cbeef8cf4"))
	require.Equal(t, []changeLine{{"562cfc2cbeef8cf4", false}},
		clitest.Read[[]changeLine](t, director, environ, "agents", "undrain", "562cfc2cbeef8cf4"))
	require.ErrorContains(t, director.Run(t, environ, "", "agents", "drain", "0000000000000000").Err,
		"there is no agent")

	completed := director.OK(t, environ, "__complete", "agents", "undrain", "562c")
	require.Contains(t, completed, "562cfc2cbeef8cf5")
	require.NotContains(t, completed, "562cfc2cbeef8cf4")
}

func joinAgent(t *testing.T, store *db.Store, replica uuid.UUID, id, name string) {
	t.Helper()
	must.Get(store.JoinAgent(t.Context(), db.AgentJoin{
		Ref: db.AgentRef{Region: "global", ID: id, ReplicaID: replica}, KeyFingerprint: "key#00000000",
		Content: db.AgentContent{
			Name: name, ProcessUID: "p_" + id, AgentVersion: "8.0.0", ProtocolVersion: 3,
			EndpointURL: "wss://" + name + ".example", RoomTypes: []string{"match"},
			Labels: map[string]string{"region": "eu"}, AutoCreate: true, Status: "active",
		},
		ReportedRooms: []db.ReportedRoom{{RawID: "lobby", Type: "match", ConnectionCount: 2, IsLocal: true}},
		StateHash:     "h", ReplySeq: 1,
	}))(t)
}
