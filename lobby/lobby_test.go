package lobby

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestALobbyHasAnOwnerSettingsAndMembers(t *testing.T) {
	t.Parallel()
	h := setup(t, "lobby")
	require.NoError(t, h.join("s1", "settings", `{"map":"dust"}`, "name", `"Ada"`))
	require.JSONEq(t, `{"phase":"open","owner":"s1","settings":{"map":"dust"},"m:s1":{"name":"Ada","ready":false,"away":false}}`, h.state())
	h.mustJoin("s2", "s8")
	require.JSONEq(t, `{"name":"bo","ready":false,"away":false}`, h.value("m:s2"))
	require.JSONEq(t, `{"name":"","ready":false,"away":false}`, h.value("m:s8"), "a player without a name")
	h.mustSend("s2", "team", `{"team":"red"}`)
	h.mustSend("s2", "ready", `{"ready":true}`)
	require.JSONEq(t, `{"name":"bo","team":"red","ready":true,"away":false}`, h.value("m:s2"))
	h.mustSend("s2", "team", `{"team":null}`)
	h.must(h.MarkAway("s2"))
	require.JSONEq(t, `{"name":"bo","ready":true,"away":true}`, h.value("m:s2"))
}

func TestSettingsThatAreCleanedToNullAreRefused(t *testing.T) {
	t.Parallel()
	h := setup(t, "lobby")
	requireCode(t, "invalid", h.join("s1", "settings", `1e400`))
	h.mustJoin("s1")
	h.room.State["settings"] = []byte(`null`)
	h.mustSend("s1", "set", `{"key":"map","value":"dust"}`)
	require.JSONEq(t, `{"map":"dust"}`, h.value("settings"))
}

// Pins settings that nobody could change or delete, since "set" refuses their keys.
func TestKeysOfSettingsHaveBounds(t *testing.T) {
	t.Parallel()
	longest := strings.Repeat("k", maxSettingKey)
	for _, key := range []string{"", longest + "k", `a\n`} {
		h := setup(t, "lobby")
		requireCode(t, "invalid", h.join("s1", "settings", `{"map":"dust","`+key+`":1}`))
	}
	h := setup(t, "lobby")
	require.NoError(t, h.join("s1", "settings", `{"`+longest+`":1}`))
	h.mustSend("s1", "set", `{"key":"`+longest+`","value":null}`)
	require.JSONEq(t, `{}`, h.value("settings"))
}

func TestOnlyTheOwnerOfALobbySetsLocksKicksAndStarts(t *testing.T) {
	t.Parallel()
	h := setup(t, "lobby")
	h.mustJoin("s1", "s2", "s3")
	for _, kind := range []string{"set", "lock", "kick", "owner", "start", "countdown"} {
		require.ErrorIs(t, h.send("s2", kind, `{}`), ErrNotOwner, kind)
	}
	h.mustSend("s1", "set", `{"key":"map","value":"dust"}`)
	require.JSONEq(t, `{"map":"dust"}`, h.value("settings"))
	h.mustSend("s1", "set", `{"key":"map","value":null}`)
	require.JSONEq(t, `{}`, h.value("settings"))
	h.mustSend("s1", "lock", `{}`)
	require.ErrorIs(t, h.join("s4"), ErrLocked)
	h.mustSend("s1", "lock", `{"locked":false}`)
	h.mustJoin("s4")
	h.mustSend("s1", "owner", `{"session":"s3"}`)
	require.ErrorIs(t, h.send("s1", "set", `{"key":"a","value":1}`), ErrNotOwner)
	require.Equal(t, `"s3"`, h.value("owner"))
}

func TestAKickedMemberLeavesWithAReason(t *testing.T) {
	t.Parallel()
	h := setup(t, "lobby")
	h.mustJoin("s1", "s2")
	h.news()
	h.mustSend("s1", "kick", `{"session":"s2"}`)
	entries, effects := h.news()
	require.JSONEq(t, `[{"k":"left","s":"s2","r":"kicked"}]`, entries)
	require.JSONEq(t, `["removebos2kicked"]`, effects)
	require.Equal(t, []string{"s1"}, h.sessions())
	requireCode(t, "invalid", h.send("s1", "kick", `{"session":"s1"}`))
	requireCode(t, "invalid", h.send("s1", "kick", `{"session":"s2"}`))
	requireCode(t, "invalid", h.send("s1", "kick", `{}`))
}

func TestTheLongestMemberFollowsAnOwner(t *testing.T) {
	t.Parallel()
	for _, typ := range []string{"lobby", "party"} {
		h := setup(t, typ)
		h.mustJoin("s1", "s2", "s3")
		h.must(h.LeaveRoom("s2", playerOf("s2")))
		h.mustJoin("s2")
		h.must(h.MarkAway("s1"))
		require.Equal(t, `"s1"`, h.value("owner"), "it may come back")
		h.must(h.LeaveRoom("s1", playerOf("s1")))
		require.Equal(t, `"s3"`, h.value("owner"))
		h.must(h.LeaveRoom("s3", playerOf("s3")))
		require.Equal(t, `"s2"`, h.value("owner"))
	}
}

// A page that was loaded again has a new session; the old one lasts until its TTL.
func TestAPlayerIsInALobbyOnce(t *testing.T) {
	t.Parallel()
	for _, typ := range []string{"lobby", "party"} {
		h := setup(t, typ)
		h.mustJoin("s1", "s2")
		h.room.MaxMembers, h.room.IsPrivate = 2, true
		h.mustSend("s1", "lock", `{}`)
		h.news()
		require.NoError(t, h.join("s5"), "a place of its own in a room that is full, private and locked")
		require.Equal(t, []string{"s5", "s2"}, h.sessions())
		entries, _ := h.news()
		require.JSONEq(t, `[{"k":"left","s":"s1","r":"replaced"},{"k":"joined","s":"s5"}]`, entries)
	}
}

func TestALobbyStartsWhenAllAreReadyAndThere(t *testing.T) {
	t.Parallel()
	h := setup(t, "lobby")
	h.mustJoin("s1", "s2")
	start := `{"room_type":"duel","size":2,"attributes":{"skill":3},"latencies":{"eu":20}}`
	requireCode(t, "invalid", h.send("s1", "start", start))
	h.mustSend("s1", "ready", `{}`)
	h.mustSend("s2", "ready", `{}`)
	h.must(h.MarkAway("s2"))
	requireCode(t, "invalid", h.send("s1", "start", start))
	h.must(h.MarkBack("s2"))
	requireCode(t, "invalid", h.send("s1", "start", `{}`))
	h.effects()

	h.mustSend("s1", "start", start)
	require.Equal(t, map[string]any{"queued": true, "room_type": "duel", "size": 2}, h.room.CallerAnswer)
	require.Equal(t, []Effect{{Kind: EffectEnqueue, Queue: Queue{
		RoomType: "duel", MatchSize: 2, Attributes: []byte(`{"skill":3}`), Latencies: map[string]float64{"eu": 20},
	}}}, h.room.Effects)
	require.Equal(t, `"queued"`, h.value("phase"))
	require.JSONEq(t, `{"room_type":"duel","size":2}`, h.value("queue"))

	h.mustSend("s1", "start", start)
	require.Len(t, h.room.Effects, 1, "the same queue keeps its place")
	h.mustSend("s1", "start", `{"roomType":"other"}`)
	require.Equal(t, []string{EffectEnqueue, EffectDequeue, EffectEnqueue}, h.effects())
}

// Pins a region that the client could not measure, which counted as the nearest one, with 0 ms.
func TestALatencyOfNullIsLeftOut(t *testing.T) {
	t.Parallel()
	h := setup(t, "lobby")
	h.mustJoin("s1")
	h.mustSend("s1", "ready", `{}`)
	h.mustSend("s1", "start", `{"room_type":"duel","size":2,"latencies":{"eu":null,"us":30}}`)
	require.Len(t, h.room.Effects, 1)
	require.Equal(t, map[string]float64{"us": 30}, h.room.Effects[0].Queue.Latencies)
}

func TestAChangeOfReadinessOrMembershipTakesALobbyOutOfTheQueue(t *testing.T) {
	t.Parallel()
	changes := map[string]func(*house) Action{
		"ready": func(h *house) Action {
			return h.HandleMessage(Message{Session: "s2", Type: "ready",
				Data: encodeJSON(map[string]bool{"ready": false})})
		},
		"cancel": func(h *house) Action { return h.HandleMessage(Message{Session: "s2", Type: "cancel"}) },
		"join":   func(h *house) Action { return h.JoinRoom(Join{RoomType: "lobby", Session: "s4", Player: "di"}) },
		"leave":  func(h *house) Action { return h.LeaveRoom("s2", playerOf("s2")) },
		"kick": func(h *house) Action {
			return h.HandleMessage(Message{Session: "s1", Type: "kick", Data: []byte(`{"session":"s3"}`)})
		},
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, phase := range []string{phaseQueued, phaseCountdown} {
				h := startedLobby(t, phase)
				h.must(change(h))
				require.Equal(t, `"open"`, h.value("phase"))
				require.Empty(t, h.value("queue")+h.value("countdown"))
				if phase == phaseQueued {
					require.Contains(t, h.effects(), EffectDequeue)
				} else {
					require.NotContains(t, h.effects(), EffectDequeue)
				}
			}
		})
	}
}

// startedLobby is a lobby of s1 to s3, all ready, that is queued or counts down.
func startedLobby(t *testing.T, phase string) *house {
	t.Helper()
	h := setup(t, "lobby")
	h.mustJoin("s1", "s2", "s3")
	for _, s := range h.sessions() {
		h.mustSend(s, "ready", `{}`)
	}
	if phase == phaseCountdown {
		h.mustSend("s1", "countdown", `{"seconds":3}`)
		require.Equal(t, "3", h.value("countdown"))
	} else {
		h.mustSend("s1", "start", `{"room_type":"duel"}`)
	}
	require.Equal(t, `"`+phase+`"`, h.value("phase"))
	h.effects()
	return h
}

// The ticket of a member that is away is paused; the lobby keeps its place.
func TestALobbyStaysQueuedWhileAMemberIsAway(t *testing.T) {
	t.Parallel()
	h := startedLobby(t, phaseQueued)
	h.must(h.MarkAway("s2"))
	h.must(h.MarkBack("s2"))
	require.Equal(t, `"queued"`, h.value("phase"))
	require.Empty(t, h.effects())

	h = startedLobby(t, phaseCountdown)
	h.must(h.MarkAway("s2"))
	require.Equal(t, `"open"`, h.value("phase"))
}

func TestALobbyHearsOfItsMatchOnce(t *testing.T) {
	t.Parallel()
	h := startedLobby(t, phaseQueued)
	h.news()
	h.must(h.MarkMatched("m1", "duel:match:1"))
	require.Equal(t, `"matched"`, h.value("phase"))
	require.JSONEq(t, `{"id":"m1","room":"duel:match:1"}`, h.value("match"))
	require.JSONEq(t, `{"name":"bo","ready":false,"away":false}`, h.value("m:s2"))
	entries, effects := h.news()
	require.JSONEq(t, `[{"k":"message","t":"matched","d":{"id":"m1","room":"duel:match:1"}}]`, entries)
	require.JSONEq(t, `[]`, effects)

	h.mustSend("s1", "ready", `{}`)
	require.Equal(t, `"open"`, h.value("phase"), "the next match")
	h.news()
	h.must(h.MarkMatched("m1", "duel:match:1"))
	require.Equal(t, `"open"`, h.value("phase"), "a repeated outcome")
	require.Empty(t, h.room.Entries)
}

func TestALobbyThatTheDirectorTakesOutOfTheQueueIsOpen(t *testing.T) {
	t.Parallel()
	h := startedLobby(t, phaseQueued)
	h.news()
	h.must(h.MarkUnqueued("declined", ""))
	require.Equal(t, `"open"`, h.value("phase"))
	entries, effects := h.news()
	require.JSONEq(t, `[{"k":"message","t":"unqueued","d":{"reason":"declined"}}]`, entries)
	require.JSONEq(t, `[]`, effects, "the director has done that already")
	h.must(h.MarkUnqueued("declined", ""))
	require.Empty(t, h.room.Entries)
}

func TestALobbyQueuesForWhatItsTypeSays(t *testing.T) {
	t.Parallel()
	h := setup(t, "squads")
	h.mustJoin("s1")
	h.mustSend("s1", "ready", `{}`)
	h.mustSend("s1", "start", `{}`)
	require.Equal(t, Queue{RoomType: "ranked", MatchSize: 4}, h.room.Effects[0].Queue)
}

func TestMessagesOfALobbyAreJudgedStrictly(t *testing.T) {
	t.Parallel()
	h := setup(t, "lobby")
	h.mustJoin("s1", "s2", "s3")
	for _, bad := range [][2]string{
		{"dance", `{}`}, {"ready", `[]`}, {"ready", `{"ready":1}`}, {"team", `{"team":1.5}`}, {"team", `{"team":{}}`},
		{"team", `{"team":"` + strings.Repeat("x", 65) + `"}`}, {"say", `{}`}, {"say", `{"text":7}`}, {"say", `{"text":""}`},
		{"set", `{"value":1}`}, {"set", `{"key":"","value":1}`}, {"set", `{"key":"a\u0000","value":1}`}, {"lock", `{"locked":"yes"}`},
		{"invite", `{}`}, {"invite", `{"player":""}`}, {"owner", `{"session":"s9"}`}, {"countdown", `{"seconds":0}`},
		{"start", `{"room_type":"a b"}`}, {"start", `{"room_type":"x","attributes":[]}`}, {"start", `{"room_type":"x","latencies":{"eu":-1}}`},
		{"start", `{"room_type":"x","latencies":{"eu":"fast"}}`}, {"start", `{"room_type":"x","latencies":{"eu":20.5}}`}, {"start", `{"room_type":"x","latencies":{"eu":10001}}`},
	} {
		before := copyOf(h.room)
		requireCode(t, "invalid", h.send("s1", bad[0], bad[1]))
		require.Equal(t, before, copyOf(h.room), bad)
	}
	for _, bad := range [][]string{{"private", "1"}, {"maxMembers", "17"}, {"max_members", "0"}, {"settings", "[]"},
		{"name", "{}"}} {
		requireCode(t, "invalid", setup(t, "lobby").join("s1", bad...))
	}
}

func TestSayingReachesAll(t *testing.T) {
	t.Parallel()
	h := setup(t, "lobby")
	h.mustJoin("s1", "s2")
	h.news()
	h.mustSend("s2", "say", `{"text":"gg","more":1}`)
	entries, _ := h.news()
	require.JSONEq(t, `[{"k":"message","s":"s2","t":"say","d":{"text":"gg"}}]`, entries)
}

// Pins members who are called like another one: what tells them apart cannot be seen.
func TestNamesHaveNoHiddenCharacters(t *testing.T) {
	t.Parallel()
	for _, typ := range []string{"lobby", "party", "match"} {
		h := setup(t, typ)
		h.room.IsPrivate = false
		for _, bad := range []string{"Ada\u200b", "\u202eadA", "A\u2066da", "\ufeffAda", "Ada\u200d", "\u200cAda",
			"\u3164", "Ad\u00ada", "\u2060", "\U000e0041"} {
			requireCode(t, "invalid", h.join("s1", "private", "false", "name", string(encodeJSON(bad))))
		}
		for i, good := range []string{"Ada", "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
			"\U0001f468\u200d\U0001f469\u200d\U0001f467"} {
			require.NoError(t, h.join(session(i+1), "private", "false", "name", string(encodeJSON(good))))
		}
	}
}

// Pins errors that do not say what would be right.
func TestRoomsSayWhichMessagesTheyKnow(t *testing.T) {
	t.Parallel()
	for typ, want := range map[string]string{
		"lobby": "type must be one of say, invite, cancel, lock, kick, owner, member, x.…, ready, team, set, countdown, start",
		"party": "type must be one of say, invite, cancel, lock, kick, owner, member, x.…, queue",
	} {
		h := setup(t, typ)
		h.mustJoin("s1")
		require.EqualError(t, h.send("s1", "redy", `{}`), want)
		require.EqualError(t, h.do(h.HandleMessage(Message{Session: "s1", Type: "x", Data: encodeJSON("AAE="),
			IsBytes: true})), want)
	}
}

// Pins a cancel that came too late and was answered with ok.
func TestACancelOfAMatchIsRefused(t *testing.T) {
	t.Parallel()
	h := setup(t, "party")
	h.mustJoin("s1")
	h.mustSend("s1", "queue", `{"room_type":"duel"}`)
	h.must(h.MarkMatched("m1", "duel:match:1"))
	requireCode(t, "matched", h.send("s1", "cancel", ``))
	require.Equal(t, `"matched"`, h.value("phase"))
	h.mustSend("s1", "queue", `{"room_type":"duel"}`)
	h.mustSend("s1", "cancel", ``)
}

func TestTheOwnerOfALobbyQueuesItFromOutside(t *testing.T) {
	t.Parallel()
	h := setup(t, "lobby")
	h.mustJoin("s1", "s2")
	pair := Queue{RoomType: "match", MatchSize: 2}
	players := []string{"ada", "bo"}
	requireCode(t, "invalid", h.do(h.EnqueueFromOutside("ada", players, pair)))
	h.mustSend("s1", "ready", `{"ready":true}`)
	h.mustSend("s2", "ready", `{"ready":true}`)
	require.ErrorIs(t, h.do(h.EnqueueFromOutside("bo", players, pair)), ErrNotOwner)
	require.ErrorIs(t, h.do(h.EnqueueFromOutside("ada", players[:1], pair)), ErrChanged)
	requireCode(t, "invalid", h.do(h.EnqueueFromOutside("ada", players, Queue{RoomType: "match", MatchSize: 1})))
	h.must(h.EnqueueFromOutside("ada", players, pair))
	require.NotEqual(t, "null", h.value("queue"))
}
