package orchestrator

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
	"pgregory.net/rapid"

	"github.com/lattice-director/director/internal/testkit/agents/wire"
	"github.com/lattice-director/director/internal/testkit/must"
)

// Both halves of the protocol are independent implementations; these tests exchange every kind of message between them.

func TestAgentsUnderstandEverythingTheDirectorSends(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.StringMatching(`[0-9a-f]{16}`).Draw(t, "instance")
		heartbeat := rapid.Uint32Range(1, 1<<32-1).Draw(t, "heartbeat")
		decodes(t, hello{id, time.Duration(heartbeat) * time.Millisecond}.encodeFrame(),
			wire.Hello{InstanceID: id, ProtocolVersion: 3, HeartbeatMS: heartbeat})

		p := poll{named.Draw(t, "request"), genOptional(rapid.String()).Draw(t, "hash"),
			rapid.SampledFrom([]string{statusActive, statusDraining}).Draw(t, "status")}
		decodes(t, p.encodeFrame(), wire.Poll{ReqID: p.reqID, KnownHash: p.knownHash, Status: p.status})

		c := command{id: named.Draw(t, "command"),
			op: rapid.SampledFrom([]string{opCreate, opDestroy, opDrain, opUndrain}).Draw(t, "op")}
		if c.op == opCreate || c.op == opDestroy {
			c.roomID = rapid.String().Draw(t, "room")
		}
		if c.op == opCreate {
			c.roomType = rapid.String().Draw(t, "type")
		}
		decodes(t, c.encodeFrame(), wire.Command{ID: c.id, Op: c.op, RoomID: c.roomID, RoomType: c.roomType})
	})
}

var named = rapid.StringN(1, 40, -1)

func decodes(t *rapid.T, frame []byte, want any) {
	got := must.Get(wire.Decode(frame))(t)
	require.Equal(t, want, got)
}

func genOptional[T any](g *rapid.Generator[T]) *rapid.Generator[*T] {
	return rapid.Custom(func(t *rapid.T) *T {
		if rapid.Bool().Draw(t, "absent") {
			return nil
		}
		return new(g.Draw(t, "value"))
	})
}

var genRoom = rapid.Custom(func(t *rapid.T) wire.Room {
	return wire.Room{
		ID: rapid.String().Draw(t, "id"), Type: rapid.String().Draw(t, "type"),
		Connections: rapid.Uint32().Draw(t, "connections"),
		Origin:      rapid.SampledFrom([]string{wire.Local, wire.Fleet}).Draw(t, "origin"),
	}
})

var genState = rapid.Custom(func(t *rapid.T) wire.State {
	s := wire.State{ReqID: rapid.String().Draw(t, "request"), IsFull: true, Seq: rapid.Uint32().Draw(t, "seq"),
		Hash: rapid.String().Draw(t, "hash")}
	s.Snapshot = wire.Snapshot{
		Name: rapid.String().Draw(t, "name"), ProcessUID: rapid.String().Draw(t, "process"),
		AgentVersion:    rapid.String().Draw(t, "version"),
		ProtocolVersion: rapid.Uint32().Draw(t, "protocol"), EndpointURL: rapid.String().Draw(t, "endpoint"),
		Labels:         rapid.MapOfN(rapid.String(), rapid.String(), 0, maxLabels).Draw(t, "labels"),
		MaxConnections: genOptional(rapid.Int32()).Draw(t, "max connections"),
		MaxRooms:       genOptional(rapid.Int32()).Draw(t, "max rooms"),
		AutoCreate:     rapid.Bool().Draw(t, "create"), RoomTypes: rapid.SliceOf(rapid.String()).Draw(t, "types"),
		Rooms: rapid.SliceOf(genRoom).Draw(t, "rooms"), Status: rapid.String().Draw(t, "status"),
	}
	return s
})

// director returns a state as the director has it.
func director(s wire.State) state {
	c := s.Snapshot
	got := state{reqID: s.ReqID, isFull: s.IsFull, seq: s.Seq, hash: s.Hash, snapshot: snapshot{
		name: c.Name, processUID: c.ProcessUID, agentVersion: c.AgentVersion, protocolVersion: c.ProtocolVersion,
		endpointURL: c.EndpointURL,
		labels:      c.Labels, capacity: capacity{c.MaxConnections, c.MaxRooms}, autoCreate: c.AutoCreate,
		status: c.Status,
	}}
	got.snapshot.roomTypes = append(got.snapshot.roomTypes, c.RoomTypes...)
	for _, r := range c.Rooms {
		got.snapshot.rooms = append(got.snapshot.rooms, room{r.ID, r.Type, r.Connections, r.Origin == wire.Local})
	}
	return got
}

func TestTheDirectorUnderstandsEverythingAgentsSend(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := genState.Draw(t, "state")
		got, err := decodeFrame(websocket.MessageBinary, s.Frame())
		require.NoError(t, err)
		require.Equal(t, director(s), got)

		a := wire.Ack{CommandID: rapid.String().Draw(t, "command"), OK: rapid.Bool().Draw(t, "ok")}
		want := ack{commandID: a.CommandID, succeeded: a.OK}
		if a.OK {
			a.AlreadyGone = rapid.Bool().Draw(t, "gone")
			a.Room = genOptional(rapid.Custom(func(t *rapid.T) wire.RoomRef {
				return wire.RoomRef{ID: rapid.String().Draw(t, "id"), Type: rapid.String().Draw(t, "type")}
			})).Draw(t, "room")
		} else {
			a.Error, a.Exists = rapid.String().Draw(t, "error"), rapid.Bool().Draw(t, "exists")
		}
		want.failureText, want.alreadyGone, want.roomExists = a.Error, a.AlreadyGone, a.Exists
		if a.Room != nil {
			want.createdRoom = &roomRef{a.Room.ID, a.Room.Type}
		}
		got, err = decodeFrame(websocket.MessageBinary, a.Frame())
		require.NoError(t, err)
		require.Equal(t, want, got)
	})
}

// The order of fields, fields of later versions, and values that a later one replaces change nothing.
func TestFieldsAreReadInAnyOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := genState.Draw(t, "state")
		_, payload, err := openFrame(s.Frame())
		require.NoError(t, err)
		in := fields{unreadBytes: payload[versionBytes:]}
		byNumber := map[int][][]byte{}
		for rest := in.unreadBytes; in.nextField(); rest = in.unreadBytes {
			byNumber[in.number] = append(byNumber[in.number], rest[:len(rest)-len(in.unreadBytes)])
		}
		var numbers []int // each as often as there are fields of it
		for _, number := range slices.Sorted(maps.Keys(byNumber)) {
			numbers = append(numbers, slices.Repeat([]int{number}, len(byNumber[number]))...)
		}
		body := unknown.Draw(t, "unknown")
		for _, text := range []protowire.Number{1, 4, 5, 6, 7, 9, 15} {
			body = appendText(body, text, "replaced")
		}
		body = protowire.AppendBytes(protowire.AppendTag(body, 11, protowire.BytesType), appendNumber(nil, 1, 7))
		for _, number := range rapid.Permutation(numbers).Draw(t, "order") {
			body = append(body, byNumber[number][0]...)
			byNumber[number] = byNumber[number][1:]
			body = append(body, unknown.Draw(t, "unknown")...)
		}
		payload = append(unknown.Draw(t, "unknown of the frame"), frameAround(topicState, body)...)
		got, err := decodeFrame(websocket.MessageBinary, payload)
		require.NoError(t, err)
		require.Equal(t, director(s), got)
	})
}

// unknown is nothing, or a field that no version has yet, of a type that the outer frame may have, too.
var unknown = rapid.Custom(func(t *rapid.T) []byte {
	number := protowire.Number(rapid.Int32Range(16, int32(protowire.MaxValidNumber)).Draw(t, "number"))
	switch rapid.IntRange(0, 2).Draw(t, "kind") {
	case 0:
		return appendNumber(nil, number, rapid.Uint64().Draw(t, "value"))
	case 1:
		return appendText(nil, number, rapid.String().Draw(t, "value"))
	}
	return nil
})
