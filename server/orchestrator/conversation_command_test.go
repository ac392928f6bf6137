package orchestrator

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lattice-director/director/internal/testkit/agents/wire"
)

func TestACommandIsSentOnce(t *testing.T) {
	t.Parallel()
	k := joined(t)
	c := command{id: "c1", op: opCreate, roomID: "m1", roomType: "match"}
	for range 2 {
		e, ok := k.sendCommand(c)
		require.True(t, ok)
		k.take(e)
	}
	k.hear(ack{commandID: "c1", succeeded: true})
	require.Equal(t, []job{ackJob{c, ack{commandID: "c1", succeeded: true}, 0}}, k.jobs)
	e, ok := k.sendCommand(c)
	require.True(t, ok)
	k.take(e)
	require.Equal(t, []wire.Command{{ID: "c1", Op: wire.Create, RoomID: "m1", RoomType: "match"}}, k.cmds,
		"a list of pending commands may be old")
	k.hear(ack{commandID: "c1", succeeded: true})
	k.ends(4003, "")
}

func TestAnAckOfAnUnknownCommandEndsTheConnection(t *testing.T) {
	t.Parallel()
	k := joined(t)
	e, _ := k.sendCommand(command{id: "c1", op: opDrain})
	k.take(e)
	k.hear(ack{commandID: "c2", succeeded: true})
	k.ends(4003, "")
}

func TestALateAckIsAccepted(t *testing.T) {
	t.Parallel()
	k := joined(t)
	e, _ := k.sendCommand(command{id: "c1", op: opDrain})
	k.take(e)
	for range 100 {
		k.pass(heartbeat)
		k.known()
	}
	k.hear(ack{commandID: "c1", succeeded: true})
	require.Nil(t, k.closing)
	require.Equal(t, ackJob{command{id: "c1", op: opDrain}, ack{commandID: "c1", succeeded: true}, 100 * heartbeat},
		k.jobs[len(k.jobs)-1])
}

func TestTheConnectionRemembersThousandCommands(t *testing.T) {
	t.Parallel()
	k := joined(t)
	for i := range maxUnacked + 1 {
		e, ok := k.sendCommand(command{id: strconv.Itoa(i), op: opDrain})
		require.True(t, ok)
		k.take(e)
	}
	for i := range maxUnacked {
		k.hear(ack{commandID: strconv.Itoa(i + 1), succeeded: true})
	}
	require.Nil(t, k.closing)
	require.Len(t, k.ackedIDs, maxAcked)
	k.hear(ack{commandID: "0", succeeded: true})
	k.ends(4003, "")
}

// Polls carry the status that the database has recorded, even if it is out of date, and never the status that the agent
// reports.
func TestPollsEchoTheRecordedStatus(t *testing.T) {
	t.Parallel()
	k := joined(t)
	k.pass(heartbeat)
	k.hear(state{reqID: k.unansweredPoll, isFull: true, seq: 2, hash: "h2",
		snapshot: snapshot{endpointURL: "ws://x", status: statusDraining}})
	k.pass(heartbeat)
	require.Equal(t, wire.Active, k.lastPoll().Status)
	k.apply(agentRecord{isDraining: true})
	k.known()
	k.pass(heartbeat)
	require.Equal(t, wire.Draining, k.lastPoll().Status)
	k.known()
	k.take(k.takeRecord(9, agentRecord{}))
	k.pass(heartbeat)
	require.Equal(t, wire.Active, k.lastPoll().Status)
}

// A row that was read while an answer arrived may be older than the answer.
func TestAReadDoesNotReplaceALaterAnswer(t *testing.T) {
	t.Parallel()
	k := joined(t)
	k.take(k.takeRecord(5, agentRecord{isDraining: true}))
	_, ok := k.takeRow(5, agentRecord{})
	require.False(t, ok)
	require.True(t, k.record.isDraining)
	_, ok = k.takeRow(6, agentRecord{})
	require.True(t, ok)
	require.False(t, k.record.isDraining)
}

// When an agent's process has opened another connection, the old connection is polled at once for a full state.
func TestADoubtedAgentIsPolledAtOnce(t *testing.T) {
	t.Parallel()
	k := joined(t)
	sent := len(k.polls)
	for range 2 {
		e, ok := k.takeRow(9, agentRecord{isDoubted: true})
		require.True(t, ok)
		k.take(e)
	}
	require.Len(t, k.polls, sent+1)
	require.Nil(t, k.lastPoll().KnownHash)
	k.known()
	require.Equal(t, []job{confirmJob{k.now, true}}, k.jobs,
		"the lane joins the agent again with its last reported state")

	k = joined(t)
	k.pass(heartbeat)
	e, _ := k.takeRow(9, agentRecord{isDoubted: true})
	require.Empty(t, e.frames, "a poll is outstanding")
}

func TestAFencedAgentIsClosed(t *testing.T) {
	t.Parallel()
	k := joined(t)
	k.take(k.endFenced())
	k.take(k.endFenced())
	k.ends(4003, "")
}

func TestAReplicaThatStopsSaysSo(t *testing.T) {
	t.Parallel()
	k := joined(t)
	k.take(k.endConnection(closeInvalid, reasonStopped, "the replica stops"))
	k.ends(4003, "room_destroyed")
}

// For any sequence of events: agents can decode each frame, at most one poll is outstanding, nothing is sent after the
// end, and there is no job before the first snapshot.
func TestAnyConversation(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		k := newTalk(t)
		outstanding := 1
		t.Repeat(map[string]func(*rapid.T){
			"pass": func(t *rapid.T) { k.pass(time.Duration(rapid.Int64Range(0, int64(heartbeat)).Draw(t, "time"))) },
			"reply": func(t *rapid.T) {
				k.random = rapid.Float64Range(0, 0.999).Draw(t, "random")
				k.hear(state{
					reqID: rapid.SampledFrom([]string{k.unansweredPoll, k.unansweredPoll, k.unansweredPoll,
						"poll_1"}).Draw(t, "id"), isFull: rapid.Bool().Draw(t, "full"),
					seq:      rapid.Uint32Range(0, 9).Draw(t, "seq"),
					snapshot: snapshot{endpointURL: rapid.SampledFrom([]string{"ws://x", "x"}).Draw(t, "url")},
				})
			},
			"command": func(t *rapid.T) {
				e, _ := k.sendCommand(command{id: rapid.StringMatching(`[ab]`).Draw(t, "command"), op: rapid.SampledFrom([]string{opCreate, opDrain}).Draw(t, "op")})
				k.take(e)
			},
			"ack": func(t *rapid.T) { k.hear(ack{commandID: rapid.StringMatching(`[ab]`).Draw(t, "command")}) },
			"read": func(t *rapid.T) {
				e, _ := k.takeRow(1<<60,
					agentRecord{isDraining: rapid.Bool().Draw(t, "draining"),
						isDoubted: rapid.Bool().Draw(t, "doubted")})
				k.take(e)
			},
			"": func(t *rapid.T) {
				replies := 0
				for _, n := range k.notes {
					if n.outcome == outcomeReplied {
						replies++
					}
				}
				require.LessOrEqual(t, len(k.polls), replies+outstanding)
				require.Equal(t, k.closing != nil, k.hasEnded)
				if len(k.jobs) > 0 {
					require.IsType(t, snapshotJob{}, k.jobs[0])
				}
			},
		})
	})
}
