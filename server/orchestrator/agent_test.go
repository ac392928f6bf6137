package orchestrator

import (
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/agents"
	"github.com/lattice-director/director/internal/testkit/agents/wire"
	"github.com/lattice-director/director/internal/testkit/await"
)

// These tests hold the simulated agents against the original's behaviour, over real WebSockets: tests of the
// orchestrator and measurements rely on them.

var options = &websocket.AcceptOptions{Subprotocols: []string{"rivalis-fleet.v1"}}

func duelServer() agents.Config {
	return agents.Config{
		Name: "eu0", EndpointURL: "wss://eu0.game.example.com", Labels: map[string]string{"region": "eu"},
		MaxConnections: new(int32(2000)),
		MaxRooms:       new(int32(3)), RoomTypes: []string{"match", "lobby"},
	}
}

func TestAgentOffersItsKeyAndAnswersPings(t *testing.T) {
	t.Parallel()
	d := newFake(t, options)
	a, _ := d.start(t, duelServer())
	l, _ := d.greeted(t, "562cfc2cbeef8cf4")
	require.Equal(t, "an-agent-key,rivalis-fleet.v1", strings.ReplaceAll(l.offered, " ", ""))
	require.Equal(t, "562cfc2cbeef8cf4", a.InstanceID())
	require.NoError(t, l.ws.Ping(t.Context()))
}

func TestAgentRepliesInFullUnlessItsHashIsKnown(t *testing.T) {
	t.Parallel()
	d := newFake(t, options)
	a, _ := d.start(t, duelServer())
	require.NoError(t, a.OpenRoom("local-0", "lobby"))
	l, first := d.greeted(t, "562cfc2cbeef8cf4")
	require.NoError(t, first.checkLimits())
	require.True(t, first.isFull)
	require.Regexp(t, `^p_[0-9a-f]{24}$`, first.snapshot.processUID)
	require.Equal(t, snapshot{
		name: "eu0", processUID: first.snapshot.processUID, agentVersion: "8.0.0", protocolVersion: 3,
		endpointURL: "wss://eu0.game.example.com",
		labels:      map[string]string{"region": "eu"}, capacity: capacity{new(int32(2000)), new(int32(3))},
		autoCreate: true,
		roomTypes:  []string{"lobby", "match"}, rooms: []room{{"local-0", "lobby", 0, true}}, status: statusActive,
	}, first.snapshot)

	known := l.poll(&first.hash, statusActive)
	require.Equal(t, state{reqID: known.reqID, seq: 2, hash: first.hash,
		snapshot: snapshot{labels: map[string]string{}}}, known)

	a.SetConnections("local-0", 7)
	changed := l.poll(&first.hash, statusActive)
	require.True(t, changed.isFull)
	require.NotEqual(t, first.hash, changed.hash)
	require.Equal(t, []room{{"local-0", "lobby", 7, true}}, changed.snapshot.rooms)

	forced := l.poll(nil, statusActive)
	require.Equal(t, changed.snapshot, forced.snapshot)
	require.Equal(t, []uint32{1, 2, 3, 4}, []uint32{first.seq, known.seq, changed.seq, forced.seq})
}

func TestAgentExecutesCommands(t *testing.T) {
	t.Parallel()
	d := newFake(t, options)
	a, _ := d.start(t, duelServer())
	require.NoError(t, a.OpenRoom("lobby #1/ü", "lobby"))
	l, _ := d.greeted(t, "562cfc2cbeef8cf4")

	require.Equal(t, ack{commandID: "c1", succeeded: true, createdRoom: &roomRef{"m1", "match"}},
		l.command(command{"c1", opCreate, "m1", "match"}))
	require.Equal(t, ack{commandID: "c2", failureText: "room id already exists", roomExists: true},
		l.command(command{"c2", opCreate, "m1", "match"}))
	require.Equal(t, ack{commandID: "c3", failureText: "room type is not defined"},
		l.command(command{"c3", opCreate, "m2", "race"}))
	require.True(t, l.command(command{"c4", opCreate, "m2", "match"}).succeeded)
	require.Equal(t, ack{commandID: "c5", failureText: "capacity exhausted: maxRooms=3"},
		l.command(command{"c5", opCreate, "m1", "match"}))
	require.Equal(t, ack{commandID: "c6", succeeded: true}, l.command(command{"c6", opDestroy, "lobby #1/ü", ""}))
	require.Equal(t, ack{commandID: "c7", succeeded: true, alreadyGone: true},
		l.command(command{"c7", opDestroy, "lobby #1/ü", ""}))
	require.Equal(t, []room{{"m1", "match", 0, false}, {"m2", "match", 0, false}},
		l.poll(nil, statusActive).snapshot.rooms)
}

func TestAgentWithoutAutoCreateRefusesCreates(t *testing.T) {
	t.Parallel()
	d := newFake(t, options)
	_, _ = d.start(t, agents.Config{NoAutoCreate: true, RoomTypes: []string{"match"}})
	l, s := d.greeted(t, "562cfc2cbeef8cf4")
	require.False(t, s.snapshot.autoCreate)
	require.Equal(t, capacity{}, s.snapshot.capacity)
	require.Equal(t, ack{commandID: "c1", failureText: "autoCreate is disabled on this instance"},
		l.command(command{"c1", opCreate, "m1", "match"}))
}

func TestDrainCommandsChangeTheStatus(t *testing.T) {
	t.Parallel()
	d := newFake(t, options)
	d.start(t, duelServer())
	l, first := d.greeted(t, "562cfc2cbeef8cf4")
	for op, status := range map[string]string{opDrain: statusDraining, opUndrain: statusActive} {
		require.Equal(t, ack{commandID: op, succeeded: true}, l.command(command{id: op, op: op}))
		require.Equal(t, status, l.poll(nil, statusActive).snapshot.status)
	}
	require.True(t, l.command(command{id: "again", op: opDrain}).succeeded)
	require.Equal(t, statusDraining, l.poll(&first.hash, statusActive).snapshot.status,
		"the status is part of the hash")
}

func TestDrainWaitsForAPollThatSaysSo(t *testing.T) {
	t.Parallel()
	d := newFake(t, options)
	a, _ := d.start(t, duelServer())
	l, _ := d.greeted(t, "562cfc2cbeef8cf4")

	drained := make(chan error, 1)
	go func() { drained <- a.Drain(t.Context()) }()
	require.Eventually(t, func() bool { return a.Snapshot().Status == wire.Draining }, patience, time.Millisecond)
	require.Equal(t, statusDraining, l.poll(nil, statusActive).snapshot.status)
	require.Empty(t, drained, "the orchestrator has not recorded it yet")
	l.poll(nil, statusDraining)
	require.NoError(t, await.Value(t, drained, "end of Drain"))

	undrained := make(chan error, 1)
	go func() { undrained <- a.Undrain(t.Context()) }()
	require.Eventually(t, func() bool { return a.Snapshot().Status == wire.Active }, patience, time.Millisecond)
	require.NoError(t, l.ws.CloseNow())
	require.ErrorIs(t, await.Value(t, undrained, "end of Undrain"), agents.ErrDisconnected)
}

// A reconnect is a new instance with a new sequence, and the same process with its rooms, their origins and its status.
func TestAgentConnectsAgainAfterEveryClose(t *testing.T) {
	t.Parallel()
	d := newFake(t, options)
	closed := make(chan error, 10)
	cfg := duelServer()
	cfg.Closed = func(err error) { closed <- err }
	a, _ := d.start(t, cfg)
	require.NoError(t, a.OpenRoom("local-0", "lobby"))
	l, _ := d.greeted(t, "562cfc2cbeef8cf4")
	l.command(command{"c1", opCreate, "m1", "match"})
	l.command(command{id: "c2", op: opDrain})
	before := l.poll(nil, statusDraining)

	for i, code := range []websocket.StatusCode{closeKey, closeText, closeInvalid, websocket.StatusProtocolError,
		websocket.StatusMessageTooBig} {
		_ = l.ws.Close(code, "")
		require.Equal(t, code, websocket.CloseStatus(await.Value(t, closed, "close")))
		var after state
		l, after = d.greeted(t, "562cfc2cbeef8cf"+string(rune('0'+i)))
		require.Equal(t, uint32(1), after.seq)
		require.Equal(t, before.hash, after.hash)
		require.Equal(t, before.snapshot, after.snapshot)
	}
	require.NoError(t, l.ws.CloseNow())
	l = d.next(t)
	require.Empty(t, a.InstanceID(), "not greeted yet")
	_ = l.ws.Close(closeKey, "")
	d.next(t)
}

func TestAgentRefusesAnOrchestratorThatSelectsNoSubprotocol(t *testing.T) {
	t.Parallel()
	d := newFake(t, nil)
	closed := make(chan error, 10)
	cfg := duelServer()
	cfg.Closed = func(err error) { closed <- err }
	d.start(t, cfg)
	d.next(t)
	require.ErrorContains(t, await.Value(t, closed, "close"), "selected no subprotocol")
	d.next(t)
}

func TestAgentGivesUpOnAnotherMajorVersion(t *testing.T) {
	t.Parallel()
	otherMajor := hello{"562cfc2cbeef8cf4", time.Second}.encodeFrame()
	otherMajor[len(frameAround(topicHello, nil))-versionBytes] = 4
	body := appendText(nil, 1, "562cfc2cbeef8cf4")
	otherVersion := frameAround(topicHello, appendNumber(appendNumber(body, 2, 4), 3, 1000))
	for name, greeting := range map[string][]byte{"byte": otherMajor, "field": otherVersion} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newFake(t, options)
			_, ended := d.start(t, duelServer())
			d.next(t).send(greeting)
			require.ErrorIs(t, await.Value(t, ended, "end of Run"), agents.ErrIncompatible)
		})
	}
}

func TestAGarbledFrameEndsTheAgent(t *testing.T) {
	t.Parallel()
	whole := poll{"poll_1", nil, statusActive}.encodeFrame()
	for name, message := range map[string][]byte{
		"half a frame":        whole[:len(whole)/2],
		"more than a frame":   append(append([]byte{}, whole...), whole...),
		"empty":               {},
		"no payload":          appendText(nil, 1, topicPoll),
		"fields out of order": frameAround(topicPoll, appendText(appendText(nil, 3, statusActive), 1, "poll_1")),
		"a topic of agents":   frameAround(topicAck, appendText(nil, 1, "c1")),
		"status not recorded": poll{"poll_1", nil, "wished"}.encodeFrame(),
		"drain of a room": frameAround(topicCmd,
			appendText(appendText(appendText(nil, 1, "c1"), 2, opDrain), 3, "m1")),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newFake(t, options)
			_, ended := d.start(t, duelServer())
			d.next(t).send(message)
			require.ErrorIs(t, await.Value(t, ended, "end of Run"), agents.ErrGarbled)
		})
	}
	t.Run("text", func(t *testing.T) {
		t.Parallel()
		d := newFake(t, options)
		_, ended := d.start(t, duelServer())
		require.NoError(t, d.next(t).ws.Write(t.Context(), websocket.MessageText, whole))
		require.ErrorIs(t, await.Value(t, ended, "end of Run"), agents.ErrGarbled)
	})
}

// Tests of the orchestrator make agents late, silent and repetitive.
func TestSendMayBeLateOrTwice(t *testing.T) {
	t.Parallel()
	d := newFake(t, options)
	late := make(chan func(), 1)
	cfg := duelServer()
	cfg.Send = func(topic string, send func()) {
		if topic == wire.TopicAck {
			late <- send
			return
		}
		send()
		send()
	}
	d.start(t, cfg)
	l, s := d.greeted(t, "562cfc2cbeef8cf4")
	require.Equal(t, s, await.Value(t, l.received, "state again"))
	l.send(command{"c1", opCreate, "m1", "match"}.encodeFrame())
	sendAck := await.Value(t, late, "ack that is held back")
	require.Len(t, l.poll(nil, statusActive).snapshot.rooms, 1, "polls are answered meanwhile")
	await.Value(t, l.received, "state again")
	sendAck()
	require.Equal(t, "c1", await.Value(t, l.received, "ack").(ack).commandID)
}
