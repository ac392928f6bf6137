package orchestrator

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"log/slog"
	"sync"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/server/ws"
)

const (
	writeTimeout = 5 * time.Second
	closeTimeout = 5 * time.Second // within which the agent must answer a close frame
	pingEvery    = 30 * time.Second
	pongWithin   = 2 * pingEvery
)

// socket is a connection of an agent. It passes events to the conversation and carries out the effects that the
// conversation returns. One goroutine reads, and at most one goroutine at a time writes.
type socket struct {
	replica *replica

	agentID string
	key     agentKey
	conn    *ws.Conn
	log     *slog.Logger
	lane    *lane

	mu            sync.Mutex
	conversation  *conversation // guarded by mu, like the fields below
	jobs          jobQueue
	laneIsRunning bool
	outbox        [][]byte
	isWriting     bool
	closeFrame    *violation // the close frame to send after the outbox; nil: the connection stays open
	hasEnded      bool       // whether queueLeave was called: no effect is carried out any more
	tickTimer     *time.Timer
	running       sync.WaitGroup // goroutines of the socket
}

func newSocket(r *replica, conn *ws.Conn, k agentKey) *socket {
	o := r.server.options
	random := make([]byte, 8) // hello has an id of 16 hex digits
	_, _ = rand.Read(random)  // never fails, by its contract
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

// longestDelayAttempt is the attempt from which retryDelay does not grow.
const longestDelayAttempt = 4

// retryDelay grows from 0.1 s to 1 s. Half of it is random, so that the lanes of a replica do not retry at the same
// time.
func retryDelay(attempt int) time.Duration {
	// The shift is bounded, because attempts are counted without end during an outage of the database.
	d := min(time.Second, 100*time.Millisecond<<min(attempt, longestDelayAttempt))
	return d/2 + time.Duration(float64(d/2)*randomFloat())
}

// randomFloat returns a number in [0, 1).
func randomFloat() float64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails, by its contract
	return float64(binary.LittleEndian.Uint64(b[:])>>11) / (1 << 53)
}
