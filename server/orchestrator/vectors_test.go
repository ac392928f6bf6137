package orchestrator

import (
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/agents/wire"
	"github.com/lattice-director/director/internal/testkit/must"
)

// The messages that agents of @rivalis/fleet 8.0.0 exchange with upstream's orchestrator, as WebSocket payloads.
const (
	helloBytes = `0a0b666c6565742f68656c6c6f 1219 0300 0a1035363263666332636265656638636634 1003 18d00f`
	pollBytes  = `0a0a666c6565742f706f6c6c 1212 0300 0a06706f6c6c5f31 1a06616374697665`
	knownBytes = `0a0b666c6565742f7374617465 1220 0300 0a06706f6c6c5f32 1000 1802 221065333135373736636233643162616164`
	fullBytes  = `0a0b666c6565742f7374617465 12ae01 0300 0a06706f6c6c5f31 1001 1801 221065333135373736636233643162616164 2a03657530
		321a705f373865663139313637656463303630313632363232313834 3a05382e302e30 4003
		4a1a7773733a2f2f6575302e67616d652e6578616d706c652e636f6d 520c0a06726567696f6e12026575 5a0508d00f1064 6001
		6a056c6f626279 6a056d61746368 72190a076c6f63616c2d3012056c6f626279180022056c6f63616c 7a06616374697665`
	createBytes  = `0a09666c6565742f636d64 1222 0300 0a05636d645f31 1206637265617465 1a086d617463682d3432 22056d61746368`
	createdBytes = `0a09666c6565742f61636b 121e 0300 0a05636d645f31 1001 2a11 0a086d617463682d3432 12056d61746368`
)

// Payloads alone.
const (
	existsPayload = `03000a05636d645f3110001a16726f6f6d20696420616c7265616479206578697374733001`
	gonePayload   = `03000a05636d645f3110012001`
)

func bytesOf(t *testing.T, digits string) []byte {
	return must.Get(hex.DecodeString(strings.Join(strings.Fields(digits), "")))(t)
}

func received(t *testing.T, message []byte) any {
	return must.Get(decodeFrame(websocket.MessageBinary, message))(t)
}

func TestFramesOfTheDirectorAreThoseOfUpstream(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		digits string
		sent   []byte
		agent  any
	}{
		{helloBytes, hello{"562cfc2cbeef8cf4", 2 * time.Second}.encodeFrame(),
			wire.Hello{InstanceID: "562cfc2cbeef8cf4", ProtocolVersion: 3, HeartbeatMS: 2000}},
		{pollBytes, poll{reqID: "poll_1", status: statusActive}.encodeFrame(),
			wire.Poll{ReqID: "poll_1", Status: wire.Active}},
		{
			createBytes, command{"cmd_1", opCreate, "match-42", "match"}.encodeFrame(),
			wire.Command{ID: "cmd_1", Op: wire.Create, RoomID: "match-42", RoomType: "match"},
		},
	} {
		require.Equal(t, bytesOf(t, c.digits), c.sent)
		got, err := wire.Decode(c.sent)
		require.NoError(t, err)
		require.Equal(t, c.agent, got)
	}
}

const upstreamHash = "e315776cb3d1baad"

func upstreamSnapshot() wire.Snapshot {
	return wire.Snapshot{
		Name: "eu0", ProcessUID: "p_78ef19167edc060162622184", AgentVersion: "8.0.0", ProtocolVersion: 3,
		EndpointURL: "wss://eu0.game.example.com",
		Labels:      map[string]string{"region": "eu"}, MaxConnections: new(int32(2000)), MaxRooms: new(int32(100)),
		AutoCreate: true,
		RoomTypes:  []string{"lobby", "match"}, Rooms: []wire.Room{{ID: "local-0", Type: "lobby", Origin: wire.Local}},
		Status: wire.Active,
	}
}

func TestStatesAreThoseOfUpstream(t *testing.T) {
	t.Parallel()
	require.Equal(t, upstreamHash, upstreamSnapshot().Hash())

	full := wire.State{ReqID: "poll_1", IsFull: true, Seq: 1, Hash: upstreamHash, Snapshot: upstreamSnapshot()}
	require.Equal(t, bytesOf(t, fullBytes), full.Frame())
	require.Equal(t, state{reqID: "poll_1", isFull: true, seq: 1, hash: upstreamHash, snapshot: snapshot{
		name: "eu0", processUID: "p_78ef19167edc060162622184", agentVersion: "8.0.0", protocolVersion: 3,
		endpointURL: "wss://eu0.game.example.com",
		labels:      map[string]string{"region": "eu"}, capacity: capacity{new(int32(2000)), new(int32(100))},
		autoCreate: true,
		roomTypes:  []string{"lobby", "match"}, rooms: []room{{rawID: "local-0", roomType: "lobby", isLocal: true}},
		status: statusActive,
	}}, received(t, full.Frame()))

	known := wire.State{ReqID: "poll_2", Seq: 2, Hash: upstreamHash, Snapshot: upstreamSnapshot()}
	require.Equal(t, bytesOf(t, knownBytes), known.Frame())
	require.Equal(t, state{reqID: "poll_2", seq: 2, hash: upstreamHash,
		snapshot: snapshot{labels: map[string]string{}}}, received(t, known.Frame()))
}

func TestAcksAreThoseOfUpstream(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		digits   string // of a frame, or of its payload
		sent     wire.Ack
		received ack
	}{
		{
			createdBytes, wire.Ack{CommandID: "cmd_1", OK: true, Room: &wire.RoomRef{ID: "match-42", Type: "match"}},
			ack{commandID: "cmd_1", succeeded: true, createdRoom: &roomRef{"match-42", "match"}},
		},
		{
			existsPayload, wire.Ack{CommandID: "cmd_1", Error: "room id already exists", Exists: true},
			ack{commandID: "cmd_1", failureText: "room id already exists", roomExists: true},
		},
		{gonePayload, wire.Ack{CommandID: "cmd_1", OK: true, AlreadyGone: true},
			ack{commandID: "cmd_1", succeeded: true, alreadyGone: true}},
	} {
		frame := c.sent.Frame()
		require.Contains(t, string(frame), string(bytesOf(t, c.digits)))
		require.Equal(t, c.received, received(t, frame))
	}
}

// A capacity that is not set is unlimited, which differs from 0; a negative one is a plain varint of ten bytes.
func TestCapacityTellsUnlimitedFromNone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		digits string
		limit  *int32
	}{
		{"5a00", nil}, {"5a020800", new(int32(0))}, {"5a0b08ffffffffffffffffff01", new(int32(-1))},
	} {
		frame := wire.State{IsFull: true, Snapshot: wire.Snapshot{MaxConnections: c.limit}}.Frame()
		require.Contains(t, string(frame), string(bytesOf(t, c.digits)))
		require.Equal(t, capacity{maxConnections: c.limit}, received(t, frame).(state).snapshot.capacity)
	}
}
