package main

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Pins the names and the syntax of upstream's orchestrator, over which those of the director win.
func TestUpstreamOrchestratorsVariables(t *testing.T) {
	t.Parallel()
	l, err := loadWith(t, nil, "FLEET_PORT=7000", "FLEET_AGENT_KEY=agent-key-0123456789 , second-key-0123456789",
		"FLEET_ADMIN_KEY=admin-key-0123456789",
		"FLEET_HEARTBEAT_MS=2500",
		"FLEET_CORS_ORIGINS=https://a.example,https://b.example", "FLEET_SSE_QUERY_AUTH=true",
		"FLEET_TRUST_PROXY=true", "FLEET_LOG_LEVEL=trace")
	require.NoError(t, err)
	o := l.config.orchestratorOptions()
	require.Equal(t, "0.0.0.0:7000", o.Options.Addr)
	require.Equal(t, []string{"agent-key-0123456789", "second-key-0123456789"}, o.Options.AgentKeys)
	require.Equal(t, []string{"admin-key-0123456789"}, o.AdminKeys)
	require.Equal(t, 2500*time.Millisecond, o.Options.Heartbeat)
	require.Equal(t, []string{"https://a.example", "https://b.example"}, o.CORSOrigins)
	require.True(t, o.SSEQueryAuth)
	require.Empty(t, o.Options.TrustedProxies, "FLEET_TRUST_PROXY has no effect any more")
	require.Equal(t, "debug", l.config.LogLevel)
	require.Equal(t, fromEnv("FLEET_PORT"), l.sourceOf("orchestrator-addr"))

	l, err = loadWith(t, nil, "FLEET_HOST=::1", "DIRECTOR_ORCHESTRATOR_HEARTBEAT=3s", "FLEET_HEARTBEAT_MS=2500",
		"FLEET_LOG_LEVEL=warn", "DIRECTOR_LOG_LEVEL=error",
		"FLEET_TRUST_PROXY=true", "DIRECTOR_TRUSTED_PROXIES=10.0.0.0/8")
	require.NoError(t, err)
	o = l.config.orchestratorOptions()
	require.Equal(t, "[::1]:7350", o.Options.Addr)
	require.Equal(t, 3*time.Second, o.Options.Heartbeat)
	require.Equal(t, "error", l.config.LogLevel)
	require.Equal(t, []string{"10.0.0.0/8"}, l.config.Server.TrustedProxies)

	for _, bad := range []string{"FLEET_HEARTBEAT_MS=5s", "FLEET_HEARTBEAT_MS=19", "FLEET_PORT=http",
		"FLEET_LOG_LEVEL=loud"} {
		_, err := loadWith(t, nil, bad)
		name, _, _ := strings.Cut(bad, "=")
		require.ErrorContains(t, err, "(from the environment "+name+") is not allowed", bad)
	}
	l, err = loadWith(t, nil)
	require.NoError(t, err)
	require.Nil(t, l.config.orchestratorOptions())
}

// Pins a start with keys that let game servers command others, or with an API without keys, and an error that quotes a
// key.
func TestKeysOfTheOrchestrator(t *testing.T) {
	t.Parallel()
	const one, two = "a-key-for-one-purpose-0123456789abcdef", "a-short-key-012345"
	for _, c := range []struct {
		environ []string
		err     string
	}{
		{[]string{"FLEET_AGENT_KEY=" + one + "," + two, "FLEET_ADMIN_KEY=" + two},
			"both in DIRECTOR_ORCHESTRATOR_AGENT_KEYS and in DIRECTOR_ORCHESTRATOR_ADMIN_KEYS"},
		{[]string{"FLEET_PORT=7350", "FLEET_AGENT_KEY=" + one}, "set DIRECTOR_ORCHESTRATOR_ADMIN_KEYS"},
	} {
		l, err := loadWith(t, nil, c.environ...)
		require.NoError(t, err)
		err = l.config.checkOrchestrator()
		require.ErrorContains(t, err, c.err)
		require.NotContains(t, err.Error(), one)
		require.NotContains(t, err.Error(), two)
	}
	for _, good := range [][]string{
		{"FLEET_PORT=7350", "FLEET_ADMIN_KEY=" + one}, // keys of agents may be rows
	} {
		l, err := loadWith(t, nil, good...)
		require.NoError(t, err)
		require.NoError(t, l.config.checkOrchestrator())
	}

	var log bytes.Buffer
	l, err := loadWith(t, nil, "FLEET_AGENT_KEY="+one, "FLEET_ADMIN_KEY="+two)
	require.NoError(t, err)
	l.config.warnOrchestrator(t.Context(), slog.New(slog.NewTextHandler(&log, nil)))
	require.Contains(t, log.String(), "Rivalis is not served: DIRECTOR_ORCHESTRATOR_ADDR is not set")
	require.Contains(t, log.String(), "fewer than 32 characters")
	require.Contains(t, log.String(), "DIRECTOR_ORCHESTRATOR_ADMIN_KEYS")
	require.NotContains(t, log.String(), "AGENT_KEYS")
	require.NotContains(t, log.String(), two)
}
