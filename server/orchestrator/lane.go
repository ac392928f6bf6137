package orchestrator

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/base/wait"
)

// Lanes is the part of db.Store that lanes call.
type Lanes interface {
	JoinAgent(ctx context.Context, j db.AgentJoin) (db.AgentState, error)
	ApplySnapshot(ctx context.Context, s db.AgentSnapshot) (db.AgentState, error)
	MarkMissed(ctx context.Context, m db.AgentMiss) error
	AcknowledgeCommand(ctx context.Context, a db.CommandAck) (db.AgentState, error)
	LeaveAgent(ctx context.Context, ref db.AgentRef) error
}

// lane writes the reports of one connection to the database: in order and one call at a time, so that an ack and the
// state that follows it keep their order. It retries a call while the database does not answer. Only one goroutine at a
// time runs a lane.
type lane struct {
	store      Lanes
	agentRef   db.AgentRef
	agentKey   agentKey
	host       laneHost
	log        *slog.Logger
	retryDelay func(attempt int) time.Duration // returns the delay after the given number of failed attempts

	appliedContent *content // the last applied content; nil before the agent has joined
	// drainAcked says that a drain or undrain was acked after that content was applied: the next reply shows whether the
	// agent still has that status.
	drainAcked bool
}

// laneHost is the connection of a lane. Its methods are safe for concurrent use.
type laneHost interface {
	nextJob() job // nil: there is no job, and runJobs returns
	lastRecord() agentRecord
	takeRecord(r agentRecord)
	takeApplied(hash string, r agentRecord)
	takeUnchanged(hash string) // the content equals the applied content; no database call was made
	endFenced()                // the agent no longer belongs to this replica
}

// laneTimeout bounds a call of a lane, which a frozen connection to the database would block otherwise. The store's own
// timeouts are shorter.
const laneTimeout = 15 * time.Second

// runJobs executes the jobs of the connection until there are none.
func (l *lane) runJobs(ctx context.Context) {
	for j := l.host.nextJob(); j != nil; j = l.host.nextJob() {
		if !l.retryJob(ctx, j) {
			return
		}
	}
}

// retryJob retries a job until the database has answered. It returns false if the lane must not run further jobs.
func (l *lane) retryJob(ctx context.Context, j job) bool {
	for attempt := 0; ; attempt++ {
		err := l.runJob(ctx, j)
		switch {
		case err == nil:
			return true
		// A call that was cut off may fail with an error of any kind.
		case ctx.Err() != nil:
			return false
		case fault.Is(err, fault.Superseded):
			l.host.endFenced()
			return false
		case !isTemporary(err):
			// Another attempt would fail as well. The job is left out; the next full state has what it would have written.
			l.log.LogAttrs(ctx, slog.LevelWarn, "an agent's report was not recorded",
				slog.String("agent", l.agentRef.ID),
				slog.Any("error", err))
			return true
		}
		if !wait.For(ctx, l.retryDelay(attempt)) {
			return false
		}
	}
}

func isTemporary(err error) bool {
	return fault.Is(err, fault.Unavailable) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, context.Canceled)
}

func (l *lane) runJob(ctx context.Context, j job) error {
	ctx, cancel := context.WithTimeout(ctx, laneTimeout)
	defer cancel()
	switch j := j.(type) {
	case snapshotJob:
		return l.applySnapshot(ctx, newContent(j), j.receivedAt)
	case confirmJob:
		return l.confirmReply(ctx, j)
	case ackJob:
		return l.recordAck(ctx, j)
	case missJob:
		// The database gets the age of the reply and not its time, because it uses its own clock.
		return l.store.MarkMissed(ctx, db.AgentMiss{Ref: l.agentRef, MissedPolls: j.missedPolls,
			ReplyAge: time.Since(j.heardAt)})
	case leaveJob:
		return l.store.LeaveAgent(ctx, l.agentRef)
	}
	return nil
}

// applySnapshot writes a full state: the whole state if the agent joins, otherwise the differences from the last
// applied one.
func (l *lane) applySnapshot(ctx context.Context, c *content, receivedAt time.Time) error {
	record := l.host.lastRecord()
	// A doubted agent has answered, and is listed again.
	if l.appliedContent == nil || record.isDoubted {
		return l.joinAgent(ctx, c, receivedAt)
	}
	// Most replies differ in a few rooms, and an agent may have 50,000.
	agent, changed, removed := c.differencesFrom(l.appliedContent)
	// The database is not called for a state that it has, unless a command waits for what the next reply shows.
	if agent == nil && len(changed)+len(removed) == 0 && !record.needsReply && !l.drainAcked {
		l.appliedContent = c
		l.host.takeUnchanged(c.stateHash)
		return nil
	}
	stored, err := l.store.ApplySnapshot(ctx, db.AgentSnapshot{
		Ref: l.agentRef, Content: agent, ChangedRooms: changed, RemovedRawIDs: removed, StateHash: c.stateHash,
		ReplySeq: int64(c.stateSeq),
		ReplyAge: time.Since(receivedAt),
	})
	if err != nil {
		return err
	}
	l.appliedContent, l.drainAcked = c, false
	l.host.takeApplied(c.stateHash, recordOf(stored))
	return nil
}

// joinAgent lists the agent by a whole state: the first one, or the one with which a doubted agent answers.
func (l *lane) joinAgent(ctx context.Context, c *content, receivedAt time.Time) error {
	stored, err := l.store.JoinAgent(ctx, db.AgentJoin{
		Ref: l.agentRef, KeyFingerprint: l.agentKey.fingerprint, KeyID: l.agentKey.rowID, Content: c.agent,
		ReportedRooms: slices.Collect(maps.Values(c.roomsByID)),
		StateHash:     c.stateHash, ReplySeq: int64(c.stateSeq), ReplyAge: time.Since(receivedAt),
	})
	if err != nil {
		return err
	}
	l.appliedContent, l.drainAcked = c, false
	l.host.takeApplied(c.stateHash, recordOf(stored))
	return nil
}

// confirmReply writes a reply without new content, if the database needs it.
func (l *lane) confirmReply(ctx context.Context, j confirmJob) error {
	record := l.host.lastRecord()
	switch {
	case l.appliedContent == nil:
		return nil // the agent's first full state could not be applied
	case record.isDoubted:
		return l.joinAgent(ctx, l.appliedContent, j.receivedAt)
	// Nothing waits for this reply.
	case !record.needsReply && !l.drainAcked:
		return nil
	// The reply had a full state that was refused, so it says nothing of the applied one.
	case !j.isUnchanged:
		return nil
	}
	stored, err := l.store.ApplySnapshot(ctx,
		db.AgentSnapshot{Ref: l.agentRef, StateHash: l.appliedContent.stateHash,
			ReplySeq: int64(l.appliedContent.stateSeq),
			ReplyAge: time.Since(j.receivedAt)})
	if err != nil {
		return err
	}
	l.drainAcked = false
	l.host.takeRecord(recordOf(stored))
	return nil
}

// maxFailureBytes limits the part of an agent's error text that the store gets; it stores the first 512 bytes.
const maxFailureBytes = 1024

// recordAck stores the result of a command. It drops a destroyed room from the applied content, with which the next
// state is compared.
func (l *lane) recordAck(ctx context.Context, j ackJob) error {
	id, err := uuid.Parse(j.command.id)
	if err != nil {
		return err // cannot fail: the id was sent to the agent
	}
	// The cut may split a character, of which the rest is dropped.
	failure := strings.ToValidUTF8(j.ack.failureText[:min(len(j.ack.failureText), maxFailureBytes)], "")
	a := db.CommandAck{
		AgentRef: l.agentRef, CommandID: id, IsOK: j.ack.succeeded, AlreadyGone: j.ack.alreadyGone,
		// In an ack of success the field has no meaning.
		RoomExists: j.ack.roomExists && !j.ack.succeeded,
		// Postgres cannot store U+0000.
		FailureText: strings.ReplaceAll(failure, "\x00", ""),
		RoomType:    j.command.roomType, RawID: j.command.roomID,
	}
	stored, err := l.store.AcknowledgeCommand(ctx, a)
	if err != nil {
		return err
	}
	if j.ack.succeeded && j.command.op == opDestroy && l.appliedContent != nil {
		// The database has deleted the room: if the agent reports it again, it is a new room.
		delete(l.appliedContent.roomsByID, j.command.roomID)
	}
	l.drainAcked = l.drainAcked || j.ack.succeeded && (j.command.op == opDrain || j.command.op == opUndrain)
	l.host.takeRecord(recordOf(stored))
	return nil
}

func recordOf(s db.AgentState) agentRecord {
	return agentRecord{isDraining: s.RecordedStatus == db.AgentDraining, needsReply: s.OwesSnapshot,
		isDoubted: s.IsDoubted}
}
