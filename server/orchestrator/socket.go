package orchestrator

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/server/ws"
)

const (
	writeTimeout = 5 * time.Second
	pingEvery    = 30 * time.Second
	pongWithin   = 2 * pingEvery
)

// socket is a connection of an agent. It passes events to the conversation and carries out the effects that the
// conversation returns. One goroutine reads, and at most one goroutine at a time writes.
type socket struct {
	replica *replica

	agentID string
	key     key
	conn    *ws.Conn
	log     *slog.Logger
	lane    *lane

	mu            sync.Mutex
	conversation  *conversation // guarded by mu, like the fields below
	queuedJobs    jobQueue
	laneIsRunning bool
	outbox        [][]byte
	isWriting     bool
	closeFrame    *violation // the close frame to send after the outbox; nil: the connection stays open
	hasEnded      bool       // the leave job is queued; no job follows
	tickTimer     *time.Timer
	running       sync.WaitGroup // goroutines of the socket
}

func newSocket(r *replica, conn *ws.Conn, k key) *socket {
	o := r.server.options
	random := make([]byte, 8)
	_, _ = rand.Read(random) // never fails, by its contract
	s := &socket{replica: r, agentID: hex.EncodeToString(random), key: k, conn: conn}
	s.log = o.Log.With(slog.String("agent", s.agentID))
	s.conversation = newConversation(s.agentID, o.Heartbeat, k.checkSnapshot, time.Now)
	s.lane = &lane{
		store: o.Store, agentRef: db.AgentRef{Region: o.Region, ID: s.agentID, ReplicaID: r.id}, agentKey: k, host: s,
		log:        o.Log,
		retryDelay: retryDelay,
	}
	return s
}

// retryDelay grows from 0.1 s to 1 s. Half of it is random, so that the lanes of a replica do not retry at the same
// time.
func retryDelay(attempt int) time.Duration {
	d := min(time.Second, 100*time.Millisecond<<min(attempt, 4))
	return d/2 + time.Duration(float64(d/2)*randomFloat())
}

// randomFloat returns a number in [0, 1).
func randomFloat() float64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails, by its contract
	return float64(binary.LittleEndian.Uint64(b[:])>>11) / (1 << 53)
}

// serveConn runs the connection until it ends. Jobs that still wait for the database continue after serve has returned.
func (s *socket) serveConn() {
	r := s.replica
	defer r.server.agentSlots.Release()
	// The replica stopped between the handshake and here.
	if !r.sockets.Add(s.agentID, s) {
		s.conn.Close(closeInvalid, reasonStopped, closeTimeout)
		return
	}
	defer r.sockets.Remove(s.agentID)
	s.log.LogAttrs(context.Background(), slog.LevelDebug, "agent connected", slog.String("key", s.key.fingerprint))
	s.greetAgent()
	s.startTicks()
	stopPings := s.conn.KeepAlive(s.pingOptions(), s.onSilence)
	s.endReading(r.server.guard.Do("agent socket", s.readMessages))
	stopPings()
	s.running.Wait()
}

func (s *socket) pingOptions() ws.Pings {
	return ws.Pings{Every: pingEvery, Within: pongWithin, Guard: s.replica.server.guard, Goroutine: "agent ping"}
}

// onSilence cuts a connection whose agent does not answer pings, whatever else it sends.
func (s *socket) onSilence(bool) (goOn bool) {
	s.cutLost(errors.New("pings are not answered"))
	return false
}

// greetAgent sends the hello and the first poll before anything is read.
func (s *socket) greetAgent() {
	s.mu.Lock()
	s.isWriting = true // This goroutine is the writer.
	s.carryOut(s.conversation.beginPolling())
	s.mu.Unlock()
	s.runWriter()
}

func (s *socket) startTicks() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hasEnded {
		return
	}
	s.tickTimer = time.AfterFunc(s.conversation.firstTick(randomFloat()), s.onTick)
}

func (s *socket) onTick() {
	s.cutOnPanic("agent tick", func() error {
		s.handleEvent(func(c *conversation) effects { return c.tickPoll() })
		s.mu.Lock()
		defer s.mu.Unlock()
		if !s.hasEnded {
			s.tickTimer.Reset(s.conversation.nextTick(randomFloat()))
		}
		return nil
	})
}

// cutOnPanic ends the connection if fn panics, also while it is being closed.
func (s *socket) cutOnPanic(goroutine string, fn func() error) {
	if err := s.replica.server.guard.Do(goroutine, fn); err != nil {
		s.cutLost(err)
		s.conn.Cut()
	}
}

// handleEvent passes an event to the conversation and carries out the returned effects.
func (s *socket) handleEvent(event func(*conversation) effects) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.carryOut(event(s.conversation))
}

// carryOut is called with mu locked.
func (s *socket) carryOut(e effects) {
	if s.hasEnded {
		return
	}
	for _, j := range e.jobs {
		if !s.queuedJobs.pushJob(j) {
			e.notes = append(e.notes, note{outcome: outcomeLost, topic: topicAck,
				cause: "too many acks wait for the database"})
		}
	}
	s.countNotes(e)
	s.outbox = append(s.outbox, e.frames...)
	if e.closeFrame != nil {
		s.closeFrame = e.closeFrame
		s.logEnd()
		s.queueLeave()
	}
	s.startLane()
	if !s.isWriting && (len(s.outbox) > 0 || s.closeFrame != nil) {
		s.isWriting = true
		s.running.Go(s.runWriter)
	}
}

// countNotes counts and logs the notes.
func (s *socket) countNotes(e effects) {
	for _, n := range e.notes {
		s.replica.server.metrics.messages.WithLabelValues(n.outcome).Inc()
		switch n.outcome {
		case outcomeReplied:
			s.replica.server.metrics.pollSeconds.Observe(n.took.Seconds())
		case outcomeMissed:
		default:
			s.log.LogAttrs(context.Background(), slog.LevelWarn, "message of an agent ignored",
				slog.String("outcome", n.outcome), slog.String("topic", n.topic), slog.String("cause", n.cause),
				slog.Int("bytes", n.byteCount))
		}
	}
	for _, j := range e.jobs {
		if a, is := j.(ackJob); is {
			s.replica.server.metrics.countAck(a)
		}
	}
}

func (s *socket) startLane() {
	if s.laneIsRunning || len(s.queuedJobs.queuedJobs) == 0 {
		return
	}
	s.laneIsRunning = true
	s.running.Go(func() {
		err := s.replica.server.guard.Do("agent lane", func() error {
			s.lane.runJobs(s.replica.laneContext)
			return nil
		})
		if err != nil { // a panic: the job is lost, but the agent must still leave
			s.cutLost(err)
			s.mu.Lock()
			defer s.mu.Unlock()
			s.laneIsRunning = false
			s.startLane()
		}
	})
}
