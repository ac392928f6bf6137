package lobby

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/lobby/esjson"
)

// walk is a room under random actions, with what must hold after each of them.
type walk struct {
	house

	seen   map[string]bool // the members, as somebody knows them who reads the entries
	queued bool            // as somebody knows it who follows the effects
}

func TestRoomsUnderRandomActions(t *testing.T) {
	t.Parallel()
	for _, typ := range everyType {
		t.Run(typ, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(rt *rapid.T) {
				w := walk{house: *setup(rt, typ), seen: map[string]bool{}}
				for range rapid.IntRange(1, 40).Draw(rt, "steps") {
					w.step(w.draw(rt))
				}
			})
		})
	}
}

// step applies an action twice, to equal rooms, and requires that it decides the same.
func (w *walk) step(act Action) {
	before, twin := copyOf(w.room), copyOf(w.room)
	err, again := act(w.room), act(twin)
	require.Equal(w.t, again, err)
	require.Equal(w.t, twin, copyOf(w.room))
	if err != nil {
		refused := &Error{}
		require.ErrorAs(w.t, err, &refused)
		require.Equal(w.t, before, copyOf(w.room))
		return
	}
	w.follow()
	w.hold()
}

// follow reads the entries and effects of an action, as members and the transaction do.
func (w *walk) follow() {
	for _, e := range w.room.Entries {
		switch e.Kind {
		case EntryJoined:
			require.False(w.t, w.seen[e.Session])
			w.seen[e.Session] = true
		case EntryLeft:
			require.True(w.t, w.seen[e.Session])
			delete(w.seen, e.Session)
		case EntryDropped, EntryReconnected:
			require.True(w.t, w.seen[e.Session])
		}
	}
	for _, e := range w.room.Effects {
		switch e.Kind {
		case EffectInvite:
			for i := 1; i <= 8; i++ {
				if playerOf(session(i)) == e.Player && !w.seen[session(i)] {
					w.room.InvitedMembers = append(w.room.InvitedMembers, Member{Session: session(i), Player: e.Player})
				}
			}
		case EffectEnqueue:
			require.False(w.t, w.queued)
			w.queued = true
		case EffectDequeue:
			require.True(w.t, w.queued)
			w.queued = false
		}
	}
	w.room.Entries, w.room.Effects, w.room.IsNew = nil, nil, false
}

// hold requires what holds between any two actions.
func (w *walk) hold() {
	r := w.room
	require.ElementsMatch(w.t, slices.Collect(maps.Keys(w.seen)), w.sessions())
	require.LessOrEqual(w.t, len(r.Members), r.MaxMembers)
	require.True(w.t, slices.IsSortedFunc(r.Members, func(a, b Member) int { return int(a.JoinOrder - b.JoinOrder) }))
	for _, m := range r.Members {
		require.Positive(w.t, m.JoinOrder)
		require.LessOrEqual(w.t, m.JoinOrder, r.JoinCount)
	}
	require.LessOrEqual(w.t, r.State.JSONBytes(), maxStateBytes)
	require.LessOrEqual(w.t, len(r.State), maxStateKeys)
	for _, m := range r.Members {
		require.False(w.t, r.isSanctioned(m.Player, time.Time{}, func(s Sanction) bool { return s.IsBan }))
	}
	if w.hasOwner(r) {
		require.Equal(w.t, r.JoinCode, r.textOf("code"))
		require.Equal(w.t, string(r.Metadata), string(r.State["metadata"]))
	}
	parsed := must.Get(ParseState(r.State.JSON()))(w.t)
	require.Empty(w.t, Diff(r.State, parsed), "values are as a transaction reads them again")
	typ, _ := w.typeOf(r)
	_, once := typ.roomLogic.(oncePerPlayer)
	_, isMatch := typ.roomLogic.(matchLogic)
	for i := 1; i <= 8; i++ {
		_, hasCard := r.State[memberKey(session(i))]
		require.Equal(w.t, (once || isMatch) && w.seen[session(i)], hasCard)
	}
	if _, queues := typ.roomLogic.(queuing); !queues {
		require.False(w.t, w.queued)
		return
	}
	if len(r.Members) > 0 {
		require.True(w.t, w.seen[r.textOf("owner")])
	}
	require.Contains(w.t, []string{phaseOpen, phaseCountdown, phaseQueued, phaseMatched}, r.textOf("phase"))
	require.Equal(w.t, r.textOf("phase") == phaseQueued, w.queued)
	require.Equal(w.t, w.queued, r.State["queue"] != nil)
	players := map[string]bool{}
	for _, m := range r.Members {
		require.False(w.t, players[m.Player])
		players[m.Player] = true
		c := r.cardOf(m.Session)
		require.Equal(w.t, m.IsAway, c.Away)
		if c.Ready != nil && w.queued {
			require.True(w.t, *c.Ready)
		}
	}
}

// draw draws an action of a session or of the director.
func (w *walk) draw(rt *rapid.T) Action {
	s := session(rapid.IntRange(1, 8).Draw(rt, "session"))
	switch rapid.SampledFrom([]string{"join", "join", "leave", "away", "back", "message", "message", "message",
		"message", "details", "backend", "director"}).Draw(rt, "action") {
	case "join":
		options := Options{}
		for _, key := range []string{"private", "max_members", "name", "topic", "settings", "metadata"} {
			if rapid.IntRange(0, 5).Draw(rt, "has "+key) == 0 {
				options[key] = drawJSON(rt)
			}
		}
		return w.JoinRoom(Join{RoomType: w.typ, Session: s, Player: playerOf(s), Options: options})
	case "leave":
		return w.LeaveRoom(s, playerOf(s))
	case "away":
		return w.MarkAway(s)
	case "back":
		return w.MarkBack(s)
	case "message":
		kind := rapid.SampledFrom([]string{"say", "ready", "ready", "ready", "team", "set", "lock", "kick", "owner",
			"invite", "start",
			"start", "queue", "queue", "cancel", "countdown", "inc", "other"}).Draw(rt, "kind")
		return w.HandleMessage(Message{Session: s, Player: playerOf(s), Type: kind, Data: drawData(rt, w)})
	case "details":
		if rapid.Bool().Draw(rt, "code") {
			return w.ShareCode(s, CodeOf(rapid.Uint64().Draw(rt, "random")), CodeRequest(rapid.IntRange(0, 2).Draw(rt,
				"request")))
		}
		return w.UpdateRoom(s, drawChange(rt))
	case "backend":
		punished := Sanction{Player: playerOf(s), IsBan: rapid.Bool().Draw(rt, "ban")}
		return rapid.SampledFrom([]Action{
			w.ExpelPlayer(punished.Player, "kicked"), w.PunishPlayer(punished,
				time.Time{}), w.PardonPlayer(punished.Player),
			w.ReconfigureRoom(drawChange(rt)), w.AnnounceMessage("news", json.RawMessage(`{"text":"hi"}`)),
		}).Draw(rt, "backend")
	}
	return w.drawDirector(rt)
}

func drawChange(rt *rapid.T) (c Change) {
	members, flag := rapid.IntRange(-1, 20).Draw(rt, "max_members"), rapid.Bool().Draw(rt, "flag")
	switch rapid.IntRange(0, 3).Draw(rt, "what") {
	case 0:
		c.MaxMembers = &members
	case 1:
		c.IsPrivate = &flag
	case 2:
		c.IsLocked = &flag
	case 3:
		c.NewMetadata, _ = ParseMetadata("metadata",
			encodeJSON(map[string]any{"map": rapid.StringN(0, 3, 9).Draw(rt, "map")}))
	}
	return c
}

// drawDirector draws an action of the director, with what goes with it: it takes the tickets itself.
func (w *walk) drawDirector(rt *rapid.T) Action {
	if !w.queued {
		return w.EndMatch()
	}
	id := rapid.StringMatching(`m[0-9]{6}`).Draw(rt, "match")
	act := rapid.SampledFrom([]Action{w.MarkMatched(id, "duel:"+id), w.MarkUnqueued("declined", "")}).Draw(rt, "outcome")
	return func(r *Room) error {
		before := len(r.Effects)
		err := act(r)
		require.Len(rt, r.Effects, before)
		if r == w.room {
			w.queued = r.textOf("phase") == phaseQueued
		}
		return err
	}
}

func drawData(rt *rapid.T, w *walk) json.RawMessage {
	if rapid.IntRange(0, 9).Draw(rt, "wild") == 0 {
		return drawJSON(rt)
	}
	return encodeJSON(map[string]any{
		"text": "hi", "ready": rapid.IntRange(0, 4).Draw(rt, "ready") > 0,
		"team": rapid.IntRange(0, 2).Draw(rt, "team"),
		"key":  rapid.StringN(1, 3, 10).Draw(rt, "key"), "value": drawJSON(rt),
		"locked":    rapid.Bool().Draw(rt, "locked"),
		"session":   session(rapid.IntRange(1, 8).Draw(rt, "other")),
		"player":    playerOf(session(rapid.IntRange(1, 8).Draw(rt, "player"))),
		"room_type": rapid.SampledFrom([]string{"duel", "ranked"}).Draw(rt, "room type"),
		"size":      rapid.IntRange(1, 20).Draw(rt, "size"),
		"ban":       rapid.IntRange(0, 4).Draw(rt, "ban") == 0, "by": rapid.IntRange(-3, 3).Draw(rt, "by"),
	})
}

// drawJSON draws any JSON, with the texts that break clients and servers.
func drawJSON(rt *rapid.T) json.RawMessage {
	odd := rapid.SampledFrom([]string{
		`null`, `true`, `-0`, `1e400`, `"\ud800"`, `"\u0000"`, `{"__proto__":1,"constructor":{}}`, `[[]]`, `9007199254740993`, `"<\u2028>"`, `{}`, `2`, `"x"`,
	})
	text := rapid.Custom(func(rt *rapid.T) string { return string(esjson.Encode(rapid.String().Draw(rt, "text"))) })
	return json.RawMessage(rapid.OneOf(odd, text).Draw(rt, "json"))
}

// FuzzMessage is what strangers send: any type and any bytes, to a room of every type.
func FuzzMessage(f *testing.F) {
	f.Add("set", []byte(`{"key":"__proto__","value":"\ud800"}`), false)
	f.Add("start", []byte(`{"room_type":"duel","size":1e300,"attributes":{},"latencies":{"eu":1}}`), false)
	f.Add("x", []byte(`"AAE="`), true)
	f.Add("ready", []byte(`{"ready":nul`), false)
	f.Fuzz(func(t *testing.T, kind string, data []byte, binary bool) {
		for _, typ := range everyType {
			w := walk{house: *setup(t, typ), seen: map[string]bool{}}
			for _, s := range []string{"s1", "s2"} {
				w.room.IsPrivate = false
				w.step(w.JoinRoom(Join{RoomType: typ, Session: s, Player: playerOf(s)}))
			}
			w.step(w.HandleMessage(Message{Session: "s1", Player: "ada", Type: kind, Data: data, IsBytes: binary}))
			w.step(w.HandleMessage(Message{Session: "s2", Player: "bo", Type: kind, Data: data, IsBytes: binary}))
		}
	})
}
