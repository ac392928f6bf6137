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

	id   string
	key  key
	conn *ws.Conn
	log  *slog.Logger
	lane *lane

	mu            sync.Mutex
	conversation  *conversation // guarded by mu, like the fields below
	jobs          jobQueue
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
	s := &socket{replica: r, id: hex.EncodeToString(random), key: k, conn: conn}
	s.log = o.Log.With(slog.String("agent", s.id))
	s.conversation = newConversation(s.id, o.Heartbeat, k.admits, time.Now)
	s.lane = &lane{
		store: o.Store, ref: db.AgentRef{Region: o.Region, ID: s.id, Replica: r.id}, key: k, host: s, log: o.Log,
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

// serve runs the connection until it ends. Jobs that still wait for the database continue after serve has returned.
func (s *socket) serve() {
	r := s.replica
	defer r.server.agents.Release()
	// The replica stopped between the handshake and here.
	if !r.sockets.Add(s.id, s) {
		s.conn.Close(closeInvalid, reasonStopped, closeTimeout)
		return
	}
	defer r.sockets.Remove(s.id)
	s.log.LogAttrs(context.Background(), slog.LevelDebug, "agent connected", slog.String("key", s.key.fingerprint))
	s.greet()
	s.startTicks()
	stopPings := s.conn.KeepAlive(s.pings(), s.onSilence)
	s.endReading(r.server.guard.Do("agent socket", s.listen))
	stopPings()
	s.running.Wait()
}

func (s *socket) pings() ws.Pings {
	return ws.Pings{Every: pingEvery, Within: pongWithin, Guard: s.replica.server.guard, Goroutine: "agent ping"}
}

// onSilence cuts a connection whose agent does not answer pings, whatever else it sends.
func (s *socket) onSilence(bool) (goOn bool) {
	s.cutLost(errors.New("pings are not answered"))
	return false
}

// greet sends the hello and the first poll before anything is read.
func (s *socket) greet() {
	s.mu.Lock()
	s.isWriting = true // This goroutine is the writer.
	s.carryOut(s.conversation.begin())
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
	s.protect("agent tick", func() error {
		s.handle(func(c *conversation) effects { return c.tick() })
		s.mu.Lock()
		defer s.mu.Unlock()
		if !s.hasEnded {
			s.tickTimer.Reset(s.conversation.nextTick(randomFloat()))
		}
		return nil
	})
}

// protect ends the connection if fn panics, also while it is being closed.
func (s *socket) protect(goroutine string, fn func() error) {
	if err := s.replica.server.guard.Do(goroutine, fn); err != nil {
		s.cutLost(err)
		s.conn.Cut()
	}
}

// handle passes an event to the conversation and carries out the returned effects.
func (s *socket) handle(event func(*conversation) effects) {
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
		if !s.jobs.pushJob(j) {
			e.notes = append(e.notes, note{outcome: outcomeLost, topic: topicAck,
				cause: "too many acks wait for the database"})
		}
	}
	s.countNotes(e)
	s.outbox = append(s.outbox, e.frames...)
	if e.end != nil {
		s.closeFrame = e.end
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
				slog.Int("bytes", n.bytes))
		}
	}
	for _, j := range e.jobs {
		if a, is := j.(ackJob); is {
			s.replica.server.metrics.acked(a)
		}
	}
}

func (s *socket) startLane() {
	if s.laneIsRunning || len(s.jobs.jobs) == 0 {
		return
	}
	s.laneIsRunning = true
	s.running.Go(func() {
		err := s.replica.server.guard.Do("agent lane", func() error {
			s.lane.runJobs(s.replica.lanes)
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
