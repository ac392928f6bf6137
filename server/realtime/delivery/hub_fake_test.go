package delivery

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/lobby"
	"github.com/lattice-director/director/lobby/esjson"
	"github.com/lattice-director/director/server/realtime/wire"
)

// logRows is how many rows a page of a memoryLog has.
const logRows = 5

// memoryLog is a room with its log, as the database keeps them.
type memoryLog struct {
	uid uuid.UUID

	mu     sync.Mutex
	server time.Time // when it started
	room   lobby.Snapshot
	rows   []db.LobbyRow
	all    []db.LobbyRow // without what was pruned from the log
	hold   chan struct{} // readings of the log wait until it is closed; nil: they do not wait
}

func (l *memoryLog) LobbyLog(_ context.Context, _ string,
	after []db.LobbyPos) (rows []db.LobbyRow, more bool, _ error) {
	if l.hold != nil {
		<-l.hold
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, row := range l.rows {
		if after[0].LobbyUID == l.uid && row.LogPos > after[0].LogPos {
			if len(rows) == logRows {
				return rows, true, nil
			}
			rows = append(rows, row)
		}
	}
	return rows, false, nil
}

func (l *memoryLog) ReadLobbyPositions(context.Context, string, []uuid.UUID) (db.LobbyPositions, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return db.LobbyPositions{ServerStartedAt: l.server, ByRoom: map[uuid.UUID]int64{l.uid: l.room.LogPosition}}, nil
}

// failOver makes another server answer, which has the room as it was, and an empty log.
func (l *memoryLog) failOver(was lobby.Snapshot) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.server, l.room, l.rows = l.server.Add(time.Second), was, nil
}

func (l *memoryLog) LobbySnapshots(context.Context, string, []uuid.UUID) ([]db.LobbySnapshot, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return []db.LobbySnapshot{{LobbyUID: l.uid, Snapshot: l.room}}, nil
}

func (l *memoryLog) UnreadPlayerMessages(context.Context, string, string, int64) ([]db.PlayerMessage, error) {
	return nil, nil
}

func (l *memoryLog) ReadRealtimeNews(context.Context, string, uuid.UUID, []db.SessionEpoch) ([]db.RealtimeNews, error) {
	return nil, nil
}

// act is a transaction: it sets a key, unless that is "", and adds entries.
func (l *memoryLog) act(key string, entries ...lobby.Entry) db.LobbyAnswer {
	l.mu.Lock()
	defer l.mu.Unlock()
	next := l.room
	next.LogPosition++
	row := db.LobbyRow{LobbyUID: l.uid, LogPos: next.LogPosition, Entries: entries}
	if key != "" {
		next.StateSeq++
		next.State = maps.Clone(next.State)
		next.State[key] = json.RawMessage(strconv.FormatInt(next.StateSeq, 10))
		row.StateSeq, row.Patch = next.StateSeq, []lobby.Op{{Op: "set", Path: "/" + key, Value: next.State[key]}}
	}
	next.Members = slices.Clone(next.Members)
	for _, e := range entries {
		switch e.Kind {
		case lobby.EntryJoined:
			next.Members = append(next.Members, lobby.Member{Session: e.Session, JoinOrder: next.LogPosition})
		case lobby.EntryLeft:
			next.Members = slices.DeleteFunc(next.Members, func(m lobby.Member) bool { return m.Session == e.Session })
		}
	}
	l.room, l.rows, l.all = next, append(l.rows, row), append(l.all, row)
	return db.LobbyAnswer{LobbyUID: l.uid, RoomSnapshot: &next, LogRow: &row, PreviousPos: next.LogPosition - 1}
}

// prune empties the log, as a crash of Postgres does.
func (l *memoryLog) prune() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rows = nil
}

// quietNotices are notices that never come: the hub finds everything by itself.
type quietNotices struct{}

func (quietNotices) Watch(string)          {}
func (quietNotices) Unwatch(string)        {}
func (quietNotices) Wake() <-chan struct{} { return nil }
func (quietNotices) Take() ([]string, bool) {
	return nil, false
}
func (quietNotices) Stop() {}

// listener is a connection that keeps what it is sent, and checks it as a client does.
type listener struct {
	Session db.SessionEpoch
	hub     *Hub
	acks    bool

	mu       sync.Mutex
	frames   []map[string]any
	messages []string // the data of room.message, in order
	members  []any
	state    map[string]any
	seq      float64
	patches  int
	faults   []string
	closed   websocket.StatusCode
}

func (c *listener) Ref() db.SessionEpoch { return c.Session }

func (c *listener) WhenFree(fn func()) { fn() }

func (c *listener) Close(code websocket.StatusCode, _ string) { c.closed = code }

func (c *listener) Push(_ PushClass, _ string, frames ...*wire.SharedFrame) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range frames {
		parsed, err := esjson.ParseText(f.Encoded(wire.JSONCodec{}))
		e, _ := parsed.(map[string]any)
		p, _ := e["p"].(map[string]any)
		if err != nil || p == nil {
			c.faults = append(c.faults, "a frame without p")
			continue
		}
		c.frames = append(c.frames, e)
		switch e["t"] {
		case "room.message":
			text, _ := p["data"].(string)
			c.messages = append(c.messages, text)
		case "room.members":
			c.members, _ = p["members"].([]any)
		case "state.snapshot":
			if p["seq"].(float64) < c.seq {
				c.faults = append(c.faults, fmt.Sprintf("from %v back to %v", c.seq, p["seq"]))
			}
			c.seq, c.state = p["seq"].(float64), p["state"].(map[string]any)
			c.ack()
		case "state.patch":
			c.patches++
			if p["seq"].(float64) != c.seq+1 {
				c.faults = append(c.faults, fmt.Sprintf("a patch to %v after %v", p["seq"], c.seq))
			}
			c.seq = p["seq"].(float64)
			c.state = maps.Clone(c.state)
			for _, op := range p["ops"].([]any) {
				o := op.(map[string]any)
				c.state[strings.TrimPrefix(o["path"].(string), "/")] = o["value"]
			}
			c.ack()
		}
	}
}

func (c *listener) ack() {
	if c.acks {
		go c.hub.TakeAck(c, testRoom, c.seq, "")
	}
}

const testRoom = "town:default"
