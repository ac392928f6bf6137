package lobby

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestConfiguredTypes(t *testing.T) {
	t.Parallel()
	types := newTypes(t)
	town, _ := types.LookupType("town")
	require.Equal(t, 5, town.MaxMembers)
	require.Zero(t, town.GracePeriod)
	squads, _ := types.LookupType("squads")
	require.True(t, squads.IsPrivate)
	require.Equal(t, time.Minute, squads.GracePeriod)
	ranked, _ := types.LookupType("ranked")
	require.Equal(t, "ranked-1v1", ranked.ProfileName)
}

// Nexis' own form is the state of a new room.
func TestATemplateIsAChatWithThatState(t *testing.T) {
	t.Parallel()
	types, err := NewTypes(false, []byte(`{"board":{"scores":{"a":1.0},"open":true},"empty":{}}`))
	require.NoError(t, err)
	r := &Room{IsNew: true}
	require.NoError(t, types.JoinRoom(Join{RoomType: "board", Session: "s1"})(r))
	require.JSONEq(t, `{"open":true,"scores":{"a":1}}`, string(r.State.JSON()))
	require.NoError(t, types.HandleMessage(Message{Session: "s1",
		Type: "x"})(func() *Room { r.IsNew = false; return r }()))
	require.NoError(t, types.JoinRoom(Join{RoomType: "empty", Session: "s1"})(&Room{IsNew: true}))
}

func TestABuiltInTypeCanBeConfiguredAnew(t *testing.T) {
	t.Parallel()
	types, err := NewTypes(true, []byte(`{"lobby":{"logic":"lobby","max_members":100},"match":{"logic":"match","grace":"1h"},"echo_room":{"a":1}}`))
	require.NoError(t, err)
	lobby, _ := types.LookupType("lobby")
	require.Equal(t, 100, lobby.MaxMembers)
	require.Equal(t, time.Hour, types.MatchRoom(threePlayers("duel"))().GracePeriod)
}

func TestMistakesInTheConfigurationNameTheTypeAndTheKey(t *testing.T) {
	t.Parallel()
	for config, text := range map[string]string{
		`[]`:                                   `the configuration of room types must be a JSON object`,
		`{"a":`:                                `the configuration of room types is not JSON: EOF`,
		`{} {}`:                                `the configuration of room types must be one JSON object, with nothing behind it`,
		`{"a":{},"a":{}}`:                      `the configuration of room types has the key "a" twice`,
		`{"a b":{}}`:                           `room type "a b": the name must have 1 to 64 bytes without spaces, colons and control characters`,
		`{"a:b":{}}`:                           `room type "a:b": the name must have 1 to 64 bytes without spaces, colons and control characters`,
		`{"a":"lobby.wasm"}`:                   `room type "a": must be a JSON object`,
		`{"a":{"logic":"x"}}`:                  `room type "a": key "logic" must be chat, lobby, party or match`,
		`{"a":{"logic":1}}`:                    `room type "a": key "logic" must be chat, lobby, party or match`,
		`{"a":{"logic":"chat","max":1}}`:       `room type "a": key "max" is unknown; logic chat has max_members, grace, private, state, link`,
		`{"a":{"logic":"chat","profile":"x"}}`: `room type "a": key "profile" is unknown; logic chat has max_members, grace, private, state, link`,
		`{"a":{"logic":"match","max_members":2}}`:                    `room type "a": key "max_members" is unknown; logic match has grace, profile`,
		`{"a":{"max_members":1}}`:                                    `room type "a": key "max_members" is one of a type with the key "logic", which is absent`,
		`{"a":{"logic":"party","max_members":17}}`:                   `room type "a": key "max_members" must be a whole number from 1 to 16`,
		`{"a":{"logic":"lobby","max_members":0}}`:                    `room type "a": key "max_members" must be a whole number from 1 to 200`,
		`{"a":{"logic":"chat","max_members":"5"}}`:                   `room type "a": key "max_members" must be a whole number from 1 to 2000`,
		`{"a":{"logic":"chat","max_members":null}}`:                  `room type "a": key "max_members" must be a whole number from 1 to 2000`,
		`{"a":{"logic":"chat","max_members":1.5}}`:                   `room type "a": key "max_members" must be a whole number from 1 to 2000`,
		`{"a":{"logic":"chat","grace":60}}`:                          `room type "a": key "grace" must be a duration from "0s" to "1h0m0s"`,
		`{"a":{"logic":"chat","grace":"-1s"}}`:                       `room type "a": key "grace" must be a duration from "0s" to "1h0m0s"`,
		`{"a":{"logic":"chat","grace":"2h"}}`:                        `room type "a": key "grace" must be a duration from "0s" to "1h0m0s"`,
		`{"a":{"logic":"chat","link":"/join/{code}"}}`:               `room type "a": key "link" must be a URL of at most 500 bytes with {code}, such as "https://game.example/join/{code}"`,
		`{"a":{"logic":"party","link":"https://game.example"}}`:      `room type "a": key "link" must be a URL of at most 500 bytes with {code}, such as "https://game.example/join/{code}"`,
		`{"a":{"logic":"chat","private":null}}`:                      `room type "a": key "private" must be true or false`,
		`{"a":{"logic":"chat","state":[]}}`:                          `room type "a": key "state" must be a JSON object`,
		`{"a":{"logic":"chat","state":{"":1}}}`:                      `room type "a": key "state" has an empty key, which clients cannot read`,
		`{"a":{"":1}}`:                                               `room type "a": the state of its rooms has an empty key, which clients cannot read`,
		`{"a":{"logic":"match","profile":""}}`:                       `room type "a": key "profile" must be the name of a profile, of at most 63 bytes`,
		`{"a":{"logic":"lobby","queue":{}}}`:                         `room type "a": key "queue" has no "room_type"`,
		`{"a":{"logic":"lobby","queue":{"size":1}}}`:                 `room type "a": key "queue" has a "size" that must be a whole number from 2 to 16`,
		`{"a":{"logic":"lobby","queue":{"mode":"x"}}}`:               `room type "a": key "queue" has the unknown key "mode"; it has room_type, size`,
		`{"a":{"x":"` + strings.Repeat("x", maxStateBytes/2) + `"}}`: `room type "a": the state of its rooms must have at most 255 keys and 32768 bytes`,
	} {
		_, err := NewTypes(true, []byte(config))
		require.EqualError(t, err, text, config)
	}
	_, err := NewTypes(true, []byte(strings.Repeat(" ", maxConfigBytes)+`{}`))
	require.ErrorContains(t, err, "more than 1048576 bytes")
}

func FuzzConfig(f *testing.F) {
	f.Add(config)
	f.Add(`{"a":{"logic":"lobby","queue":{"room_type":"x","size":2}},"b":{"__proto__":null}}`)
	f.Fuzz(func(t *testing.T, config string) {
		types, err := NewTypes(false, []byte(config))
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		for name, typ := range types.byName {
			require.True(t, ValidType(name))
			require.Equal(t, name, typ.Name)
			require.Positive(t, typ.MaxMembers)
			require.GreaterOrEqual(t, typ.GracePeriod, time.Duration(0))
			h := &house{Types: types, t: t, typ: name, room: &Room{IsNew: true, ID: "r"}}
			if typ.roomLogic == Logic(matchLogic{}) {
				h.room = h.MatchRoom(threePlayers(name))()
			}
			require.NoError(t, h.join("s1"))
		}
	})
}

func TestNamesOfRoomsAndTypes(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"a", "duel:match:0f", "räume/1", strings.Repeat("x", 128), "__proto__"} {
		require.True(t, ValidID(id), id)
	}
	for _, id := range []string{"", " ", "a b", "a\u00a0b", "a\n", "a\x00", "\x7f", "\u0085", "\xff",
		strings.Repeat("x", 129)} {
		require.False(t, ValidID(id), id)
	}
	require.True(t, ValidType(strings.Repeat("x", 64)))
	require.False(t, ValidType(strings.Repeat("x", 65)))
	require.False(t, ValidType("a:b"))
}

func TestSizesAreClamped(t *testing.T) {
	t.Parallel()
	for asked, size := range map[any]int{-1.0: 2, 1e300: 16, "3": 2, nil: 2, 3.9: 3, 16.0: 16, 17.0: 16, true: 2} {
		require.Equal(t, size, ClampSize(asked), asked)
	}
}
