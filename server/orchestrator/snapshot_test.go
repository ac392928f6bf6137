package orchestrator

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
)

// endpoints, and whether Node's new URL accepts them with a scheme that is allowed.
var endpoints = map[string]bool{
	"wss://eu0.game.example.com":      true,
	"WSS://X":                         true,
	"http:x":                          true,
	"  https://x/y?z#f \t\n":          true,
	"ws://[::1]:7350/a b":             true,
	"ws://127.1":                      true,
	"wss://ü.example":                 true,
	"http://user:password@host:65535": true,
	"https:\\\\x\\y":                  true,
	"w\nss://x":                       true,
	"wss://":                          false,
	"wss://x y":                       false,
	"":                                false,
	"x":                               false,
	"//x":                             false,
	"/x":                              false,
	"javascript:alert(1)":             false,
	"ftp://x":                         false,
	"file:///etc/passwd":              false,
	"wss://x:65536":                   false,
	"wss://a%00b":                     false,
	"ws://1.2.3.4.5":                  false,
	"ws://[::1":                       false,
	"wss://<x>":                       false,
}

func TestEndpoints(t *testing.T) {
	t.Parallel()
	for endpoint, valid := range endpoints {
		err := (&snapshot{endpointURL: endpoint}).checkEndpoint()
		require.Equal(t, valid, err == nil, "%q: %v", endpoint, err)
	}
}

// acceptable is a full state at every limit.
func acceptable() state {
	s := state{isFull: true, snapshot: snapshot{
		endpointURL: "wss://" + strings.Repeat("x", maxEndpointUnits-6), name: strings.Repeat("𝔸", maxNameUnits/2),
		labels:    map[string]string{},
		roomTypes: slices.Repeat([]string{strings.Repeat("ü", maxRoomTypeUnits)}, maxRoomTypes),
	}}
	for i := range maxLabels {
		s.snapshot.labels[fmt.Sprintf("%0*d", maxLabelUnits, i)] = strings.Repeat("€", maxLabelUnits)
	}
	for i := range maxRooms {
		s.snapshot.rooms = append(s.snapshot.rooms,
			room{fmt.Sprintf("%0*d", maxRoomIDUnits, i), strings.Repeat("t", maxRoomTypeUnits), maxRoomConnections,
				true})
	}
	s.snapshot.rooms[0].rawID = "\x00"
	return s
}

func TestSnapshotsAtTheLimitsAreAccepted(t *testing.T) {
	t.Parallel()
	s := acceptable()
	require.NoError(t, s.checkLimits())
	require.NoError(t, (&state{snapshot: snapshot{endpointURL: "ws://x"}}).checkLimits(),
		"name, processUid and status may be empty")
}

// In the order in which upstream checks: while several limits are exceeded, the first of them is named.
func TestTheFirstLimitThatIsExceededIsNamed(t *testing.T) {
	t.Parallel()
	s := acceptable()
	c := &s.snapshot
	cases := []struct {
		reason string
		breaks func()
		mends  func()
	}{
		{"endpointUrl has more than 512 characters", func() { c.endpointURL = strings.Repeat("secret", 100) },
			func() { c.endpointURL = "secret" }},
		{"name has more than 64 characters", func() { c.name += "𝔸" }, func() { c.name = "" }},
		{"roomTypes has more than 256 entries", func() { c.roomTypes = append(c.roomTypes, "") },
			func() { c.roomTypes = []string{strings.Repeat("secret", 11)} }},
		{"an entry of roomTypes has more than 64 characters", func() {}, func() { c.roomTypes = nil }},
		{"rooms has more than 50000 entries", func() { c.rooms = append(c.rooms, room{}) }, func() {
			c.rooms = []room{{strings.Repeat("secret", 43), strings.Repeat("secret", 11), 1_000_001, false}}
		}},
		{"endpointUrl is not a URL", func() {}, func() { c.endpointURL = "secret://x" }},
		{"endpointUrl has a scheme other than ws, wss, http and https", func() {}, func() { c.endpointURL = "ws://0" }},
		{"endpointUrl must be what players dial, not what the server binds", func() {},
			func() { c.endpointURL = "ws://x" }},
		{"labels has more than 32 entries", func() { c.labels["one more"] = "" },
			func() { c.labels = map[string]string{strings.Repeat("secret", 11): ""} }},
		{"a key of labels has more than 64 characters", func() {},
			func() { c.labels = map[string]string{"key": strings.Repeat("secret", 11)} }},
		{"a value of labels has more than 64 characters", func() {}, func() { c.labels = nil }},
		{"the id of a room has more than 256 characters", func() {}, func() { c.rooms[0].rawID = "" }},
		{"the type of a room has more than 64 characters", func() {}, func() { c.rooms[0].roomType = "" }},
		{"a room has more than 1000000 connections", func() {}, func() { c.rooms = nil }},
		{"hash has more than 256 characters", func() { s.hash = strings.Repeat("secret", 43) },
			func() { s.hash = strings.Repeat("ü", maxShortUnits) }},
		{"processUid has more than 256 characters", func() { c.processUID = strings.Repeat("𝔸", 129) },
			func() { c.processUID = strings.Repeat("𝔸", 128) }},
		{"agentVersion has more than 256 characters", func() { c.agentVersion = strings.Repeat("secret", 43) },
			func() { c.agentVersion = "" }},
		{"status has more than 256 characters", func() { c.status = strings.Repeat("secret", 43) },
			func() { c.status = "" }},
	}
	for _, limit := range cases {
		limit.breaks()
	}
	for _, limit := range cases {
		require.EqualError(t, s.checkLimits(), limit.reason)
		limit.mends()
	}
	require.NoError(t, s.checkLimits())
}

func TestNULIsRefusedOutsideIdsOfRooms(t *testing.T) {
	t.Parallel()
	for field, breaks := range map[string]func(s *state){
		"hash":                  func(s *state) { s.hash = "\x00" },
		"name":                  func(s *state) { s.snapshot.name = "a\x00" },
		"processUid":            func(s *state) { s.snapshot.processUID = "a\x00" },
		"agentVersion":          func(s *state) { s.snapshot.agentVersion = "a\x00" },
		"endpointUrl":           func(s *state) { s.snapshot.endpointURL = "ws://x/\x00" },
		"status":                func(s *state) { s.snapshot.status = "a\x00" },
		"labels":                func(s *state) { s.snapshot.labels = map[string]string{"a\x00": ""} },
		"an entry of roomTypes": func(s *state) { s.snapshot.roomTypes = []string{"a\x00"} },
		"the type of a room":    func(s *state) { s.snapshot.rooms = []room{{roomType: "a\x00"}} },
	} {
		s := state{snapshot: snapshot{endpointURL: "ws://x", rooms: []room{{rawID: "a\x00"}}}}
		require.NoError(t, s.checkLimits())
		breaks(&s)
		require.EqualError(t, s.checkLimits(), field+" contains U+0000")
	}
}

// Pins agents that report what they bind, where no player finds them. WHATWG reads 0 and 0x7f.1 as addresses.
func TestEndpointsOfAgents(t *testing.T) {
	t.Parallel()
	for url, dialable := range map[string]bool{
		"ws://0.0.0.0:7350": false, "ws://0:7350": false, "ws://[::]:7350/x": false, "WSS://[::ffff:0.0.0.0]": false,
		"http://224.0.0.1": false, "ws://255.255.255.255": false,
		"ws://x:0": false, "http:0.0.0.0": false, "ws://0x7f.1:7350": true, "ws://localhost:7350": true,
		"wss://eu1.example.com": true, "ws://[2001:db8::7]:1": true,
		"ws://10.0.0.1": true, "http:x": true,
	} {
		s := state{snapshot: snapshot{endpointURL: url}}
		if dialable {
			require.NoError(t, s.checkLimits(), url)
		} else {
			require.EqualError(t, s.checkLimits(), "endpointUrl must be what players dial, not what the server binds",
				url)
		}
	}
}

func TestOfTwoRoomsWithOneIDTheLastCounts(t *testing.T) {
	t.Parallel()
	c := newContent(snapshotJob{content: &snapshot{rooms: []room{{"a", "x", 1, true}, {"b", "x", 2, true},
		{"a", "y", 3, false}}}})
	require.Equal(t, map[string]db.ReportedRoom{
		"a": {RawID: "a", Type: "y", ConnectionCount: 3},
		"b": {RawID: "b", Type: "x", ConnectionCount: 2, IsLocal: true},
	}, c.roomsByID)
}
