package lobby

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/must"
)

// everyType has a type of each logic. Those of "rooms" and "ranked" are configured.
var everyType = []string{"chat", "lobby", "party", "match", "echo_room", "counter_room", "counter_plugin_room", "town",
	"squads", "ranked"}

const config = `{
	"town": {"logic": "chat", "max_members": 5, "grace": "0s", "state": {"topic": "news", "__proto__": {"a": 1}}},
	"squads": {"logic": "lobby", "max_members": 4, "private": true, "queue": {"room_type": "ranked", "size": 4}},
	"ranked": {"logic": "match", "profile": "ranked-1v1"}
}`

func newTypes(t require.TestingT) *Types {
	return must.Get(NewTypes(true, []byte(config)))(t)
}

// house is a room with what a transaction does after an action.
type house struct {
	*Types

	t    require.TestingT
	room *Room
	typ  string
}

// setup returns the room of a type before its first member: a new one, or that of a match of s1, s2 and s3.
func setup(t require.TestingT, typ string) *house {
	h := &house{Types: newTypes(t), t: t, typ: typ, room: &Room{Project: "p", ID: typ + ":1", IsNew: true}}
	if kind, _ := h.LookupType(typ); kind.roomLogic == (matchLogic{}) {
		h.room = h.MatchRoom(threePlayers(typ))()
		h.room.IsNew = false
	}
	return h
}

func threePlayers(typ string) Matched {
	m := Matched{Project: "p", ID: typ + ":match:1", Type: typ, MatchID: "m1", AskedSize: 3}
	for i := 1; i <= 3; i++ {
		m.Participants = append(m.Participants, Member{Session: session(i), Player: playerOf(session(i))})
	}
	return m
}

func session(i int) string { return fmt.Sprintf("s%d", i) }

// playerOf is the player of a session: s1 and s5 are sessions of ada, and s8 is of nobody with a name.
func playerOf(session string) string {
	return map[string]string{"s1": "ada", "s2": "bo", "s3": "cy", "s4": "di", "s5": "ada", "s6": "bo", "s7": "ed",
		"s8": "s8"}[session]
}

// do applies an action as a transaction does.
func (h *house) do(act Action) error {
	err := act(h.room)
	if err == nil {
		h.room.IsNew = false
	}
	return err
}

func (h *house) must(act Action) {
	require.NoError(h.t, h.do(act))
}

func (h *house) join(session string, options ...string) error {
	o := Options{}
	for i := 0; i+1 < len(options); i += 2 {
		o[options[i]] = json.RawMessage(options[i+1])
	}
	return h.do(h.JoinRoom(Join{RoomType: h.typ, Session: session, Player: playerOf(session), Options: o}))
}

// mustJoin joins sessions; to a private room, they are invited.
func (h *house) mustJoin(sessions ...string) {
	for _, s := range sessions {
		if h.room.IsPrivate && h.room.Participants == nil {
			h.room.InvitedMembers = append(h.room.InvitedMembers, Member{Session: s, Player: playerOf(s)})
		}
		require.NoError(h.t, h.join(s))
	}
}

func (h *house) send(session, kind, data string) error {
	return h.do(h.HandleMessage(Message{Session: session, Player: playerOf(session), Type: kind,
		Data: json.RawMessage(data)}))
}

func (h *house) mustSend(session, kind, data string) {
	require.NoError(h.t, h.send(session, kind, data))
}

// news returns the entries and effects since the last call, as JSON.
func (h *house) news() (entries, effects string) {
	e, _ := json.Marshal(h.room.Entries)
	f := []string{}
	for _, x := range h.room.Effects {
		f = append(f, x.Kind+x.Player+x.Session+x.Reason+x.Queue.RoomType)
	}
	h.room.Entries, h.room.Effects = nil, nil
	joined, _ := json.Marshal(f)
	return string(e), string(joined)
}

func (h *house) effects() []string {
	kinds := []string{}
	for _, e := range h.room.Effects {
		kinds = append(kinds, e.Kind)
	}
	h.room.Effects = nil
	return kinds
}

func (h *house) state() string { return string(h.room.State.JSON()) }

func (h *house) value(key string) string { return string(h.room.State[key]) }

func (h *house) sessions() []string {
	list := []string{}
	for _, m := range h.room.Members {
		list = append(list, m.Session)
	}
	return list
}

// requireCode requires an error of rooms with a code.
func requireCode(t require.TestingT, code string, err error) {
	refused := &Error{}
	require.ErrorAs(t, err, &refused)
	require.Equal(t, code, refused.Code)
	require.NotEmpty(t, refused.Text)
}

// eachType runs a test for every type.
func eachType(t *testing.T, test func(*testing.T, *house)) {
	t.Helper()
	for _, typ := range everyType {
		t.Run(typ, func(t *testing.T) {
			t.Parallel()
			test(t, setup(t, typ))
		})
	}
}

func copyOf(r *Room) *Room {
	c := *r
	c.State = r.State.Clone()
	c.Members, c.InvitedMembers = slices.Clone(r.Members), slices.Clone(r.InvitedMembers)
	c.Entries, c.Effects = slices.Clone(r.Entries), slices.Clone(r.Effects)
	c.Participants, c.Places = slices.Clone(r.Participants), slices.Clone(r.Places)
	c.Sanctions = slices.Clone(r.Sanctions)
	return &c
}
