package orchestrator

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/lattice-director/director/db"
)

const (
	writeTimeout = 5 * time.Second
	pingEvery    = 30 * time.Second
	maxPings     = 2 // unanswered pings before the connection is cut
)

// socket is a connection of an agent. It passes events to the conversation and carries out the effects that the conversation returns. One
// goroutine reads, and at most one goroutine at a time writes.
type socket struct {
	*life

	id   string
	key  key
	ws   *websocket.Conn
	conn net.Conn
	log  *slog.Logger
	lane *lane

	mu           sync.Mutex
	conversation *conversation // guarded by mu, like the fields below
	queue        queue
	laneRuns     bool
	outbox       [][]byte
	writes       bool
	closing      *violation // the close frame to send after the outbox; nil: the connection stays open
	left         bool       // the leave job is queued; no job follows
	tick, ping   *time.Timer

	unanswered atomic.Int32   // pings
	running    sync.WaitGroup // goroutines of the socket
}

func newSocket(l *life, ws *websocket.Conn, conn net.Conn, k key) *socket {
	random := make([]byte, 8)
	_, _ = rand.Read(random) // never fails, by its contract
	s := &socket{life: l, id: hex.EncodeToString(random), key: k, ws: ws, conn: conn}
	s.log = l.options.Log.With(slog.String("agent", s.id))
	s.conversation = newConversation(s.id, l.options.Heartbeat, k.admits, time.Now)
	s.lane = &lane{
		store: l.options.Store, ref: db.AgentRef{Region: l.options.Region, ID: s.id, Replica: l.id}, key: k, host: s, log: l.options.Log, retry: retryDelay,
	}
	return s
}

// retryDelay grows from 0.1 s to 1 s. Half of it is random, so that the lanes of a replica do not retry at the same time.
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
	if !s.add(s) {
		closeSocket(s.ws, s.conn, closeInvalid, reasonStopped)
		release(s.agents)
		return
	}
	s.log.LogAttrs(context.Background(), slog.LevelDebug, "agent connected", slog.String("key", s.key.fingerprint))
	s.greet()
	s.startTimers()
	s.fail(s.guard.Do("agent socket", s.listen))
	s.running.Wait()
	s.remove(s)
	release(s.agents)
}

// greet sends the hello and the first poll before anything is read.
func (s *socket) greet() {
	s.mu.Lock()
	s.writes = true // This goroutine is the writer.
	s.do(s.conversation.begin())
	s.mu.Unlock()
	s.runWriter()
}

func (s *socket) startTimers() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left {
		return
	}
	s.tick = time.AfterFunc(s.conversation.firstTick(randomFloat()), s.onTick)
	s.ping = time.AfterFunc(pingEvery, s.onPing)
}

func (s *socket) onTick() {
	s.protect("agent tick", func() error {
		s.handle(func(c *conversation) effects { return c.tick() })
		s.mu.Lock()
		defer s.mu.Unlock()
		if !s.left {
			s.tick.Reset(s.conversation.nextTick(randomFloat()))
		}
		return nil
	})
}

// protect ends the connection if fn panics, also while it is being closed.
func (s *socket) protect(goroutine string, fn func() error) {
	if err := s.guard.Do(goroutine, fn); err != nil {
		s.lost(err)
		_ = s.ws.CloseNow()
	}
}

// onPing cuts a connection whose agent does not answer pings.
func (s *socket) onPing() {
	if s.unanswered.Load() >= maxPings {
		s.lost(errors.New("pings are not answered"))
		return
	}
	s.mu.Lock()
	if s.left {
		s.mu.Unlock()
		return
	}
	s.ping.Reset(pingEvery)
	s.running.Add(1)
	s.mu.Unlock()
	defer s.running.Done()
	s.unanswered.Add(1)
	ctx, cancel := context.WithTimeout(context.Background(), maxPings*pingEvery+writeTimeout)
	defer cancel()
	if s.ws.Ping(ctx) == nil {
		s.unanswered.Store(0)
	}
}

// handle passes an event to the conversation and carries out the returned effects.
func (s *socket) handle(event func(*conversation) effects) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.do(event(s.conversation))
}

// do is called with mu locked.
func (s *socket) do(e effects) {
	if s.left {
		return
	}
	for _, j := range e.jobs {
		if !s.queue.push(j) {
			e.notes = append(e.notes, note{outcome: outcomeLost, topic: topicAck, cause: "too many acks wait for the database"})
		}
	}
	s.observe(e)
	s.outbox = append(s.outbox, e.frames...)
	if e.end != nil {
		s.closing = e.end
		s.logEnd()
		s.leave()
	}
	s.startLane()
	if !s.writes && (len(s.outbox) > 0 || s.closing != nil) {
		s.writes = true
		s.running.Go(s.runWriter)
	}
}

// observe counts and logs the notes.
func (s *socket) observe(e effects) {
	for _, n := range e.notes {
		s.metrics.messages.WithLabelValues(n.outcome).Inc()
		switch n.outcome {
		case outcomeReplied:
			s.metrics.pollSeconds.Observe(n.took.Seconds())
		case outcomeMissed:
		default:
			s.log.LogAttrs(context.Background(), slog.LevelWarn, "message of an agent ignored",
				slog.String("outcome", n.outcome), slog.String("topic", n.topic), slog.String("cause", n.cause), slog.Int("bytes", n.bytes))
		}
	}
	for _, j := range e.jobs {
		if a, is := j.(ackJob); is {
			s.metrics.acked(a)
		}
	}
}

func (s *socket) startLane() {
	if s.laneRuns || len(s.queue.jobs) == 0 {
		return
	}
	s.laneRuns = true
	s.running.Go(func() {
		err := s.guard.Do("agent lane", func() error {
			s.lane.run(s.lanes)
			return nil
		})
		if err != nil { // a panic: the job is lost, but the agent must still leave
			s.lost(err)
			s.mu.Lock()
			defer s.mu.Unlock()
			s.laneRuns = false
			s.startLane()
		}
	})
}
