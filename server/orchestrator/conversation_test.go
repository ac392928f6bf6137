package orchestrator

import (
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/agents/wire"
	"github.com/lattice-director/director/internal/testkit/must"
)

// These tests drive a conversation with a fake clock, without a socket and without a database.

const heartbeat = 5 * time.Second

// talk is a conversation with a record of its effects. Each frame has passed the strict decoder.
type talk struct {
	t interface {
		require.TestingT
	}
	*conversation

	now     time.Time
	due     time.Time // of the next tick
	random  float64
	polls   []wire.Poll
	cmds    []wire.Command
	jobs    []job
	notes   []note
	closing *violation
	at      moment
}

func newTalk(t require.TestingT) *talk {
	k := &talk{t: t, now: time.Unix(0, 0), random: 0.5}
	k.conversation = newConversation("562cfc2cbeef8cf4", heartbeat, func(*snapshot) error { return nil },
		func() time.Time { return k.now })
	e := k.beginPolling()
	require.Len(t, e.frames, 2)
	greeting := must.Get(wire.Decode(e.frames[0]))(t)
	require.Equal(t, wire.Hello{InstanceID: "562cfc2cbeef8cf4", ProtocolVersion: 3, HeartbeatMS: 5000}, greeting)
	e.frames = e.frames[1:]
	k.take(e)
	k.due = k.now.Add(k.firstTick(k.random))
	return k
}

func (k *talk) take(e effects) {
	for _, frame := range e.frames {
		got := must.Get(wire.Decode(frame))(k.t)
		switch m := got.(type) {
		case wire.Poll:
			k.polls = append(k.polls, m)
		case wire.Command:
			k.cmds = append(k.cmds, m)
		}
	}
	k.jobs, k.notes = append(k.jobs, e.jobs...), append(k.notes, e.notes...)
	if e.closeFrame != nil {
		require.Nil(k.t, k.closing, "closed twice")
		k.closing = e.closeFrame
	}
}

// pass advances the clock and runs the ticks that are due.
func (k *talk) pass(d time.Duration) {
	until := k.now.Add(d)
	for !k.due.After(until) {
		k.now = k.due
		k.take(k.tickPoll())
		k.due = k.now.Add(k.nextTick(k.random))
	}
	k.now = until
}

func (k *talk) hear(message any) { k.take(k.takeMessage(message, nil)) }

// known answers the outstanding poll without content.
func (k *talk) known() { k.hear(state{reqID: k.unansweredPoll, seq: k.acceptedSeq + 1}) }

// full answers the outstanding poll with a full state.
func (k *talk) full(hash string) {
	k.hear(state{reqID: k.unansweredPoll, isFull: true, seq: k.acceptedSeq + 1, hash: hash,
		snapshot: snapshot{endpointURL: "ws://x", name: hash}})
}

// apply answers the last job as the database would.
func (k *talk) apply(r agentRecord) {
	k.at++
	s := k.jobs[len(k.jobs)-1].(snapshotJob)
	k.take(k.takeApplied(k.at, s.stateHash, r))
}

// joined returns a conversation with an agent whose first full state is applied.
func joined(t require.TestingT) *talk {
	k := newTalk(t)
	k.full("h1")
	k.apply(agentRecord{})
	k.jobs, k.notes = nil, nil
	return k
}

func (k *talk) lastPoll() wire.Poll { return k.polls[len(k.polls)-1] }

func (k *talk) ends(code websocket.StatusCode, reason string) {
	require.NotNil(k.t, k.closing)
	require.Equal(k.t, code, k.closing.closeCode)
	require.Equal(k.t, reason, k.closing.closeReason)
	sent := len(k.polls)
	k.pass(10 * heartbeat)
	k.known()
	_, ok := k.sendCommand(command{id: "late", op: opDrain})
	require.False(k.t, ok)
	require.Len(k.t, k.polls, sent, "nothing is sent after the end")
}

func TestJoin(t *testing.T) {
	t.Parallel()
	k := newTalk(t)
	require.Equal(t, []wire.Poll{{ReqID: "poll_1", Status: wire.Active}}, k.polls, "at once, in full")
	_, ok := k.sendCommand(command{id: "c", op: opDrain})
	require.False(t, ok, "it is not listed before its first full state")
	k.known()
	require.Empty(t, k.jobs, "a reply without content is not a first state")
	require.False(t, k.takeClose())

	k = newTalk(t)
	k.full("h1")
	require.Equal(t, []job{snapshotJob{&snapshot{endpointURL: "ws://x", name: "h1"}, "h1", 1, k.now}}, k.jobs)
	require.True(t, k.takeClose(), "its row may exist from now on")
}

func TestCadence(t *testing.T) {
	t.Parallel()
	k := newTalk(t)
	for random, want := range map[float64][2]time.Duration{0: {2500 * time.Millisecond, 4750 * time.Millisecond},
		0.5: {3750 * time.Millisecond, 5 * time.Second}} {
		require.Equal(t, want, [2]time.Duration{k.firstTick(random), k.nextTick(random)})
	}
	require.InDelta(t, heartbeat, k.firstTick(0.999999), 1e6)
	require.InDelta(t, 5250*time.Millisecond, k.nextTick(0.999999), 1e6)

	k = joined(t)
	for range 100 {
		require.Empty(t, k.closing)
		k.pass(heartbeat)
		k.known()
	}
	require.Len(t, k.polls, 101)
}

// Polls 1, 13, 25, … ask for a full state; the others carry the hash of the last applied snapshot.
func TestEveryTwelfthPollIsFull(t *testing.T) {
	t.Parallel()
	k := joined(t)
	for range 30 {
		k.pass(heartbeat)
		k.known()
	}
	for i, p := range k.polls {
		require.Equal(t, "poll_"+strconv.Itoa(i+1), p.ReqID)
		if i%12 == 0 {
			require.Nil(t, p.KnownHash, "poll %d", i+1)
		} else {
			require.Equal(t, new("h1"), p.KnownHash, "poll %d", i+1)
		}
	}
}

func TestKnownHashIsThatOfTheLastAppliedSnapshot(t *testing.T) {
	t.Parallel()
	k := newTalk(t)
	k.full("h1")
	k.pass(heartbeat)
	require.Nil(t, k.lastPoll().KnownHash, "h1 is not applied yet")
	k.known()
	require.Equal(t, "h1", k.jobs[0].(snapshotJob).stateHash)
	k.at++
	k.take(k.takeApplied(k.at, "h1", agentRecord{}))
	k.pass(heartbeat)
	require.Equal(t, new("h1"), k.lastPoll().KnownHash)
	k.full("h2")
	k.pass(heartbeat)
	require.Equal(t, new("h1"), k.lastPoll().KnownHash, "h2 is not applied yet")
	k.known()
	require.Equal(t, uint32(2), k.acceptedSeq)
}

// Polled at t and silent since: a miss at t+T, stale at t+2T, evicted at t+3T.
func TestMisses(t *testing.T) {
	t.Parallel()
	k := joined(t)
	heard := k.now
	k.pass(k.due.Sub(k.now))
	sent := len(k.polls)
	k.pass(heartbeat)
	require.Equal(t, []job{missJob{1, heard}}, k.jobs)
	k.pass(heartbeat)
	require.Equal(t, []job{missJob{1, heard}, missJob{2, heard}}, k.jobs)
	require.Nil(t, k.closing)
	require.Len(t, k.polls, sent, "one outstanding poll at a time")
	k.pass(heartbeat - 1)
	require.Nil(t, k.closing)
	k.pass(1)
	k.ends(4003, "")
	require.Len(t, k.jobs, 2)
}

func TestALateReplyClearsMisses(t *testing.T) {
	t.Parallel()
	for misses := 1; misses <= 2; misses++ {
		k := joined(t)
		k.pass(k.due.Sub(k.now))
		k.pass(time.Duration(misses)*heartbeat + heartbeat/2)
		require.Len(t, k.jobs, misses)
		late := k.lastPoll().ReqID
		k.hear(state{reqID: late, seq: 2})
		require.Equal(t, []job{missJob{0, k.now}, confirmJob{k.now, true}}, k.jobs[misses:])
		k.jobs = nil
		k.pass(heartbeat / 2)
		require.NotEqual(t, late, k.lastPoll().ReqID)
		k.pass(2 * heartbeat)
		require.Len(t, k.jobs, 2, "the count starts again at zero")
		require.Nil(t, k.closing)
	}
}

// An agent has no row before its first full state, so its misses are not written.
func TestMissesBeforeTheJoinWriteNothing(t *testing.T) {
	t.Parallel()
	k := newTalk(t)
	k.pass(2*heartbeat + heartbeat/2)
	require.Nil(t, k.closing)
	k.known()
	require.Empty(t, k.jobs)
	k.pass(4 * heartbeat)
	k.ends(4003, "")
	require.Empty(t, k.jobs)
}

func TestUnsolicitedAndDuplicateRepliesEndTheConnection(t *testing.T) {
	t.Parallel()
	k := newTalk(t)
	k.hear(state{reqID: "poll_2", isFull: true, seq: 1})
	k.ends(4003, "")

	k = joined(t)
	k.hear(state{reqID: "poll_1", seq: 2})
	k.ends(4003, "")

	k = joined(t)
	k.hear(state{reqID: "", seq: 2})
	k.ends(4003, "")
}

// A refused snapshot still answers its poll, so the agent cannot send a second reply to that poll.
func TestASnapshotOutsideTheLimitsIsASignOfLife(t *testing.T) {
	t.Parallel()
	k := joined(t)
	k.pass(heartbeat)
	k.pass(heartbeat)
	k.hear(state{reqID: k.unansweredPoll, isFull: true, seq: 2, hash: "bad", snapshot: snapshot{endpointURL: "secret"}})
	require.Equal(t, []job{missJob{1, time.Unix(0, 0)}, missJob{0, k.now}, confirmJob{k.now, false}}, k.jobs)
	require.Contains(t, k.notes, note{outcome: outcomeRefused, topic: topicState, cause: "endpointUrl is not a URL"})
	k.pass(heartbeat)
	require.Equal(t, new("h1"), k.lastPoll().KnownHash, "the last good state is kept")
	k.hear(state{reqID: "poll_2", seq: 3})
	k.ends(4003, "")
}

func TestASnapshotThatTheKeyDoesNotAllowIsRefused(t *testing.T) {
	t.Parallel()
	k := newTalk(t)
	k.checkKey = func(s *snapshot) error { return errors.New("name is not that of the key") }
	k.full("h1")
	require.Empty(t, k.jobs)
	require.Contains(t, k.notes, note{outcome: outcomeRefused, topic: topicState, cause: "name is not that of the key"})
	require.Nil(t, k.closing)
}

func TestSeqHasToGrow(t *testing.T) {
	t.Parallel()
	k := joined(t)
	for _, seq := range []uint32{1, 0} {
		k.pass(heartbeat)
		k.jobs, k.notes = nil, nil
		k.hear(state{reqID: k.unansweredPoll, isFull: true, seq: seq, hash: "h2",
			snapshot: snapshot{endpointURL: "ws://x"}})
		require.Equal(t, []job{confirmJob{k.now, false}}, k.jobs)
		require.Contains(t, k.notes, note{outcome: outcomeOld, topic: topicState, cause: "seq does not grow"})
	}
	k.pass(heartbeat)
	k.hear(state{reqID: k.unansweredPoll, isFull: true, seq: 1<<32 - 1, hash: "h2",
		snapshot: snapshot{endpointURL: "ws://x"}})
	require.Equal(t, uint32(1<<32-1), k.jobs[len(k.jobs)-1].(snapshotJob).stateSeq)
}

// A message that does not decode answers no poll: the poll stays outstanding and counts as a miss.
func TestDroppedMessagesAreMisses(t *testing.T) {
	t.Parallel()
	k := joined(t)
	k.pass(heartbeat)
	k.take(k.takeMessage(nil, &dropped{topicState, "payload of another major version", 17}))
	require.Contains(t, k.notes, note{outcome: outcomeDropped, topic: topicState,
		cause: "payload of another major version", byteCount: 17})
	k.pass(heartbeat)
	require.Equal(t, []job{missJob{1, time.Unix(0, 0)}}, k.jobs)
	k.known()
	require.Nil(t, k.closing)
}

func TestViolationsEndTheConnection(t *testing.T) {
	t.Parallel()
	for _, v := range []*violation{{closeCode: closeText, cause: "text message"},
		{closeCode: closeInvalid, closeReason: "invalid_message", cause: "topic"}} {
		k := joined(t)
		k.take(k.takeMessage(nil, v))
		k.ends(v.closeCode, v.closeReason)
	}
}
