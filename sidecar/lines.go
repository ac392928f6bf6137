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
	maxLine      = 16 << 10
	maxConns     = 16
	writeTimeout = 5 * time.Second
)

// linesServer serves the game server in lines of text over TCP, for engines without an HTTP client: a command, a space
// and its argument; the answer is "ok" or "error", a space and JSON. After "watch", events arrive as "event", their
// name and JSON, between answers.
type linesServer struct {
	game     *game
	listener net.Listener
	log      *slog.Logger

	openConnections sync.WaitGroup
	mu              sync.Mutex
	connections     map[net.Conn]struct{}
	isStopped       bool
}

func newLinesServer(g *game, l net.Listener, log *slog.Logger) *linesServer {
	return &linesServer{game: g, listener: l, log: log, connections: map[net.Conn]struct{}{}}
}

// serve serves connections until close. It returns when they have ended.
func (s *linesServer) serve() {
	defer s.openConnections.Wait()
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			if !errors.Is(err, net.ErrClosed) {
				s.game.fail(err)
			}
			return
		}
		// Closed without a word: a game server needs one connection, or two with its events.
		if !s.add(conn) {
			_ = conn.Close()
			continue
		}
		s.openConnections.Go(func() {
			defer s.remove(conn)
			newLineConn(s.game, conn).run()
		})
	}
}

func (s *linesServer) add(conn net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isStopped || len(s.connections) == maxConns {
		return false
	}
	s.connections[conn] = struct{}{}
	return true
}

func (s *linesServer) remove(conn net.Conn) {
	_ = conn.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.connections, conn)
}

func (s *linesServer) close() {
	_ = s.listener.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.isStopped = true
	for conn := range s.connections {
		_ = conn.SetReadDeadline(time.Now()) // the answer under way goes out
	}
}

// lineConn is a connection. It runs one command at a time.
type lineConn struct {
	game *game
	conn net.Conn

	writing sync.Mutex
	watch   func() // ends the events; nil: there are none
	events  sync.WaitGroup
}

func newLineConn(g *game, conn net.Conn) *lineConn { return &lineConn{game: g, conn: conn} }

func (c *lineConn) run() {
	defer c.events.Wait()
	lines := bufio.NewScanner(c.conn)
	lines.Buffer(make([]byte, 0, 1<<10), maxLine)
	for first := true; lines.Scan(); first = false {
		name, argument, _ := strings.Cut(strings.TrimSpace(lines.Text()), " ")
		if first && strings.HasPrefix(argument,
			"/") { // as in POST /: a page in a browser, whose body may have commands
			_ = c.answer(nil, errNoHTTP)
			break
		}
		c.game.hear()
		if name != "" && c.answer(c.do(name, strings.TrimSpace(argument))) != nil {
			break
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		_ = c.answer(nil, &rest.Problem{Status: http.StatusRequestEntityTooLarge, Code: "too_large",
			Detail: "A line has at most 16 KiB."})
	}
	if c.watch != nil {
		// Ends the events, whose goroutine run waits for.
		c.watch()
	}
}

var errNoHTTP = &rest.Problem{Status: http.StatusBadRequest, Code: "no_http",
	Detail: "This is the address of lines. That of HTTP is --sidecar-addr."}

// nothing is the result of a command that has none.
var nothing any

// commands are those of the lines, by name. argument is what follows the name.
var commands = map[string]func(c *lineConn, ctx context.Context, argument string) (any, error){
	"status": func(c *lineConn, _ context.Context, _ string) (any, error) { return c.game.status(), nil },
	"ready": func(c *lineConn, ctx context.Context, argument string) (any, error) {
		var a announcement
		if argument != "" {
			if err := json.Unmarshal([]byte(argument), &a); err != nil {
				return nil, refusedArgument("ready",
					"is a JSON object with instance_id, endpoint, region, modes, capacity and more, or nothing")
			}
		}
		return c.game.ready(ctx, &a)
	},
	"health": func(*lineConn, context.Context, string) (any, error) { return nothing, nil },
	"load": func(c *lineConn, _ context.Context, argument string) (any, error) {
		load, err := strconv.ParseFloat(argument, 64)
		if err != nil || !validLoad(load) {
			return nil, refusedArgument("load", "is a number from 0 to 1e9")
		}
		c.game.setLoad(load)
		return nothing, nil
	},
	"drain":   func(c *lineConn, ctx context.Context, _ string) (any, error) { return c.drain(ctx, true) },
	"undrain": func(c *lineConn, ctx context.Context, _ string) (any, error) { return c.drain(ctx, false) },
	"shutdown": func(c *lineConn, _ context.Context, argument string) (any, error) {
		grace, ok := graceOf(argument, c.game.options.Grace)
		if !ok {
			return nil, refusedArgument("shutdown", "is a time from 0s to 24h, such as 90s, or nothing")
		}
		c.game.shutdown(grace)
		return c.game.status(), nil
	},
	"admit": func(c *lineConn, ctx context.Context, argument string) (any, error) {
		return c.game.admit(ctx, argument)
	},
	"leave": func(c *lineConn, _ context.Context,
		argument string) (any, error) {
		return nil, c.game.leave(argument)
	},
	"players": func(c *lineConn, _ context.Context, _ string) (any, error) { return playerList{c.game.list()}, nil },
	"sessions": func(c *lineConn, _ context.Context,
		_ string) (any, error) {
		return sessionList{c.game.roster()}, nil
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

func (c *lineConn) do(name, argument string) (any, error) {
	command, known := commands[name]
	if !known {
		return nil, &rest.Problem{Status: http.StatusNotFound, Code: "unknown_command",
			Detail: "The commands are " + commandNames + "."}
	}
	return command(c, context.Background(), argument)
}

func (c *lineConn) drain(ctx context.Context, drain bool) (any, error) {
	err := c.game.drain(ctx, drain)
	return c.game.status(), err
}

// startWatch sends events from now on.
func (c *lineConn) startWatch() error {
	if c.watch != nil {
		return nil
	}
	first, next, stop, err := c.game.events.listen()
	if err != nil {
		return err
	}
	c.watch = stop
	c.events.Go(func() {
		// Events that have ended mean that the client was too slow: the connection ends too, so that it connects again
		// and watches.
		defer c.conn.SetReadDeadline(time.Now()) //nolint:errcheck // the connection ends, as it may have done already
		for _, e := range first {
			if c.event(e) != nil {
				return
			}
		}
		for e := range next {
			if c.event(e) != nil {
				return
			}
		}
	})
	return nil
}

func (c *lineConn) event(e event) error {
	data, _ := json.Marshal(e.Data) // texts, numbers and JSON always encode
	return c.write("event " + e.Name + " " + string(data))
}

func (c *lineConn) answer(result any, err error) error {
	word := "ok"
	if err != nil {
		word = "error"
		result, _ = refusalOf(err)
	}
	if result == nil {
		return c.write(word)
	}
	data, _ := json.Marshal(result)
	return c.write(word + " " + string(data))
}

func (c *lineConn) write(line string) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	_ = c.conn.SetWriteDeadline(time.Now().Add(writeTimeout))
	_, err := c.conn.Write([]byte(line + "\n"))
	if err != nil {
		_ = c.conn.Close() // half a line may have gone out
	}
	return err
}
