package main

import (
	"bytes"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/keytest"
	"github.com/lattice-director/director/server/realtime"
	"github.com/lattice-director/director/token"
)

const (
	lobbyMaster = "lobby-master-secret-0123"
	lobbyToken  = "lobby-internal-token-0123"
)

// Pins the names and the syntax of Nexis, over which those of the director win.
func TestNexisVariables(t *testing.T) {
	t.Parallel()
	l, err := loadWith(t, nil, "DIRECTOR_REALTIME_ADDR=:4000", "DIRECTOR_REALTIME_CONTROL_ADDR=:3000",
		"NEXIS_AUTH_MODE=optional", "NEXIS_MASTER_SECRET="+lobbyMaster,
		"NEXIS_INTERNAL_TOKEN="+lobbyToken+", second-internal-token", `NEXIS_PROJECT_SECRETS={"p1":"a-secret-of-p1-0123456"}`, "NEXIS_REQUIRE_KEY_ID=off",
		"NEXIS_SESSION_TTL_SECONDS=45", "NEXIS_MATCHMAKING_TICKET_TTL_SECONDS=90", `NEXIS_ROOM_TYPE_PLUGINS={"town":{"topic":"x"}}`,
		"NEXIS_ALLOWED_ORIGINS=https://a.example,https://b.example")
	require.NoError(t, err)
	require.NoError(t, l.config.checkRealtime())
	sealer := keytest.Sealer(t, 0)
	o, err := l.config.realtimeOptions(sealer)
	require.NoError(t, err)
	_, known := o.RoomTypes.LookupType("town")
	require.True(t, known)
	_, known = o.RoomTypes.LookupType("counter_room")
	require.False(t, known)
	o.RoomTypes = nil
	require.Equal(t, &realtime.Options{
		Addr: ":4000", Region: "global", AuthMode: realtime.AuthOptional, MasterSecret: lobbyMaster,
		ProjectSecrets: map[string]string{"p1": "a-secret-of-p1-0123456"},
		Sealer:         sealer, SessionTTL: 45 * time.Second, TicketTTL: 90 * time.Second,
		MaxConnections: 20_000,
	}, o)
	control := l.config.projectsOptions(sealer)
	require.Equal(t, ":3000", control.Addr)
	require.Equal(t, []string{lobbyToken, "second-internal-token"}, control.Options.Tokens)
	require.Equal(t, []string{"https://a.example", "https://b.example"}, control.Options.CORSOrigins)
	require.Equal(t, token.ProjectSecrets{Master: lobbyMaster, Projects: o.ProjectSecrets, Sealer: sealer},
		control.Options.Secrets)

	l, err = loadWith(t, nil, "DIRECTOR_REALTIME_ADDR=:4000", "DIRECTOR_REALTIME_AUTH=disabled",
		"NEXIS_AUTH_MODE=required", "DIRECTOR_REALTIME_SESSION_TTL=1m",
		"NEXIS_SESSION_TTL_SECONDS=45", "DIRECTOR_REALTIME_CONFORMANCE=true")
	require.NoError(t, err)
	o, err = l.config.realtimeOptions(sealer)
	require.NoError(t, err)
	require.Equal(t, realtime.AuthDisabled, o.AuthMode)
	require.Equal(t, time.Minute, o.SessionTTL)
	require.True(t, o.RequireKey)
	_, known = o.RoomTypes.LookupType("counter_room")
	require.True(t, known)
	require.Nil(t, l.config.projectsOptions(sealer))

	l, err = loadWith(t, nil, "NEXIS_MASTER_SECRET="+lobbyMaster)
	require.NoError(t, err)
	o, err = l.config.realtimeOptions(sealer)
	require.NoError(t, err)
	require.Nil(t, o, "Nexis has no variable for the address of clients")
}

// Pins a start with which anybody could make tokens, and an error that quotes a secret.
func TestTheRealtimeLobbyRefusesToStartWithoutSecrets(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		environ []string
		err     string
	}{
		{[]string{"DIRECTOR_REALTIME_ADDR=:4000"}, "set DIRECTOR_REALTIME_MASTER_SECRET"},
		{[]string{"DIRECTOR_REALTIME_ADDR=:4000", "NEXIS_AUTH_MODE=optional"}, "set DIRECTOR_REALTIME_MASTER_SECRET"},
		{[]string{"DIRECTOR_REALTIME_CONTROL_ADDR=:3000", "NEXIS_AUTH_MODE=disabled",
			"NEXIS_INTERNAL_TOKEN=" + lobbyToken}, "set DIRECTOR_REALTIME_MASTER_SECRET"},
		{[]string{"DIRECTOR_REALTIME_CONTROL_ADDR=:3000", "NEXIS_MASTER_SECRET=" + lobbyMaster},
			"set DIRECTOR_REALTIME_INTERNAL_TOKEN"},
		{[]string{"NEXIS_INTERNAL_TOKEN=" + lobbyMaster, "NEXIS_MASTER_SECRET=" + lobbyMaster},
			"is also in DIRECTOR_REALTIME_INTERNAL_TOKEN"},
	} {
		l, err := loadWith(t, nil, c.environ...)
		require.NoError(t, err)
		err = l.config.checkRealtime()
		require.ErrorContains(t, err, c.err, "%v", c.environ)
		require.NotContains(t, err.Error(), lobbyMaster)
		require.NotContains(t, err.Error(), lobbyToken)
	}
	for _, good := range [][]string{
		nil,
		{"DIRECTOR_REALTIME_ADDR=:4000", "NEXIS_AUTH_MODE=disabled"},
		{"DIRECTOR_REALTIME_ADDR=:4000", "DIRECTOR_REALTIME_KEY_SECRETS_ONLY=true"},
		{"DIRECTOR_REALTIME_ADDR=:4000", "DIRECTOR_REALTIME_CONTROL_ADDR=:3000", "NEXIS_MASTER_SECRET=" + lobbyMaster,
			"NEXIS_INTERNAL_TOKEN=" + lobbyToken},
	} {
		l, err := loadWith(t, nil, good...)
		require.NoError(t, err)
		require.NoError(t, l.config.checkRealtime(), "%v", good)
	}
	_, err := loadWith(t, nil, `NEXIS_ROOM_TYPE_PLUGINS={"a":{"logic":"none"}}`)
	require.ErrorContains(t, err, `room type "a": key "logic" must be`)
	for _, bad := range []string{
		"NEXIS_MASTER_SECRET=fifteen-bytes-x", "NEXIS_INTERNAL_TOKEN=fifteen-bytes-x", `NEXIS_PROJECT_SECRETS={"p1":"fifteen-bytes-x"}`,
		`NEXIS_PROJECT_SECRETS={"p 1":"sixteen-bytes-xyz"}`, "NEXIS_PROJECT_SECRETS=sixteen-bytes-xyz",
	} {
		_, err := loadWith(t, nil, bad)
		require.ErrorContains(t, err, "the secret (from the environment NEXIS_", bad)
		require.NotContains(t, err.Error(), "bytes-x")
	}
}

// Who moves from Nexis sees which of its variables do nothing here.
func TestNexisVariablesWithoutEffectAreNamedOnce(t *testing.T) {
	t.Parallel()
	environ := newEnvironment([]string{"NEXIS_WASM_ROOM_PLUGINS={}", "NEXIS_METRICS_BIND=x",
		"NEXIS_MASTER_SECRET=" + lobbyMaster, "NEXIS_REQUIRE_KEY_ID=true", "OTHER=1"})
	l, err := loadWith(t, nil, environ.osPairs()...)
	require.NoError(t, err)
	var log bytes.Buffer
	l.warnRealtime(t.Context(), slog.New(slog.NewTextHandler(&log, nil)))
	require.Contains(t, log.String(), "variables=NEXIS_METRICS_BIND,NEXIS_WASM_ROOM_PLUGINS\n")
	require.Contains(t, log.String(), "neither DIRECTOR_REALTIME_ADDR nor DIRECTOR_REALTIME_CONTROL_ADDR is set")
	require.NotContains(t, log.String(), lobbyMaster)

	log.Reset()
	l, err = loadWith(t, nil, "DIRECTOR_REALTIME_ADDR=:4000", "NEXIS_AUTH_MODE=optional")
	require.NoError(t, err)
	l.warnRealtime(t.Context(), slog.New(slog.NewTextHandler(&log, nil)))
	require.Contains(t, log.String(), "serves clients without tokens")
	require.NotContains(t, log.String(), "no effect")
}
