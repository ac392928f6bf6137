package orchestrator

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/coder/websocket"
)

// A miss is a tick at which the last poll is unanswered. After so many misses in a row an agent is stale, or evicted.
const (
	staleMisses   = 2
	evictedMisses = 3
)

const (
	fullEvery = 12 // polls 1, 13, 25, … of a connection ask for a full state
	// commands that a connection remembers until they are acked, including commands that have timed out
	maxUnacked = 1_024
	maxAcked   = 256 // several times as many as an agent can have in flight

	pollsPrefix = "poll_"

	// upstream's close reason: its agents are in a room, which it destroys when it stops
	reasonStopped = "room_destroyed"
)

// conversation is the state of one agent connection. Each method handles one event and returns the effects that the
// caller has to carry out. The methods are pure: the caller has the clock, the socket and the database. Not safe for
// concurrent use.
type conversation struct {
	instanceID string
	heartbeat  time.Duration
	checkKey   func(*snapshot) error // returns an error if the agent's key does not allow a snapshot
	now        func() time.Time

	pollCount      int
	unansweredPoll string // the reqId of the unanswered poll; empty if there is none
	polledAt       time.Time
	missedPolls    int       // in a row
	heardAt        time.Time // when the last reply came

	hasState    bool    // a full state was accepted, so the agent has a row or will get one
	acceptedSeq uint32  // the seq of the newest accepted full state
	knownHash   *string // of the last applied full state; nil if there is none

	record     agentRecord // as the database last returned it
	recordedAt moment
	joinedAt   moment // if knownHash is set

	unackedCommands map[string]sentCommand // by the id of the command
	// the latest ids, oldest first: a list of pending commands that was read before the ack may still contain them
	ackedIDs  []string
	sentCount int
	hasEnded  bool
}

// agentRecord is what the database holds of an agent.
type agentRecord struct {
	isDraining bool // polls carry this flag
	needsReply bool // the database waits for the next reply, which shows whether the agent has created certain rooms
	// the agent's process has opened another connection, so this one is polled at once to check that it still works
	isDoubted bool
}

// moment is a logical time of this replica: it orders the answers of the database.
type moment int64

// sentCommand is a command that waits for its ack.
type sentCommand struct {
	command command

	number int // counts the commands of the connection
	sentAt time.Time
}

func newConversation(instanceID string, heartbeat time.Duration, checkKey func(*snapshot) error,
	now func() time.Time) *conversation {
	return &conversation{instanceID: instanceID, heartbeat: heartbeat, checkKey: checkKey, now: now,
		unackedCommands: map[string]sentCommand{}}
}

// beginPolling is the first event: the key was accepted.
func (c *conversation) beginPolling() (e effects) {
	e.frames = append(e.frames, hello{c.instanceID, c.heartbeat}.encodeFrame())
	c.sendPoll(&e)
	return e
}

// firstTick and nextTick return the time until the next tick; random is in [0, 1). By it, the ticks of agents that
// joined at the same time spread out.
func (c *conversation) firstTick(random float64) time.Duration {
	return c.partOfHeartbeat(0.5 + random/2)
}
func (c *conversation) nextTick(random float64) time.Duration {
	return c.partOfHeartbeat(0.95 + random/10)
}

func (c *conversation) partOfHeartbeat(share float64) time.Duration {
	return time.Duration(share * float64(c.heartbeat))
}

// tickPoll sends the next poll, or counts a miss if the last one is not answered.
func (c *conversation) tickPoll() (e effects) {
	if c.hasEnded {
		return e
	}
	if c.unansweredPoll != "" {
		c.countMiss(&e)
		return e
	}
	c.sendPoll(&e)
	return e
}

// sendPoll asks for the state of the agent: the whole state each fullEvery polls, otherwise only if it differs from the
// known one.
func (c *conversation) sendPoll(e *effects) {
	c.pollCount++
	c.polledAt, c.unansweredPoll = c.now(), pollsPrefix+strconv.Itoa(c.pollCount)
	p := poll{reqID: c.unansweredPoll, status: statusActive}
	if c.record.isDraining {
		p.status = statusDraining
	}
	// Without a hash the agent sends its whole state. A doubted agent has to send it, since it is listed again by a join.
	if c.pollCount%fullEvery != 1 && !c.record.isDoubted {
		p.knownHash = c.knownHash
	}
	e.frames = append(e.frames, p.encodeFrame())
}

// countMiss counts a poll without an answer, of which the third in a row ends the connection.
func (c *conversation) countMiss(e *effects) {
	c.missedPolls++
	e.notes = append(e.notes, note{outcome: outcomeMissed})
	if c.missedPolls >= evictedMisses {
		// This miss is no job: the end of the connection queues the leave of the agent.
		c.closeWith(e, closeInvalid, "", "evicted: three polls in a row were not answered")
		return
	}
	if c.hasState {
		e.jobs = append(e.jobs, missJob{c.missedPolls, c.heardAt})
	}
}

func (c *conversation) closeWith(e *effects, code websocket.StatusCode, reason, cause string) {
	c.hasEnded = true
	e.closeFrame = &violation{closeCode: code, closeReason: reason, cause: cause}
}

// takeMessage handles a message of the agent, as decodeFrame has decoded it.
func (c *conversation) takeMessage(message any, err error) (e effects) {
	if c.hasEnded {
		return e
	}
	switch err := err.(type) { //nolint:errorlint // decodeFrame returns these types, not wrapped
	case *violation:
		c.closeWith(&e, err.closeCode, err.closeReason, err.cause)
		return e
	case *dropped:
		e.notes = append(e.notes, note{outcome: outcomeDropped, topic: err.topic, cause: err.cause,
			byteCount: err.byteCount})
		return e
	}
	switch m := message.(type) {
	case state:
		c.takeReply(&e, m)
	case ack:
		c.takeAck(&e, m)
	}
	return e
}

// takeReply consumes the outstanding poll before it judges what the reply contains.
func (c *conversation) takeReply(e *effects, s state) {
	if c.unansweredPoll == "" || s.reqID != c.unansweredPoll {
		// Only a reply to the last poll counts: any other would give a wrong reply time, and an older state.
		c.closeWith(e, closeInvalid, "", "state that answers no outstanding poll")
		return
	}
	c.unansweredPoll, c.heardAt = "", c.now()
	// A count of 0 takes back the misses that the database has, and those that still wait in the queue.
	if c.missedPolls > 0 && c.hasState {
		e.jobs = append(e.jobs, missJob{0, c.heardAt})
	}
	c.missedPolls = 0
	e.notes = append(e.notes, note{outcome: outcomeReplied, took: c.heardAt.Sub(c.polledAt)})
	if s.isFull {
		refusal := c.refuseState(s)
		if refusal == nil {
			// Even an equal state is a job: only the lane knows what the database has.
			c.hasState, c.acceptedSeq = true, s.seq
			e.jobs = append(e.jobs, snapshotJob{&s.snapshot, s.hash, s.seq, c.heardAt})
			return
		}
		e.notes = append(e.notes, *refusal)
	}
	// A state that is refused still proves that the agent answers.
	if c.hasState {
		e.jobs = append(e.jobs, confirmJob{receivedAt: c.heardAt, isUnchanged: !s.isFull})
	}
}

// refuseState returns why a full state must not be applied; nil: it may be.
func (c *conversation) refuseState(s state) *note {
	if err := cmp.Or(s.checkLimits(), c.checkKey(&s.snapshot)); err != nil {
		return &note{outcome: outcomeRefused, topic: topicState, cause: err.Error()}
	}
	if c.hasState && s.seq <= c.acceptedSeq {
		return &note{outcome: outcomeOld, topic: topicState, cause: "seq does not grow"}
	}
	return nil
}

// takeAck accepts the answer to a command of this connection, once, even after the command's timeout.
func (c *conversation) takeAck(e *effects, a ack) {
	s, waits := c.unackedCommands[a.commandID]
	if !waits {
		c.closeWith(e, closeInvalid, "", "ack of a command that does not wait for one")
		return
	}
	delete(c.unackedCommands, a.commandID)
	// The list only has to outlive a read of pending commands that is under way, so the oldest ids may go.
	if len(c.ackedIDs) == maxAcked {
		c.ackedIDs = c.ackedIDs[1:]
	}
	c.ackedIDs = append(c.ackedIDs, a.commandID)
	e.jobs = append(e.jobs, ackJob{s.command, a, c.now().Sub(s.sentAt)})
}

// sendCommand sends a command, once. It returns false if the connection cannot send it.
func (c *conversation) sendCommand(cmd command) (e effects, ok bool) {
	// Without a full state the agent has no row, and a command is for a row.
	if c.hasEnded || !c.hasState {
		return e, false
	}
	// A list of pending commands that was read before the ack, or while the agent works, has a command that was sent. It
	// must not be sent twice.
	if _, waits := c.unackedCommands[cmd.id]; waits || slices.Contains(c.ackedIDs, cmd.id) {
		return e, true
	}
	// The memory for an agent that never acks is bounded. A late ack of a forgotten command closes the connection.
	if len(c.unackedCommands) >= maxUnacked {
		c.forgetOldest()
	}
	c.sentCount++
	c.unackedCommands[cmd.id] = sentCommand{cmd, c.sentCount, c.now()}
	e.frames = append(e.frames, cmd.encodeFrame())
	return e, true
}

// forgetOldest forgets the command that was sent first of those that wait for their acks.
func (c *conversation) forgetOldest() {
	oldest, number := "", c.sentCount+1
	for id, s := range c.unackedCommands {
		if s.number < number {
			oldest, number = id, s.number
		}
	}
	delete(c.unackedCommands, oldest)
}

// takeApplied handles the database's answer to a full state.
func (c *conversation) takeApplied(at moment, hash string, r agentRecord) effects {
	// With its first applied state the agent has a row.
	if c.knownHash == nil {
		c.joinedAt = at
	}
	c.knownHash = &hash
	return c.takeRecord(at, r)
}

// takeUnchanged handles a full state that is equal to the last applied one. It has no effects.
func (c *conversation) takeUnchanged(hash string) (e effects) {
	// The hash is the agent's own and may differ for equal content: polls echo the last one.
	c.knownHash = &hash
	return e
}

// takeRecord handles an answer of the database.
func (c *conversation) takeRecord(at moment, r agentRecord) (e effects) {
	c.recordedAt = at
	c.keepRecord(&e, r)
	return e
}

// takeRow handles a row read by a statement that began at since. It returns false if the database has answered another
// call after that, because it is then unknown which of the two is newer.
func (c *conversation) takeRow(since moment, r agentRecord) (e effects, ok bool) {
	if c.recordedAt >= since {
		return e, false
	}
	c.keepRecord(&e, r)
	return e, true
}

// joinedBefore reports whether the agent already had a row at a moment.
func (c *conversation) joinedBefore(at moment) bool { return c.knownHash != nil && c.joinedAt < at }

func (c *conversation) keepRecord(e *effects, r agentRecord) {
	newlyDoubted := r.isDoubted && !c.record.isDoubted
	c.record = r
	// A doubted agent is polled now, and not with the next tick: it is not listed until it answers.
	if newlyDoubted && c.unansweredPoll == "" && !c.hasEnded {
		c.sendPoll(e)
	}
}

// endFenced handles the event that the agent's row is deleted or belongs to another replica.
func (c *conversation) endFenced() effects {
	return c.endConnection(closeInvalid, "", "fenced: the agent's row has left or belongs to another replica")
}

// endConnection ends the connection, unless it has already ended.
func (c *conversation) endConnection(code websocket.StatusCode, reason, cause string) (e effects) {
	if !c.hasEnded {
		c.closeWith(&e, code, reason, cause)
	}
	return e
}

// takeClose handles the event that the socket is closed. It reports whether the agent has a row or may get one.
func (c *conversation) takeClose() (mayHaveRow bool) {
	c.hasEnded = true
	return c.hasState
}
