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
		require.JSONEq(t, `{"character":"fox"}`, string(h.room.cardOf("s1").Data))
		h.mustSend("s2", "member", `{"data":{"colour":"red"}}`)
		require.JSONEq(t, `{"colour":"red"}`, string(h.room.cardOf("s2").Data))
		require.JSONEq(t, `{"character":"fox"}`, string(h.room.cardOf("s1").Data), "only its own")
		h.must(h.MarkAway("s2"))
		h.must(h.MarkBack("s2"))
		require.JSONEq(t, `{"colour":"red"}`, string(h.room.cardOf("s2").Data))
		h.mustSend("s2", "member", `{"data":null}`)
		require.Nil(t, h.room.cardOf("s2").Data)
		for _, bad := range []string{`{"data":[]}`, `{"data":"x"}`, `{"data":{"a":"` + strings.Repeat("x", maxMemberData) + `"}}`} {
			requireCode(t, "invalid", h.send("s1", "member", bad))
		}
		h.room.IsPrivate = false
		requireCode(t, "invalid", h.join("s3", "data", `7`))
	}
}

// A room that is full of members who show all they may still has space for its state.
func TestTheDataOfAllMembersIsBounded(t *testing.T) {
	t.Parallel()
	types, err := NewTypes(false, []byte(`{"hall":{"logic":"lobby","max_members":200}}`))
	require.NoError(t, err)
	h := &house{Types: types, t: t, typ: "hall", room: &Room{ID: "hall:1", IsNew: true}}
	data := string(encodeJSON(map[string]string{"a": strings.Repeat("x", maxAllData/200-len(`{"a":""}`))}))
	for i := range 200 {
		require.NoError(t, h.do(types.JoinRoom(Join{RoomType: "hall", Session: session(i), Player: session(i),
			Options: Options{"data": json.RawMessage(data)}})), i)
	}
	require.LessOrEqual(t, h.room.State.JSONBytes(), maxStateBytes-directorBytes)
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
	h.must(h.PunishPlayer(Sanction{Player: "ada", IsMute: true}, time.Time{}))
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
		h.must(h.HandleMessage(said))
		if typ != "lobby" && typ != "party" {
			h.must(h.HandleMessage(Message{Session: "s1", Player: "ada", Type: "other", SentAt: at}))
			bytes := Message{Session: "s1", Player: "ada", Type: "say", Data: json.RawMessage(`"AAE="`), IsBytes: true, SentAt: at}
			h.must(h.HandleMessage(bytes))
		}
		h.must(h.HandleMessage(said))
		require.Equal(t, int64(2), h.room.SaidCount)
		remembered := LastSayings(h.room.Entries)
		require.Len(t, remembered, 2)
		require.Equal(t, Entry{Kind: EntryMessage, Session: "s1", Player: "ada", Type: "say", Data: json.RawMessage(`{"text":"hi"}`), Number: 2, SaidAt: at.UnixMilli()},
			remembered[1])
	}
	entries := make([]Entry, 2*MaxSayings)
	for i := range entries {
		entries[i].Number = int64(i + 1)
	}
	require.Equal(t, int64(MaxSayings+1), LastSayings(entries)[0].Number)
}
