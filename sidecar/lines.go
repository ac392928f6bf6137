package sidecar

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/lattice-director/director/server/rest"
)

const (
	maxLine      = 64 << 10        // bytes, as of a body over HTTP: an announcement may have 20 KiB of labels
	maxConns     = 16              // more than a game server needs: a leak in it does not use up the descriptors
	writeTimeout = 5 * time.Second // a game server that reads no answers for so long has frozen
)

// linesServer serves the game server in lines of text over TCP, for engines without an HTTP client: a command, a space
// and its argument; the answer is "ok" or "error", a space and JSON. After "watch", events arrive as "event", their
// name and JSON, between answers.
type linesServer struct {
	game     *game
	listener net.Listener
	log      *slog.Logger

	connsServed sync.WaitGroup
	mu          sync.Mutex
	openConns   map[net.Conn]struct{}
	isStopped   bool
}

func newLinesServer(g *game, l net.Listener, log *slog.Logger) *linesServer {
	return &linesServer{game: g, listener: l, log: log, openConns: map[net.Conn]struct{}{}}
}

// acceptConns serves connections until the listener is closed. It returns when they have ended.
func (s *linesServer) acceptConns() {
	defer s.connsServed.Wait()
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			if !errors.Is(err, net.ErrClosed) {
				s.game.endWith(err)
			}
			return
		}
		// Closed without an answer: a game server needs one connection, or two with its events.
		if !s.addConn(conn) {
			_ = conn.Close()
			continue
		}
		s.connsServed.Go(func() {
			defer s.removeConn(conn)
			newLineConn(s.game, conn).readCommands()
		})
	}
}

func (s *linesServer) addConn(conn net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	// After stopAccepting nothing would end the reading of a connection that was accepted at the last moment.
	if s.isStopped || len(s.openConns) == maxConns {
		return false
	}
	s.openConns[conn] = struct{}{}
	return true
}

func (s *linesServer) removeConn(conn net.Conn) {
	_ = conn.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.openConns, conn)
}

func (s *linesServer) stopAccepting() {
	_ = s.listener.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.isStopped = true
	for conn := range s.openConns {
		_ = conn.SetReadDeadline(time.Now()) // ends the reading; the answer under way is still written
	}
}

// lineConn is a connection of lines, which runs one command at a time.
type lineConn struct {
	game *game
	conn net.Conn

	writeLock   sync.Mutex
	endWatch    func() // ends the events; nil: there are none
	eventWriter sync.WaitGroup
}

func newLineConn(g *game, conn net.Conn) *lineConn { return &lineConn{game: g, conn: conn} }

// readCommands answers commands until the connection or its reading ends.
func (c *lineConn) readCommands() {
	// Deferred to the end: the caller closes the connection, to which eventWriter writes.
	defer c.eventWriter.Wait()
	lines := bufio.NewScanner(c.conn)
	lines.Buffer(make([]byte, 0, 1<<10), maxLine)
	for first := true; lines.Scan(); first = false {
		name, argument, _ := strings.Cut(strings.TrimSpace(lines.Text()), " ")
		// As in "POST /": a page in a browser, whose body may have commands.
		if first && strings.HasPrefix(argument, "/") {
			_ = c.writeAnswer(nil, errNoHTTP)
			break
		}
		// After the check above: a page in a browser is no sign of life of the game server.
		c.game.noteCall()
		if name != "" && c.writeAnswer(c.runCommand(name, strings.TrimSpace(argument))) != nil {
			break
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		_ = c.writeAnswer(nil, &rest.Problem{Status: http.StatusRequestEntityTooLarge, Code: "too_large",
			Detail: "A line has at most 64 KiB."})
	}
	if c.endWatch != nil {
		// Ends eventWriter, for which the first defer waits.
		c.endWatch()
	}
}

var errNoHTTP = &rest.Problem{Status: http.StatusBadRequest, Code: "no_http",
	Detail: "This is the address of lines. That of HTTP is --sidecar-addr."}

// nothing is the result of a command that has none.
var nothing any

// commands are those of the lines, by name. argument is what follows the name.
var commands = map[string]func(c *lineConn, ctx context.Context, argument string) (any, error){
	"status": func(c *lineConn, _ context.Context, _ string) (any, error) { return c.game.currentStatus(), nil },
	"ready": func(c *lineConn, ctx context.Context, argument string) (any, error) {
		var a announcement
		if argument != "" {
			if err := parseAnnouncement(argument, &a); err != nil {
				return nil, err
			}
		}
		return c.game.becomeReady(ctx, &a)
	},
	// readCommands notes each command as a sign of life, and health is nothing else.
	"health": func(*lineConn, context.Context, string) (any, error) { return nothing, nil },
	"load": func(c *lineConn, _ context.Context, argument string) (any, error) {
		load, err := strconv.ParseFloat(argument, 64)
		if err != nil || !validLoad(load) {
			return nil, refusedArgument("load", "is a number from 0 to 1e9")
		}
		c.game.setLoad(load)
		return nothing, nil
	},
	"drain":   func(c *lineConn, ctx context.Context, _ string) (any, error) { return c.setDraining(ctx, true) },
	"undrain": func(c *lineConn, ctx context.Context, _ string) (any, error) { return c.setDraining(ctx, false) },
	"shutdown": func(c *lineConn, _ context.Context, argument string) (any, error) {
		grace, ok := graceOf(argument, c.game.options.ShutdownGrace)
		if !ok {
			return nil, refusedArgument("shutdown", "is a time from 0s to 24h, such as 90s, or nothing")
		}
		c.game.beginShutdown(grace)
		return c.game.currentStatus(), nil
	},
	"admit": func(c *lineConn, ctx context.Context, argument string) (any, error) {
		return c.game.admitPlayer(ctx, argument)
	},
	"leave": func(c *lineConn, _ context.Context, argument string) (any, error) {
		return nil, c.game.leavePlayer(argument)
	},
	"players": func(c *lineConn, _ context.Context, _ string) (any, error) {
		return playerList{c.game.listPlayers()}, nil
	},
	"sessions": func(c *lineConn, _ context.Context, _ string) (any, error) {
		return sessionList{c.game.listSessions()}, nil
	},
	"end": func(c *lineConn, _ context.Context, argument string) (any, error) {
		if argument == "" {
			return nil, refusedArgument("end", "is the id of a session")
		}
		return nil, c.game.endSession(argument)
	},
	"watch": func(c *lineConn, _ context.Context, _ string) (any, error) { return nil, c.startWatch() },
}

const commandNames = "admit, drain, end, health, leave, load, players, ready, sessions, shutdown, status, undrain and watch"

func refusedArgument(name, detail string) error {
	return &rest.Problem{Status: http.StatusBadRequest, Code: "invalid",
		Detail: "The argument of " + name + " " + detail + "."}
}

// parseAnnouncement reads what POST /ready reads, by the same rules: a name that is probably misspelt is refused.
func parseAnnouncement(text string, a *announcement) error {
	err := rest.ParseBody([]byte(text), a)
	if p, is := errors.AsType[*rest.Problem](err); is && len(p.Errors) == 0 {
		return refusedArgument("ready",
			"is a JSON object with instance_id, endpoint, region, modes, capacity and more, or nothing")
	}
	return err
}

func (c *lineConn) runCommand(name, argument string) (any, error) {
	command, known := commands[name]
	if !known {
		return nil, &rest.Problem{Status: http.StatusNotFound, Code: "unknown_command",
			Detail: "The commands are " + commandNames + "."}
	}
	// Not bound to the connection: each command that waits has a time limit of its own.
	return command(c, context.Background(), argument)
}

func (c *lineConn) setDraining(ctx context.Context, drain bool) (any, error) {
	err := c.game.setDraining(ctx, drain)
	return c.game.currentStatus(), err
}

// startWatch sends events from now on.
func (c *lineConn) startWatch() error {
	if c.endWatch != nil {
		// This connection gets the events already.
		return nil
	}
	first, next, stop, err := c.game.events.addListener()
	if err != nil {
		return err
	}
	c.endWatch = stop
	c.eventWriter.Go(func() {
		// Events that have ended mean that the client was too slow: the connection ends too, so that the client
		// connects again and watches.
		defer c.conn.SetReadDeadline(time.Now()) //nolint:errcheck // the connection ends, as it may have done already
		for _, e := range first {
			if c.writeEvent(e) != nil {
				return
			}
		}
		for e := range next {
			if c.writeEvent(e) != nil {
				return
			}
		}
	})
	return nil
}

func (c *lineConn) writeEvent(e event) error {
	data, _ := json.Marshal(e.Data) // texts, numbers and JSON always encode
	return c.writeLine("event " + e.Name + " " + string(data))
}

func (c *lineConn) writeAnswer(result any, err error) error {
	word := "ok"
	if err != nil {
		word = "error"
		result, _ = refusalOf(err)
	}
	if result == nil {
		return c.writeLine(word)
	}
	data, _ := json.Marshal(result)
	return c.writeLine(word + " " + string(data))
}

func (c *lineConn) writeLine(line string) error {
	c.writeLock.Lock()
	defer c.writeLock.Unlock()
	_ = c.conn.SetWriteDeadline(time.Now().Add(writeTimeout))
	_, err := c.conn.Write([]byte(line + "\n"))
	if err != nil {
		_ = c.conn.Close() // half a line may have gone out
	}
	return err
}
