package orchestrator

import (
	"errors"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/agents/wire"
)

// FuzzReceive checks that whatever an agent sends is decoded into bounded lists, or is an error that says what follows.
func FuzzReceive(f *testing.F) {
	f.Add([]byte(nil))
	f.Add(wire.State{ReqID: "poll_1", IsFull: true, Seq: 1, Hash: upstreamHash, Snapshot: upstreamSnapshot()}.Frame())
	f.Add(wire.Ack{CommandID: "cmd_1", OK: true, Room: &wire.RoomRef{ID: "a", Type: "b"}}.Frame())
	f.Add(hello{"562cfc2cbeef8cf4", time.Second}.encodeFrame())
	f.Fuzz(func(t *testing.T, message []byte) {
		got, err := decodeFrame(websocket.MessageBinary, message)
		var closes *violation
		var drops *dropped
		require.True(t, err == nil || errors.As(err, &closes) || errors.As(err, &drops), "%v", err)
		switch got := got.(type) {
		case state:
			// What the director has read, an agent can say.
			c := got.snapshot
			require.LessOrEqual(t, len(c.rooms), maxRooms+1)
			var refused *refusal
			err := got.checkLimits()
			require.True(t, err == nil || errors.As(err, &refused), "%v", err)
			said := wire.Snapshot{
				Name: c.name, ProcessUID: c.processUID, AgentVersion: c.agentVersion, ProtocolVersion: c.protocolVersion,
				EndpointURL: c.endpointURL,
				Labels:      c.labels, MaxConnections: c.capacity.maxConnections, MaxRooms: c.capacity.maxRooms,
				AutoCreate: c.autoCreate,
				RoomTypes:  c.roomTypes, Status: c.status,
			}
			for _, r := range c.rooms {
				origin := wire.Fleet
				if r.isLocal {
					origin = wire.Local
				}
				said.Rooms = append(said.Rooms, wire.Room{ID: r.rawID, Type: r.roomType, Connections: r.connections,
					Origin: origin})
			}
			again := received(t, wire.State{ReqID: got.reqID, IsFull: true, Seq: got.seq, Hash: got.hash,
				Snapshot: said}.Frame()).(state)
			again.isFull = got.isFull
			require.Equal(t, got, again)
		case ack:
			require.NoError(t, err)
		default:
			require.Error(t, err)
		}
	})
}

// FuzzStrictDecoder checks that the agents' decoder is strict: it accepts only the one spelling that the director
// sends.
func FuzzStrictDecoder(f *testing.F) {
	f.Add(hello{"562cfc2cbeef8cf4", 2 * time.Second}.encodeFrame())
	f.Add(poll{"poll_1", new("e315776cb3d1baad"), statusDraining}.encodeFrame())
	f.Add(poll{"poll_1", nil, statusActive}.encodeFrame())
	f.Add(command{"cmd_1", opCreate, "match-42", "match"}.encodeFrame())
	f.Add(command{"cmd_1", opDestroy, "lobby #1/ü", ""}.encodeFrame())
	f.Add(command{id: "cmd_1", op: opUndrain}.encodeFrame())
	f.Fuzz(func(t *testing.T, message []byte) {
		got, err := wire.Decode(message)
		if err != nil {
			return
		}
		switch m := got.(type) {
		case wire.Hello:
			if m.ProtocolVersion == protocolMajor { // the director says no other
				require.Equal(t, message,
					hello{m.InstanceID, time.Duration(m.HeartbeatMS) * time.Millisecond}.encodeFrame())
			}
		case wire.Poll:
			require.Equal(t, message, poll{m.ReqID, m.KnownHash, m.Status}.encodeFrame())
		case wire.Command:
			require.Equal(t, message, command{m.ID, m.Op, m.RoomID, m.RoomType}.encodeFrame())
		}
	})
}

// FuzzEndpoint checks that no endpoint makes the URL library panic, and that what passes is a URL of a scheme that is
// allowed.
func FuzzEndpoint(f *testing.F) {
	for endpoint := range endpoints {
		f.Add(endpoint)
	}
	f.Fuzz(func(t *testing.T, endpoint string) {
		if len(endpoint) <= maxEndpointUnits {
			_ = (&snapshot{endpointURL: endpoint}).checkEndpoint()
		}
	})
}
