package lobby

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestMembersShowDataOfTheirOwn(t *testing.T) {
	t.Parallel()
	for _, typ := range []string{"lobby", "party"} {
		h := setup(t, typ)
		require.NoError(t, h.join("s1", "data", `{"character":"fox"}`))
		h.mustJoin("s2")
		require.JSONEq(t, `{"character":"fox"}`, string(h.room.card("s1").Data))
		h.mustSend("s2", "member", `{"data":{"colour":"red"}}`)
		require.JSONEq(t, `{"colour":"red"}`, string(h.room.card("s2").Data))
		require.JSONEq(t, `{"character":"fox"}`, string(h.room.card("s1").Data), "only its own")
		h.must(h.Away("s2"))
		h.must(h.Back("s2"))
		require.JSONEq(t, `{"colour":"red"}`, string(h.room.card("s2").Data))
		h.mustSend("s2", "member", `{"data":null}`)
		require.Nil(t, h.room.card("s2").Data)
		for _, bad := range []string{`{"data":[]}`, `{"data":"x"}`, `{"data":{"a":"` + strings.Repeat("x", maxMemberData) + `"}}`} {
			requireCode(t, "invalid", h.send("s1", "member", bad))
		}
		h.room.Private = false
		requireCode(t, "invalid", h.join("s3", "data", `7`))
	}
}

// A room that is full of members who show all they may still has space for its state.
func TestTheDataOfAllMembersIsBounded(t *testing.T) {
	t.Parallel()
	types, err := NewTypes(false, []byte(`{"hall":{"logic":"lobby","max_members":200}}`))
	require.NoError(t, err)
	h := &house{Types: types, t: t, typ: "hall", room: &Room{ID: "hall:1", New: true}}
	data := string(encode(map[string]string{"a": strings.Repeat("x", maxAllData/200-len(`{"a":""}`))}))
	for i := range 200 {
		require.NoError(t, h.do(types.Join(Join{Type: "hall", Session: session(i), Player: session(i), Options: Options{"data": json.RawMessage(data)}})), i)
	}
	require.LessOrEqual(t, h.room.State.Bytes(), maxStateBytes-directorBytes)
}

func TestCustomMessagesAreRelayed(t *testing.T) {
	t.Parallel()
	h := setup(t, "lobby")
	h.mustJoin("s1")
	h.news()
	h.mustSend("s1", "x.emote", `{"name":"wave"}`)
	entries, _ := h.news()
	require.JSONEq(t, `[{"k":"message","s":"s1","t":"x.emote","d":{"name":"wave"}}]`, entries)
	requireCode(t, "too_large", h.send("s1", "x.emote", `{"a":"`+strings.Repeat("x", maxCustom)+`"}`))
	requireCode(t, "invalid", h.send("s1", "emote", `{}`))
	h.must(h.Punish(Sanction{Player: "ada", IsMute: true}, time.Time{}))
	requireCode(t, "muted", h.send("s1", "x.emote", `{}`))
	requireCode(t, "muted", h.send("s1", "say", `{"text":"hi"}`))
	h.mustSend("s1", "ready", `{}`)
}

// What a room remembers is numbered without gaps, whatever else is said.
func TestRoomsRememberWhatIsSaid(t *testing.T) {
	t.Parallel()
	at := time.UnixMilli(1_700_000_000_123)
	for _, typ := range []string{"chat", "lobby", "party", "match"} {
		h := setup(t, typ)
		h.mustJoin("s1")
		h.news()
		said := Message{Session: "s1", Player: "ada", Type: "say", Data: json.RawMessage(`{"text":"hi"}`), SentAt: at}
		h.must(h.Message(said))
		if typ != "lobby" && typ != "party" {
			h.must(h.Message(Message{Session: "s1", Player: "ada", Type: "other", SentAt: at}))
			bytes := Message{Session: "s1", Player: "ada", Type: "say", Data: json.RawMessage(`"AAE="`), Bytes: true, SentAt: at}
			h.must(h.Message(bytes))
		}
		h.must(h.Message(said))
		require.Equal(t, int64(2), h.room.Said)
		remembered := Sayings(h.room.Entries)
		require.Len(t, remembered, 2)
		require.Equal(t, Entry{Kind: EntryMessage, Session: "s1", Player: "ada", Type: "say", Data: json.RawMessage(`{"text":"hi"}`), Number: 2, SaidAt: at.UnixMilli()},
			remembered[1])
	}
	entries := make([]Entry, 2*MaxSayings)
	for i := range entries {
		entries[i].Number = int64(i + 1)
	}
	require.Equal(t, int64(MaxSayings+1), Sayings(entries)[0].Number)
}
