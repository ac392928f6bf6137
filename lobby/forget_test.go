package lobby

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Pins a room that keeps the name of a player that was erased, or changes what is another's.
func TestARoomForgetsAPlayer(t *testing.T) {
	t.Parallel()
	h := setup(t, "lobby")
	h.mustJoin("s1")
	h.must(h.PunishPlayer(Sanction{Player: "b&o", IsBan: true}, time.Unix(1, 0)))
	h.must(h.PunishPlayer(Sanction{Player: "cy", IsBan: true}, time.Unix(1, 0)))
	h.room.InvitedMembers = []Member{{Player: "b&o"}, {Player: "cy"}}
	h.room.Metadata = json.RawMessage(`{"host":"b&o"}`)
	h.room.State["b&o"] = json.RawMessage(`1.50`)
	h.room.State["votes"] = json.RawMessage(`{"b\u0026o":["b&o","b&o's","cy"],"z":1e3}`)
	h.must(h.ForgetPlayer("b&o", "erased-1"))
	require.Equal(t, []Member{{Player: "cy"}}, h.room.InvitedMembers)
	require.Equal(t, []Sanction{{Player: "cy", IsBan: true}}, h.room.Sanctions)
	require.Equal(t, `{"host":"erased-1"}`, string(h.room.Metadata))                                  //nolint:testifylint // the very bytes
	require.Equal(t, `{"erased-1":["erased-1","b&o's","cy"],"z":1e3}`, string(h.room.State["votes"])) //nolint:testifylint // the very bytes
	require.Equal(t, `1.50`, string(h.room.State["erased-1"]))
	require.NotContains(t, h.room.State, "b&o")
}
