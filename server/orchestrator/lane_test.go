package orchestrator

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
)

// ledger is a fake store: it records the calls of a lane and fails as configured.
type ledger struct {
	joins     []db.AgentJoin
	snapshots []db.AgentSnapshot
	misses    []int
	acks      []db.CommandAck
	left      int
	order     []string
	fails     []error // of the next calls
	answer    db.AgentState
}

func (l *ledger) call(name string) error {
	l.order = append(l.order, name)
	if len(l.fails) == 0 {
		return nil
	}
	err := l.fails[0]
	l.fails = l.fails[1:]
	return err
}

func (l *ledger) JoinAgent(_ context.Context, j db.AgentJoin) (db.AgentState, error) {
	err := l.call("join " + j.StateHash)
	if err == nil {
		l.joins = append(l.joins, j)
	}
	return l.answer, err
}

func (l *ledger) ApplySnapshot(_ context.Context, s db.AgentSnapshot) (db.AgentState, error) {
	err := l.call("apply " + s.StateHash)
	if err == nil {
		l.snapshots = append(l.snapshots, s)
	}
	return l.answer, err
}

func (l *ledger) MarkMissed(_ context.Context, m db.AgentMiss) error {
	l.misses = append(l.misses, m.MissedPolls)
	return l.call("miss")
}

func (l *ledger) AcknowledgeCommand(_ context.Context, a db.CommandAck) (db.AgentState, error) {
	l.acks = append(l.acks, a)
	return l.answer, l.call("ack")
}

func (l *ledger) LeaveAgent(context.Context, db.AgentRef) error {
	l.left++
	return l.call("leave")
}

// seat is the fake connection of the lane under test. The lane runs in the goroutine of the test.
type seat struct {
	jobQueue

	is     agentRecord
	known  string // hash
	closed bool
}

func (h *seat) nextJob() job                        { return h.popJob() }
func (h *seat) lastRecord() agentRecord             { return h.is }
func (h *seat) takeRecord(r agentRecord)            { h.is = r }
func (h *seat) takeApplied(s string, r agentRecord) { h.known, h.is = s, r }
func (h *seat) takeUnchanged(s string)              { h.known = s }
func (h *seat) endFenced()                          { h.closed = true }

type laneTest struct {
	*lane

	t      *testing.T
	ledger *ledger
	seat   *seat
	waited int // retries
	seq    uint32
}

func newLaneTest(t *testing.T) *laneTest {
	k := &laneTest{t: t, ledger: &ledger{answer: db.AgentState{RecordedStatus: db.AgentActive}}, seat: &seat{}}
	k.lane = &lane{
		store: k.ledger, agentRef: db.AgentRef{Region: "global", ID: "562cfc2cbeef8cf4", ReplicaID: uuid.New()},
		agentKey: agentKey{fingerprint: "key#01234567"},
		host:     k.seat, log: slog.New(slog.DiscardHandler),
		retryDelay: func(int) time.Duration { k.waited++; return 0 },
	}
	return k
}

func (k *laneTest) push(jobs ...job) {
	for _, j := range jobs {
		require.True(k.t, k.seat.pushJob(j))
	}
}

// does runs the jobs and compares the calls since its last use.
func (k *laneTest) does(calls ...string) {
	k.t.Helper()
	k.runJobs(k.t.Context())
	require.Equal(k.t, calls, k.ledger.order)
	k.ledger.order = nil
}

func (k *laneTest) snapshot(hash string, rooms ...room) snapshotJob {
	k.seq++
	return snapshotJob{&snapshot{name: "eu0", endpointURL: "ws://x", labels: map[string]string{"a": "b"},
		roomTypes: []string{"match"}, rooms: rooms}, hash, k.seq, time.Now()}
}

func room1(id string, players uint32) room { return room{id, "match", players, false} }

func ackOf(op, raw string, ok bool) ackJob {
	return ackJob{command{uuid.NewString(), op, raw, "match"}, ack{succeeded: ok}, time.Second}
}

func TestTheFirstSnapshotJoinsAndLaterOnesSendWhatDiffers(t *testing.T) {
	t.Parallel()
	k := newLaneTest(t)
	k.push(k.snapshot("h1", room1("a", 1), room1("b", 2), room1("b", 3)))
	k.does("join h1")
	join := k.ledger.joins[0]
	require.Equal(t, "key#01234567", join.KeyFingerprint)
	require.Equal(t, int64(1), join.ReplySeq)
	require.Equal(t, db.AgentContent{Name: "eu0", EndpointURL: "ws://x", Labels: map[string]string{"a": "b"},
		RoomTypes: []string{"match"}}, join.Content)
	require.ElementsMatch(t, []db.ReportedRoom{{RawID: "a", Type: "match", ConnectionCount: 1},
		{RawID: "b", Type: "match", ConnectionCount: 3}}, join.ReportedRooms)
	require.Equal(t, "h1", k.seat.known)

	k.push(k.snapshot("h2", room1("a", 1), room1("c", 2)))
	k.does("apply h2")
	s := k.ledger.snapshots[0]
	require.Nil(t, s.Content)
	require.Equal(t, []db.ReportedRoom{{RawID: "c", Type: "match", ConnectionCount: 2}}, s.ChangedRooms)
	require.Equal(t, []string{"b"}, s.RemovedRawIDs)

	changed := k.snapshot("h3", room1("a", 1), room1("c", 2))
	changed.content.capacity.maxRooms = new(int32(0))
	k.push(changed)
	k.does("apply h3")
	require.Equal(t, new(int32(0)), k.ledger.snapshots[1].Content.MaxRooms)
	require.Empty(t, k.ledger.snapshots[1].ChangedRooms)
}

// Equal content is not written, even if the agent's hash differs; the next poll carries the new hash.
func TestEqualContentIsNotWritten(t *testing.T) {
	t.Parallel()
	k := newLaneTest(t)
	k.push(k.snapshot("h1", room1("a", 1)))
	k.does("join h1")
	k.push(k.snapshot("h2", room1("a", 1)))
	k.does()
	require.Equal(t, "h2", k.seat.known)
	k.seat.is.needsReply = true
	k.push(k.snapshot("h3", room1("a", 1)))
	k.does("apply h3")
	require.Nil(t, k.ledger.snapshots[0].Content)
}

// A reply without content is written only while the database waits for it.
func TestConfirmations(t *testing.T) {
	t.Parallel()
	k := newLaneTest(t)
	k.push(confirmJob{time.Now(), true})
	k.does()
	k.push(k.snapshot("h1", room1("a", 1)))
	k.does("join h1")
	k.push(confirmJob{time.Now(), true})
	k.does()
	k.ledger.answer.OwesSnapshot = true
	k.push(ackOf(opCreate, "b", true), confirmJob{time.Now(), true})
	k.does("ack", "apply h1")
	require.Equal(t, db.AgentSnapshot{Ref: k.agentRef, StateHash: "h1", ReplySeq: 1,
		ReplyAge: k.ledger.snapshots[0].ReplyAge}, k.ledger.snapshots[0])

	k.push(confirmJob{time.Now(), false})
	k.does() // the agent's state is unknown, so this reply settles no room

	k.ledger.answer = db.AgentState{IsDoubted: true}
	k.push(ackOf(opDrain, "", true))
	k.does("ack")
	k.ledger.answer = db.AgentState{}
	k.push(confirmJob{time.Now(), true})
	k.does("join h1")
	require.Equal(t, k.ledger.joins[0].ReportedRooms, k.ledger.joins[1].ReportedRooms)
	k.push(confirmJob{time.Now(), true})
	k.does()
}

// An ack and the state that follows it keep their order, and only the newest job of each other kind is kept.
func TestJobsRunInTheOrderReceived(t *testing.T) {
	t.Parallel()
	k := newLaneTest(t)
	k.push(k.snapshot("h1"))
	k.does("join h1")
	k.push(ackOf(opCreate, "a", true), k.snapshot("h2", room1("a", 0)), missJob{1, time.Now()},
		ackOf(opCreate, "b", true), missJob{2, time.Now()},
		confirmJob{time.Now(), true}, k.snapshot("h3", room1("a", 0), room1("b", 0)))
	k.does("ack", "ack", "miss", "apply h3")
	require.Equal(t, []int{2}, k.ledger.misses)
}

func TestAnAgentLeavesAfterItsAcks(t *testing.T) {
	t.Parallel()
	k := newLaneTest(t)
	k.push(k.snapshot("h1"))
	k.does("join h1")
	k.push(ackOf(opCreate, "a", true), k.snapshot("h2"), missJob{1, time.Now()}, leaveJob{}, k.snapshot("h3"),
		ackOf(opDrain, "", true))
	k.does("ack", "leave")

	k = newLaneTest(t)
	k.push(k.snapshot("h1"))
	k.does("join h1")
	k.push(missJob{2, time.Now()}, leaveJob{})
	k.does("miss", "leave")
}

// While the database does not answer, the lane keeps the newest snapshot and 32 acks.
func TestTheQueueIsBounded(t *testing.T) {
	t.Parallel()
	k := newLaneTest(t)
	for range maxAcks {
		k.push(k.snapshot("h"), ackOf(opDrain, "", true), confirmJob{time.Now(), true}, missJob{1, time.Now()})
	}
	require.False(t, k.seat.pushJob(ackOf(opDrain, "", true)))
	require.Len(t, k.seat.queuedJobs, maxAcks+3)
	k.seat.popJob()
	require.True(t, k.seat.pushJob(ackOf(opDrain, "", true)))
}

func TestACallIsRepeatedWhileTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	k := newLaneTest(t)
	away := &fault.Error{Kind: fault.Unavailable, Code: "unavailable"}
	k.ledger.fails = []error{away, context.DeadlineExceeded, away}
	k.push(k.snapshot("h1"), ackOf(opDrain, "", true))
	k.does("join h1", "join h1", "join h1", "join h1", "ack")
	require.Equal(t, 3, k.waited)
}

// Data that the database refuses is dropped; the last applied state stays, and the next state is compared with it.
func TestARefusedWriteIsNotRepeated(t *testing.T) {
	t.Parallel()
	k := newLaneTest(t)
	k.push(k.snapshot("h1", room1("a", 1)))
	k.does("join h1")
	k.ledger.fails = []error{errors.New("a constraint")}
	k.push(k.snapshot("h2"))
	k.does("apply h2")
	require.Equal(t, "h1", k.seat.known)
	k.push(k.snapshot("h3", room1("b", 1)))
	k.does("apply h3")
	require.Equal(t, []string{"a"}, k.ledger.snapshots[0].RemovedRawIDs)
}

func TestAFencedLaneStops(t *testing.T) {
	t.Parallel()
	k := newLaneTest(t)
	k.ledger.fails = []error{&fault.Error{Kind: fault.Superseded}}
	k.push(k.snapshot("h1"), ackOf(opDrain, "", true))
	k.does("join h1")
	require.True(t, k.seat.closed)
}

func TestALaneStopsWithItsContext(t *testing.T) {
	t.Parallel()
	k := newLaneTest(t)
	ctx, cancel := context.WithCancel(t.Context())
	k.retryDelay = func(int) time.Duration { cancel(); return time.Hour }
	k.ledger.fails = slices.Repeat([]error{&fault.Error{Kind: fault.Unavailable}}, 9)
	k.push(k.snapshot("h1"))
	k.runJobs(ctx)
	require.Equal(t, []string{"join h1"}, k.ledger.order)
	require.False(t, k.seat.closed)
}

// A room that a command has destroyed is new when the agent reports it again, even if the report is unchanged.
func TestADestroyedRoomThatIsReportedAgainIsSent(t *testing.T) {
	t.Parallel()
	k := newLaneTest(t)
	k.push(k.snapshot("h1", room1("a", 0)))
	k.does("join h1")
	k.push(ackOf(opDestroy, "a", true), k.snapshot("h2", room1("a", 0)))
	k.does("ack", "apply h2")
	require.Equal(t, []db.ReportedRoom{{RawID: "a", Type: "match"}}, k.ledger.snapshots[0].ChangedRooms)
	k.push(ackOf(opDestroy, "a", false), k.snapshot("h3", room1("a", 0)))
	k.does("ack")
}

// A game server that undrains itself before its next reply reports the same state as before its drain.
func TestTheReplyAfterADrainIsApplied(t *testing.T) {
	t.Parallel()
	k := newLaneTest(t)
	k.push(k.snapshot("h1"))
	k.does("join h1")
	k.push(ackOf(opDrain, "", true), confirmJob{time.Now(), true}, ackOf(opUndrain, "", true), k.snapshot("h1"))
	k.does("ack", "ack", "apply h1")
	k.push(ackOf(opDrain, "", true))
	k.does("ack")
	k.push(confirmJob{time.Now(), true})
	k.does("apply h1")
	k.push(confirmJob{time.Now(), true}, k.snapshot("h1"))
	k.does()
}

func TestAcks(t *testing.T) {
	t.Parallel()
	k := newLaneTest(t)
	j := ackOf(opCreate, "m1", false)
	j.ack.roomExists, j.ack.failureText = true, "a\x00\xff"+string(make([]byte, 2000))
	k.push(j)
	k.does("ack")
	a := k.ledger.acks[0]
	require.Equal(t, db.CommandAck{AgentRef: k.agentRef, CommandID: uuid.MustParse(j.command.id), RoomExists: true,
		FailureText: "a", RoomType: "match", RawID: "m1"}, a)
}
