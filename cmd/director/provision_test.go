package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/internal/cli/clitest"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/storetest"
	"github.com/lattice-director/director/provider"
	"github.com/lattice-director/director/provider/edgegap/edgegaptest"
)

// Pins a provider that a worker accepts and cannot use: it would fail when players wait for a server.
func TestProvisionSettingsAreComplete(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"DIRECTOR_PROVISION_OWNER":  {"--providers=edgegap"},
		"DIRECTOR_PUBLIC_URL":       {"--providers=manual"},
		"DIRECTOR_EDGEGAP_TOKEN":    {"--providers=edgegap"},
		"DIRECTOR_PROCESS_COMMANDS": {"--providers=process"},
		"DIRECTOR_DOCKER_IMAGES":    {"--providers=docker"},
		"DIRECTOR_AGONES_URL":       {"--providers=agones"},
		"DIRECTOR_AGONES_KUBE_URL":  {"--providers=agones", "--agones-kube-token=/token"},
	} {
		l, err := loadWith(t, args)
		require.NoError(t, err)
		require.ErrorContains(t, l.config.checkProvision(), want)
		require.ErrorContains(t, l.config.checkCommon(), want)
	}
	l, err := loadWith(t, []string{"--providers=process", "--process-commands=arena=/bin/true"})
	require.NoError(t, err)
	require.NoError(t, l.config.checkProvision(), "processes of this machine need no URL and no owner")
	for listening, want := range map[string]string{
		"": "http://127.0.0.1:8080", "[::]:9000": "http://127.0.0.1:9000", "0.0.0.0:9000": "http://127.0.0.1:9000",
		"192.0.2.7:80": "http://192.0.2.7:80",
	} {
		var at net.Addr
		if listening != "" {
			at = net.TCPAddrFromAddrPort(netip.MustParseAddrPort(listening))
		}
		require.Equal(t, want, l.config.replicasURL(at))
	}
	l.config.PublicURL = "https://director.example/eu/"
	require.Equal(t, "https://director.example/eu", l.config.replicasURL(nil))
	owner, err := l.config.deploymentOwner()
	require.NoError(t, err)
	require.Equal(t, provider.Owner("ld-local"), owner)
	l, err = loadWith(t, nil)
	require.NoError(t, err)
	require.NoError(t, l.config.checkProvision())
	require.Empty(t, l.config.ProviderNames)
}

func TestProcessCommands(t *testing.T) {
	t.Parallel()
	l, err := loadWith(t, nil, "DIRECTOR_PROCESS_COMMANDS=arena=/usr/bin/arena server --modes duel,ffa; b=/b --port=${LATTICE_PORT_GAME}")
	require.NoError(t, err)
	require.Equal(t, map[string][]string{
		"arena": {"/usr/bin/arena", "server", "--modes", "duel,ffa"}, "b": {"/b", "--port=${LATTICE_PORT_GAME}"},
	}, l.config.Processes.Commands)
}

// Pins the key of a provider in the printed settings.
func TestProviderKeysAreNotPrinted(t *testing.T) {
	t.Parallel()
	const key = "token edgegap-key-0123456789"
	for _, variable := range []string{"DIRECTOR_EDGEGAP_TOKEN", "EDGEGAP_API_KEY"} {
		r := director.Run(t, env(variable+"="+key), "", "serve", "--print-config")
		require.NoError(t, r.Err)
		require.NotContains(t, r.Stdout+r.Stderr, "edgegap-key")
	}
	_, err := loadWith(t, nil, "DIRECTOR_EDGEGAP_TOKEN=short")
	require.ErrorContains(t, err, "the secret (from the environment DIRECTOR_EDGEGAP_TOKEN) is not allowed")
	require.NotContains(t, err.Error(), "short")
}

const insertPool = `WITH v AS (
    INSERT INTO app_versions (app, version, provider, launch, launch_version, ports, game_port, modes, capacity, max_players)
    VALUES ($1, $2, $3, $4, $5, '[{"name":"game","internal":5000,"protocol":"udp"}]', 'game', ARRAY['ffa'], 8, 8))
INSERT INTO pools (region, app, version, max_servers) VALUES ('eu', $1, $2, 3)`

// Pins a check that does not see what would fail at the next start of a server.
func TestProvidersCheck(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	fake := edgegaptest.New(edgegaptest.Options{})
	t.Cleanup(fake.Close)
	api := httptest.NewServer(fake)
	t.Cleanup(api.Close)
	dir := t.TempDir()
	game := filepath.Join(dir, "game")
	require.NoError(t, os.WriteFile(game, []byte("#!/bin/sh\n"), 0o700))
	environ := env("DATABASE_URL="+url, "DIRECTOR_PROVIDERS=process,edgegap,manual", "DIRECTOR_PROVISION_OWNER=test",
		"DIRECTOR_PUBLIC_URL=https://d.example",
		"DIRECTOR_EDGEGAP_TOKEN=edgegap-test-key", "DIRECTOR_EDGEGAP_URL="+api.URL, "DIRECTOR_PROCESS_DIR="+dir,
		fmt.Sprintf("DIRECTOR_PROCESS_COMMANDS=game=%s;gone=%s", game, game+"-gone"))

	listed := clitest.Read[[]providerLine](t, director, environ, "providers", "list")
	require.Len(t, listed, 3)
	require.Equal(t, providerLine{Provider: "edgegap", List: true, Stop: true, Webhooks: true, MaxLifetime: 86400,
		Rates: provider.Rates{Deploy: 40, Get: 20, List: 10, Stop: 10}}, listed[0])
	require.Equal(t, providerLine{Provider: "manual", NativeNames: true}, listed[1])

	none := 0
	require.Equal(t, []providerCheck{
		{Provider: "edgegap", Servers: &none}, {Provider: "manual"}, {Provider: "process", Servers: &none},
	}, clitest.Read[[]providerCheck](t, director, environ, "providers", "check"))

	store := storetest.OnDatabase(t, url)
	for _, version := range [][]any{
		{"cloud", "1", "edgegap", "arena", "1.0"}, {"cloud", "2", "edgegap", "no-such-app", "1.0"},
		{"local", "1", "process", "game", ""}, {"local", "2", "process", "gone", ""},
		{"local", "3", "process", "/bin/sh", ""}, {"elsewhere", "1", "docker", "arena", "1"},
	} {
		store.Exec(insertPool, version...)
	}
	r := director.Run(t, environ, "", "providers", "check", "-o", "json")
	require.ErrorContains(t, r.Err, "3 of 8 checks failed")
	var checks []providerCheck
	require.NoError(t, json.Unmarshal([]byte(r.Stdout), &checks))
	failed := map[string]string{}
	for _, c := range checks {
		if c.Error != "" {
			failed[c.App+c.Version] = c.Error
		}
	}
	require.Len(t, failed, 3)
	require.Contains(t, failed["cloud2"], "no-such-app")
	require.Contains(t, failed["local2"], "no such file")
	require.Contains(t, failed["local3"], "no command")

	bad := director.Run(t, append(environ, "DIRECTOR_EDGEGAP_TOKEN=another-key-0123456789"), "", "providers", "check")
	require.Error(t, bad.Err)
	require.Contains(t, bad.Stdout, "Invalid token")
	require.NotContains(t, bad.Stdout+bad.Stderr, "another-key")
}

// declare adds app versions with a pool each.
func TestProvidersWithoutSettings(t *testing.T) {
	t.Parallel()
	r := director.Run(t, env(), "", "providers", "list")
	require.Equal(t, 2, cli.ExitCode(r.Err))
	require.Contains(t, r.Stderr, "set DIRECTOR_PROVIDERS")
}
