package poolfile_test

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/provisioning/poolfile"
	"github.com/lattice-director/director/provider"
	"github.com/lattice-director/director/token/netcode"
)

const arena = `apps:
  - app: arena
    version: 1.10
    provider: process
    launch: arena
    ports:
      - {name: game, protocol: udp}
      - name: web
        internal: 8080
        protocol: tcp
    game_port: game
    endpoint: ws://{ip}:{port}/play
    modes: [duel, 2v2]
    capacity: 16
    max_players: 4
    max_sessions: 3
    env: {LOG: debug, RATE: 30, "ON": true}
    resources: {cpu_units: 512, memory_mib: 256}
    start_within: 90s
    netcode: {dialect: lightyear-be, protocol_id: 18446744073709551615}
    digest_required: true
    compat: arbitrium
    fallback: {provider: agones, launch: fleet, launch_version: 1.10}
pools:
  - region: eu
    app: arena
    version: 1.10
    min: 1
    max: 20
    buffer: 25%
    max_starting: 5
    empty_ttl: 2m
    coordinates: {latitude: 52.5, longitude: -13}
    networks: [192.0.2.0/24, "2001:db8::/32"]
    modes: [duel]
  - {region: us, app: arena, version: "1.10", max: 5, buffer: 2}
`

func TestParse(t *testing.T) {
	t.Parallel()
	f, err := poolfile.Parse([]byte(arena))
	require.NoError(t, err)
	three := 3
	require.Equal(t, []provision.AppVersion{{
		App: "arena", Version: "1.10", Provider: "process", Launch: "arena", GamePort: "game", Endpoint: "ws://{ip}:{port}/play",
		Ports: []provision.AppPort{{Name: "game", Protocol: provider.UDP}, {Name: "web", Internal: 8080, Protocol: provider.TCP}},
		Modes: []string{"duel", "2v2"}, Capacity: 16, MaxPlayers: 4, MaxSessions: &three, Env: map[string]string{"LOG": "debug", "RATE": "30", "ON": "true"},
		CPUUnits: 512, MemoryMiB: 256, StartWithin: 90 * time.Second, Dialect: netcode.LightyearBE, ProtocolID: 1<<64 - 1, DigestRequired: true, Compat: "arbitrium",
		Fallback: &provision.AppFallback{Provider: "agones", Launch: "fleet", LaunchVersion: "1.10"},
	}}, f.Apps)
	require.Equal(t, []provision.Pool{
		{
			Region: "eu", App: "arena", Version: "1.10", Min: 1, Max: 20, Buffer: 25, BufferPercent: true, MaxStarting: 5, EmptyTTL: 2 * time.Minute,
			Coords:   &provider.Coords{Latitude: 52.5, Longitude: -13},
			Networks: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("2001:db8::/32")}, Modes: []string{"duel"},
		},
		{Region: "us", App: "arena", Version: "1.10", Max: 5, Buffer: 2},
	}, f.Pools)
}

func TestParseTellsNoModesFromAllModes(t *testing.T) {
	t.Parallel()
	f, err := poolfile.Parse([]byte("pools: [{region: eu, app: a, version: b, max: 1, modes: []}, {region: us, app: a, version: b, max: 1}]"))
	require.NoError(t, err)
	require.NotNil(t, f.Pools[0].Modes)
	require.Nil(t, f.Pools[1].Modes)
}

// Each document is the one above with one change.
func TestParseNamesLineAndField(t *testing.T) {
	t.Parallel()
	for want, change := range map[string][2]string{
		`line 14, column 15: apps[0].capacity: must be 4 to 100000, not 3`:                             {"capacity: 16", "capacity: 3"},
		`line 4, column 15: apps[0].provider: "proces" must be one of`:                                 {"provider: process", "provider: proces"},
		`line 7, column 32: apps[0].ports[0].protocol: "sctp" must be udp or tcp`:                      {"protocol: udp", "protocol: sctp"},
		`line 8, column 15: apps[0].ports[1].name: "game" occurs twice`:                                {"name: web", "name: game"},
		`line 19, column 19: apps[0].start_within: "90" must be a duration`:                            {"start_within: 90s", "start_within: 90"},
		`line 29, column 10: pools[0].max: must be 0 to 100000, not -1`:                                {"max: 20", "max: -1"},
		`line 30, column 13: pools[0].buffer: "x" must be a number of servers or a share of them`:      {"buffer: 25%", "buffer: x"},
		`line 34, column 16: pools[0].networks[0]: "192.0.2.0" must be a network such as 192.0.2.0/24`: {"192.0.2.0/24", "192.0.2.0"},
		`line 35, column 12: pools[0].modes: app version arena/1.10 does not offer "solo"`:             {"modes: [duel]", "modes: [solo]"},
		`line 10, column 9: unknown field "protokol"`:                                                  {"protocol: tcp", "protokol: tcp"},
		`line 10, column 19: apps[0].ports[1].protocol: this must be text`:                             {"protocol: tcp", "protocol: [tcp]"},
		`line 14, column 15: apps[0].capacity: "many" must be a whole number`:                          {"capacity: 16", "capacity: many"},
		`line 9, column 19: apps[0].ports[1].internal: "65536" must be a whole number from 0 to 65535`: {"internal: 8080", "internal: 65536"},
		`line 20, column 51: apps[0].netcode.protocol_id: "1.5" must be a whole number from 0 to`:      {"protocol_id: 18446744073709551615", "protocol_id: 1.5"},
		`line 2, column 10: "&" is not allowed: write the value out`:                                   {"app: arena", "app: &a arena"},
		`line 5, column 5: mapping key "version" already defined`:                                      {"launch: arena", "version: 2"},
	} {
		_, err := poolfile.Parse([]byte(strings.Replace(arena, change[0], change[1], 1)))
		var refused *poolfile.Error
		require.ErrorAs(t, err, &refused, change[1])
		if !strings.HasPrefix(refused.Problems[0].String(), want) {
			t.Errorf("%s:\nwant %s\ngot  %s", change[1], want, refused)
		}
	}
}

// Pins an error that speaks of types of Go.
func TestParseNamesTheKindThatIsExpected(t *testing.T) {
	t.Parallel()
	for document, want := range map[string]string{
		"apps: {app: arena}":               "1:7: apps: this must be a list, as [a, b]",
		"apps: arena":                      "1:7: apps: this must be a list, as [a, b]",
		"pools: 7":                         "1:8: pools: this must be a list, as [a, b]",
		"apps: [arena]":                    "1:8: apps[0]: this must be a mapping, as {key: value}",
		"apps: [{modes: duel}]":            "1:16: apps[0].modes: this must be a list, as [a, b]",
		"apps: [{ports: {name: game}}]":    "1:16: apps[0].ports: this must be a list, as [a, b]",
		"apps: [{ports: [7777]}]":          "1:17: apps[0].ports[0]: this must be a mapping, as {key: value}",
		"apps: [{env: [a]}]":               "1:14: apps[0].env: this must be a mapping, as {key: value}",
		"apps: [{env: a}]":                 "1:14: apps[0].env: this must be a mapping, as {key: value}",
		"apps: [{fallback: docker}]":       "1:19: apps[0].fallback: this must be a mapping, as {key: value}",
		"apps: [{netcode: yes}]":           "1:18: apps[0].netcode: this must be a mapping, as {key: value}",
		"apps: [{resources: 4}]":           "1:20: apps[0].resources: this must be a mapping, as {key: value}",
		"apps: [{digest_required: maybe}]": "1:26: apps[0].digest_required: this must be true or false",
		"pools: [{networks: 10.0.0.0/8}]":  "1:20: pools[0].networks: this must be a list, as [a, b]",
		"pools: [{modes: duel}]":           "1:17: pools[0].modes: this must be a list, as [a, b]",
		"pools: [{coordinates: here}]":     "1:23: pools[0].coordinates: this must be a mapping, as {key: value}",
		"7":                                "1:1: this must be a mapping, as {key: value}",
		"[a]":                              "1:1: this must be a mapping, as {key: value}",
	} {
		_, err := poolfile.Parse([]byte(document))
		var refused *poolfile.Error
		require.ErrorAs(t, err, &refused, document)
		at, text, _ := strings.Cut(want, ": ")
		path, text, _ := strings.Cut(text, ": ")
		require.Equal(t, at+": "+text, strings.Replace(refused.Problems[0].InFile("f"), path+": ", "", 1)[len("f:"):], document)
		require.NotContains(t, err.Error(), "poolfile")
	}
}

func TestParseRefusesWhatIsNoDocument(t *testing.T) {
	t.Parallel()
	for name, document := range map[string]string{
		"empty": "", "comment": "# nothing", "text": "hello", "list": "- a", "nothing": "{}", "two": "apps: []\n---\npools: []\n", "binary": "\xff\xfe",
		"nul": "apps:\x00", "large": strings.Repeat("# comment\n", 30000), "list as text": "apps: [{app: [a]}]", "deep": strings.Repeat("[", 5000), "dashes": strings.Repeat("- ", 5000),
		"other": "name: arena", "negative port": "apps: [{ports: [{internal: -1}]}]", "large port": "apps: [{ports: [{internal: 65536}]}]",
	} {
		_, err := poolfile.Parse([]byte(document))
		var refused *poolfile.Error
		require.ErrorAs(t, err, &refused, name)
		require.NotEmpty(t, refused.Problems, name)
	}
}

func TestLocateAddsTheLine(t *testing.T) {
	t.Parallel()
	f, err := poolfile.Parse([]byte(arena))
	require.NoError(t, err)
	for path, line := range map[string]int{"pools[1].modes": 36, "apps[0].capacity": 14, "apps[0].grace": 2, "": 1} {
		err := f.Locate(&fault.Error{Kind: fault.Conflict, Detail: "x", Field: path})
		var refused *poolfile.Error
		if path == "" {
			require.True(t, fault.Is(err, fault.Conflict))
			continue
		}
		require.ErrorAs(t, err, &refused)
		require.Equal(t, line, refused.Problems[0].Line, path)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(arena))
	f.Add([]byte("pools: [{region: eu, app: a, version: b, max: 1, modes: []}]"))
	f.Fuzz(func(t *testing.T, document []byte) {
		late := time.AfterFunc(10*time.Second, func() { panic("the document takes too long") })
		defer late.Stop()
		file, err := poolfile.Parse(document)
		if err != nil {
			var refused *poolfile.Error
			require.ErrorAs(t, err, &refused)
			require.NotEmpty(t, refused.Problems)
			return
		}
		require.Empty(t, provision.CheckPools(file.Apps, file.Pools))
	})
}

// Pins networks of players in the notation of IPv6, which no player's address matched: it is that of IPv4.
func TestParseReadsMappedNetworks(t *testing.T) {
	t.Parallel()
	file, err := poolfile.Parse([]byte(strings.Replace(arena, "192.0.2.0/24", `"::ffff:192.0.2.0/120"`, 1)))
	require.NoError(t, err)
	require.Equal(t, netip.MustParsePrefix("192.0.2.0/24"), file.Pools[0].Networks[0])
}
