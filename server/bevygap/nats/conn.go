package nats

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2" //nolint:depguard // spreads beats, and guards nothing
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/internal/base/wait"
)

// conn is one connection. One goroutine reads and answers, another one pings and renews the lease.
type conn struct {
	server         *Server
	id             uint64
	socket         net.Conn
	clientAddress  netip.Addr
	reader         operationReader
	log            *slog.Logger
	connectRequest connectRequest
	deployment     provision.Joining
	gameServer     *gameServer
	subscriptions  subscriptions // of the reading goroutine
	heardAt        atomic.Int64  // when the last operation came, in Unix nanoseconds
	processKnown   chan struct{} // closed when the process is known
	endBegun       chan struct{} // closed by endOnceWith
	endOnce        sync.Once
	writeLock      sync.Mutex
}

func (s *Server) newConn(socket net.Conn) *conn {
	return &conn{
		server: s, id: s.lastID.Add(1), socket: socket, clientAddress: addressOf(socket),
		reader: newOperationReader(socket),
		log:    s.options.Log, subscriptions: subscriptions{}, processKnown: make(chan struct{}),
		endBegun: make(chan struct{}),
	}
}

// ending is why a connection ends: the cause in the metrics, and the text for the client. The text is empty where the
// client has to connect again: some clients do not reconnect after a text that they do not know.
type ending struct{ cause, text string }

var (
	endClosed   = ending{"closed", ""}
	endSilent   = ending{"silent", "Stale Connection"}
	endSlow     = ending{"slow", ""}
	endOver     = ending{"over", "Authorization Violation"}
	endDraining = ending{"draining", ""}
	endInternal = ending{"internal", ""}
)

// beatInterval is how often the game server is pinged and its lease renewed. A game server that sends nothing for three
// of them is silent.
func (c *conn) beatInterval() time.Duration {
	return min(5*time.Second, c.server.options.Store.Timing().LeaseTTL/3)
}

// serveOperations answers until the connection ends.
func (c *conn) serveOperations(life context.Context) {
	ctx, cancel := context.WithCancel(life)
	defer cancel()
	stop := context.AfterFunc(life, c.closeSocket)
	defer stop()
	_ = c.socket.SetDeadline(time.Time{}) // the handshake's deadline no longer applies
	c.heardAt.Store(time.Now().UnixNano())
	c.log.LogAttrs(ctx, slog.LevelDebug, "game server connected over NATS")
	var renewing sync.WaitGroup
	renewing.Go(func() {
		if c.server.guard.Do("lease", func() error { c.keepLease(ctx); return nil }) != nil {
			c.endOnceWith(endInternal)
		}
	})
	// If the other goroutine has ended the connection, its cause counts, and this one is ignored.
	c.endOnceWith(c.readOperations(ctx))
	cancel()
	renewing.Wait()
	c.lingerThenClose()
}

// readOperations reads operations until one fails. An operation must arrive whole within three beats, however slowly.
func (c *conn) readOperations(ctx context.Context) ending {
	for {
		_ = c.socket.SetReadDeadline(time.Now().Add(3 * c.beatInterval()))
		select {
		// endOnceWith sets a deadline to wake this goroutine, which the line above may have replaced.
		case <-c.endBegun:
			return endClosed
		default:
		}
		op, err := c.reader.read()
		if err != nil {
			return endOf(err)
		}
		c.heardAt.Store(time.Now().UnixNano())
		if err := c.handleOperation(ctx, op); err != nil {
			return endOf(err)
		}
	}
}

var (
	errSubscriptions = errors.New("maximum subscriptions exceeded")
	errSlow          = errors.New("the client reads too slowly")
	errLeft          = errors.New("the game server is not registered any more")
)

// endOf returns how a connection ends whose reading has failed.
func endOf(err error) ending {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return endSilent
	case errors.Is(err, errSlow):
		return endSlow
	case errors.Is(err, errLeft):
		return endOver
	case errors.Is(err, errLine), errors.Is(err, errPayload), errors.Is(err, errOperation), errors.Is(err, errParser),
		errors.Is(err, errSubscriptions):
		return ending{"protocol", err.Error()}
	}
	return endClosed
}

// handleOperation answers one operation.
func (c *conn) handleOperation(ctx context.Context, op operation) error {
	// As with NATS, a verbose client waits for +OK after each operation but PING and PONG.
	if c.connectRequest.Verbose && op.verb != opPing && op.verb != opPong {
		if err := c.writeWhole(okLine); err != nil {
			return err
		}
	}
	switch op.verb {
	case opPing:
		return c.writeWhole(pongLine)
	case opSub:
		return c.addSubscription(op)
	case opUnsub:
		if op.atMost == 0 {
			c.subscriptions.endNow(op.sid)
		} else {
			c.subscriptions.endAfter(op.sid, op.atMost)
		}
	case opPub, opHPub:
		return c.answerPublish(ctx, op)
	}
	return nil
}

// inboxPrefix is that of the subjects at which clients get answers.
const inboxPrefix = "_INBOX."

// addSubscription adds a subscription. That to an inbox also names the process: a client has one inbox, which it
// subscribes to again after it has reconnected, and a process that has restarted has another one.
func (c *conn) addSubscription(op operation) error {
	added := c.subscriptions.addPattern(op.sid, op.subject)
	if !added {
		return errSubscriptions
	}
	if !strings.HasPrefix(op.subject, inboxPrefix) {
		return nil
	}
	// The inbox is hashed, since a boot id has a bound, and an inbox is as long as the client likes.
	digest := sha256.Sum256([]byte(op.subject))
	if isFirst := c.gameServer.beginProcess("nats-" + hex.EncodeToString(digest[:16])); isFirst {
		close(c.processKnown)
	}
	return nil
}

// answerPublish answers what was published, where the client subscribes to the reply's subject. Errors: errLeft,
// errSlow; the connection's.
func (c *conn) answerPublish(ctx context.Context, op operation) error {
	c.server.metrics.requests.WithLabelValues(callName(op.subject)).Inc()
	// Without an inbox there is no place to answer to, and without the process, which the inbox names, nothing can be
	// stored.
	if !c.gameServer.hasBegun() {
		return nil
	}
	answer, err := c.gameServer.answerRequest(ctx, op, time.Now())
	c.server.outageLog.Report(ctx, "request", err)
	if endsRegistration(err) {
		c.log.LogAttrs(ctx, slog.LevelWarn, "game server over NATS may not stay", slog.Any("error", err))
		return errLeft
	}
	if op.replySubject == "" {
		return nil
	}
	for _, sid := range c.subscriptions.takeReceivers(op.replySubject) {
		if err := c.writeWhole(answer.encodeFor(op.replySubject, sid)); err != nil {
			return err
		}
	}
	return nil
}

// keepLease registers the game server once its process is known, and then pings it and renews its lease as long as it
// answers. A half-open connection renews nothing.
func (c *conn) keepLease(ctx context.Context) {
	select {
	case <-c.processKnown:
	case <-ctx.Done():
		return
	}
	// The first pause has a random length, so that the game servers of a replica are not all due at once.
	isRegistered, pause := c.renewLease(ctx), rand.N(c.beatInterval())
	for isRegistered {
		pinged := time.Now()
		err := c.writeWhole(pingLine)
		if err != nil || !wait.For(ctx, pause) {
			return
		}
		pause = c.beatInterval()
		// Anything that was sent since the ping counts as an answer.
		if c.heardAt.Load() >= pinged.UnixNano() {
			isRegistered = c.renewLease(ctx)
		}
	}
}

// renewLease renews the lease, and ends the connection, for which it returns false, if the registration has ended.
func (c *conn) renewLease(ctx context.Context) bool {
	err := c.gameServer.renewAndStore(ctx)
	c.server.outageLog.Report(ctx, "lease", err)
	if !endsRegistration(err) {
		return true
	}
	c.log.LogAttrs(ctx, slog.LevelWarn, "game server over NATS may not stay", slog.Any("error", err))
	c.endOnceWith(endOver)
	return false
}

// writeWhole sends a whole line or message. A client that does not read within five seconds is ended.
func (c *conn) writeWhole(text []byte) error {
	c.writeLock.Lock()
	defer c.writeLock.Unlock()
	_ = c.socket.SetWriteDeadline(time.Now().Add(writeTimeout))
	_, err := c.socket.Write(text)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return errSlow
	}
	return err
}

// endOnceWith sends the client the reason, and ends the connection, once. The reading goroutine then closes it.
func (c *conn) endOnceWith(why ending) {
	c.endOnce.Do(func() {
		c.server.metrics.endedConns.WithLabelValues(why.cause).Inc()
		c.log.LogAttrs(context.Background(), slog.LevelDebug, "connection of a game server over NATS ends",
			slog.String("cause", why.cause))
		if why.text != "" {
			_ = c.writeWhole(errorLine(why.text))
		}
		_ = c.socket.SetReadDeadline(time.Now()) // wakes the reading goroutine
		close(c.endBegun)
	})
}

func (c *conn) closeSocket() { _ = c.socket.Close() }

// lingerTime and lingerBytes bound what is read of a client that is being closed. A connection that is closed with
// bytes unread is reset, and the client may then not get the reason.
const (
	lingerTime  = time.Second
	lingerBytes = 2 * maxPayload
)

// lingerThenClose closes the side that writes, so that the client reads the reason and closes, too, and then the socket.
func (c *conn) lingerThenClose() {
	if half, ok := c.socket.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		_ = c.socket.SetReadDeadline(time.Now().Add(lingerTime))
		_, _ = io.CopyN(io.Discard, c.socket, lingerBytes)
	}
	c.closeSocket()
}

// addressOf returns the address of the other side, without the zone.
func addressOf(socket net.Conn) netip.Addr {
	at, err := netip.ParseAddrPort(socket.RemoteAddr().String())
	if err != nil {
		return netip.Addr{}
	}
	return at.Addr().Unmap().WithZone("")
}
