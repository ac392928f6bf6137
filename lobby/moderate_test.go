package lobby

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A ban holds for the player, with any session, until the room ends.
func TestABannedPlayerStaysOut(t *testing.T) {
	t.Parallel()
	h := setup(t, "lobby")
	h.mustJoin("s1", "s2")
	h.mustSend("s1", "kick", `{"session":"s2","ban":true}`)
	require.Equal(t, []string{"s1"}, h.sessions())
	for _, again := range []string{"s2", "s6"} {
		requireCode(t, "banned", h.join(again))
	}
	h.room.InvitedMembers = append(h.room.InvitedMembers, Member{Session: "s6", Player: "bo"})
	requireCode(t, "banned", h.join("s6"))
	h.must(h.PardonPlayer("bo"))
	require.NoError(t, h.join("s6"))
}

// Without the field, kick is what it was: the player may come back.
func TestAKickedPlayerMayComeBack(t *testing.T) {
	t.Parallel()
	h := setup(t, "lobby")
	h.mustJoin("s1", "s2")
	h.mustSend("s1", "kick", `{"session":"s2"}`)
	require.NoError(t, h.join("s2"))
	requireCode(t, "invalid", h.send("s1", "kick", `{"session":"s2","ban":1}`))
}

func TestABackendModerates(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000_000, 0)
	h := setup(t, "chat")
	h.mustJoin("s1", "s5", "s2") // s1 and s5 are ada's
	h.news()
	h.must(h.PunishPlayer(Sanction{Player: "ada", IsMute: true, EndsAt: now.Add(time.Minute)}, now))
	say := Message{Session: "s5", Player: "ada", Type: "any", Data: json.RawMessage(`{}`), SentAt: now}
	requireCode(t, "muted", h.do(h.HandleMessage(say)))
	say.SentAt = now.Add(time.Minute)
	h.must(h.HandleMessage(say))
	h.news()
	requireCode(t, "invalid", h.do(h.AnnounceMessage("news", []byte(`"`+strings.Repeat("x", MaxAnnouncement)+`"`))))
	h.must(h.AnnounceMessage("news", json.RawMessage(`{"text":"maintenance"}`)))
	entries, _ := h.news()
	require.JSONEq(t, `[{"k":"message","t":"news","d":{"text":"maintenance"}}]`, entries)
	requireCode(t, "not_a_member", h.do(h.ExpelPlayer("cy", "kicked")))
	h.must(h.ExpelPlayer("ada", "kicked"))
	entries, effects := h.news()
	require.JSONEq(t, `[{"k":"left","s":"s1","r":"kicked"},{"k":"left","s":"s5","r":"kicked"}]`, entries)
	require.JSONEq(t, `["removeadas1kicked","removeadas5kicked"]`, effects)
	h.must(h.PunishPlayer(Sanction{Player: "bo", IsBan: true, EndsAt: now.Add(time.Hour)}, now))
	require.Empty(t, h.sessions(), "a ban expels")
	back := Join{RoomType: "chat", Session: "s2", Player: "bo", AskedAt: now}
	requireCode(t, "banned", h.do(h.JoinRoom(back)))
	back.AskedAt = now.Add(time.Hour)
	h.must(h.JoinRoom(back))
	h.must(h.CloseRoom())
	require.True(t, h.room.IsClosed)
}

// What a backend does takes the members out of the queue, as what the members do.
func TestAPartyThatABackendChangesLeavesTheQueue(t *testing.T) {
	t.Parallel()
	for name, act := range map[string]func(*house) Action{
		"expel": func(h *house) Action { return h.ExpelPlayer("bo", "kicked") },
		"close": func(h *house) Action { return h.CloseRoom() },
	} {
		h := setup(t, "party")
		h.mustJoin("s1", "s2")
		h.mustSend("s1", "queue", `{"room_type":"duel","size":2}`)
		h.effects()
		h.must(act(h))
		require.Contains(t, h.effects(), EffectDequeue, name)
	}
	h := setup(t, "party")
	h.mustJoin("s1", "s2")
	h.must(h.ExpelPlayer("ada", "kicked"))
	require.Equal(t, `"s2"`, h.value("owner"), "the next one is the owner")
}

func TestSanctionsAreBounded(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000_000, 0)
	h := setup(t, "chat")
	h.mustJoin("s1")
	for i := range maxSanctions {
		s := Sanction{Player: fmt.Sprint(i), IsBan: true}
		if i == 7 {
			s.EndsAt = now.Add(time.Second)
		}
		h.must(h.PunishPlayer(s, now))
	}
	requireCode(t, "invalid", h.do(h.PunishPlayer(Sanction{Player: "x", IsMute: true}, now)))
	h.must(h.PunishPlayer(Sanction{Player: "3", IsBan: true, Reason: strings.Repeat("é", 400)[1:]}, now))
	require.Len(t, h.room.Sanctions, maxSanctions)
	require.Len(t, h.room.Sanctions[maxSanctions-1].Reason, maxSanctionReason-2,
		"a row that each action reads is short")
	h.must(h.PunishPlayer(Sanction{Player: "x", IsMute: true}, now.Add(time.Second)))
	require.Len(t, h.room.Sanctions, maxSanctions, "one was over")
}

// A backend finds no room to moderate that nobody has made.
func TestABackendMakesNoRoom(t *testing.T) {
	t.Parallel()
	h := setup(t, "chat")
	for _, act := range []Action{h.ExpelPlayer("a", "kicked"),
		h.PunishPlayer(Sanction{Player: "a", IsBan: true}, time.Time{}), h.PardonPlayer("a"), h.CloseRoom(),
		h.AnnounceMessage("x", nil), h.ReconfigureRoom(Change{})} {
		requireCode(t, "room_not_found", h.do(act))
	}
}
