package orchestrator

import "time"

// effects is the result of an event. The connection sends the frames, passes the jobs to its lane, logs the notes, and
// closes if closeFrame is set.
type effects struct {
	frames     [][]byte
	jobs       []job
	notes      []note
	closeFrame *violation // nil: the connection stays open
}

// job is a write to the database: a snapshotJob, confirmJob, ackJob, missJob or leaveJob.
type job any

// snapshotJob applies a full state.
type snapshotJob struct {
	content    *snapshot
	stateHash  string
	stateSeq   uint32
	receivedAt time.Time
}

// confirmJob applies a reply without new content.
type confirmJob struct {
	receivedAt  time.Time
	isUnchanged bool // the agent reported that nothing has changed; false: it sent a full state that may not be applied
}

// ackJob records the result of a command.
type ackJob struct {
	command   command
	ack       ack
	roundTrip time.Duration // since the command was sent
}

// missJob records the number of unanswered polls in a row; 0 means that the agent answers again.
type missJob struct {
	missedPolls int
	heardAt     time.Time // when the last reply came
}

// leaveJob is the last job of a connection: the agent's row leaves.
type leaveJob struct{}

// note is an event for logs and metrics that does not end the connection. It contains no text that the agent sent.
type note struct {
	outcome   string // one of the constants below
	topic     string
	cause     string
	byteCount int           // of a dropped message
	took      time.Duration // of a reply
}

// The outcomes of polls and of agents' messages, for metrics.
const (
	outcomeReplied = "replied"
	outcomeMissed  = "missed"
	outcomeRefused = "refused" // a snapshot outside the limits
	outcomeOld     = "old"     // a snapshot whose seq is not greater than the last one's
	outcomeDropped = "dropped" // a message that does not decode
	outcomeLost    = "lost"    // an ack that was dropped because the queue was full
)
