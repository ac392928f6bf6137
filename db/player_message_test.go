package db_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
)

func (l *lobbies) message(from, to, text string) db.NewPlayerMessage {
	return db.NewPlayerMessage{Region: "eu", ProjectID: "p", Recipient: to, FromSession: from, FromPlayer: from,
		Type: "say", Data: json.RawMessage(fmt.Sprintf("%q", text))}
}

// An inbox keeps the last 50 messages, and a sender has a rate.
func TestAnInboxIsBounded(t *testing.T) {
	t.Parallel()
	l := setupLobbies(t)
	l.session("a", "b")
	for i := range 60 {
		reached, err := l.SendToPlayer(t.Context(), l.message("a", "b", fmt.Sprint(i+1)))
		require.NoError(t, err)
		require.Equal(t, 1, reached)
	}
	_, err := l.SendToPlayer(t.Context(), l.message("a", "c", "x"))
	requireKind(t, fault.TooMany, "too_many_messages", err)
	l.Exec("UPDATE player_inboxes SET sent_since = now() - interval '2 minutes' WHERE player = 'a'")
	_, err = l.SendToPlayer(t.Context(), l.message("a", "c", "x"))
	require.NoError(t, err)
	messages, err := l.UnreadPlayerMessages(t.Context(), "eu", "b", 0)
	require.NoError(t, err)
	require.Len(t, messages, 50)
	require.Equal(t, [2]any{int64(11), json.RawMessage(`"11"`)}, [2]any{messages[0].Number, messages[0].Data})
	require.NoError(t, l.MarkMessagesRead(t.Context(), "eu", "p", "b", 1000))
	messages, err = l.UnreadPlayerMessages(t.Context(), "eu", "b", 0)
	require.NoError(t, err)
	require.Empty(t, messages)
	require.Equal(t, int64(60), one[int64](l.bundle, "SELECT read FROM player_inboxes WHERE player = 'b'"),
		"nobody reads what was not sent")
	_, err = l.SendToPlayer(t.Context(), l.message("a", "b", string(make([]byte, 8<<10))))
	require.Error(t, err)

	n, err := l.DropUnusedInboxes(t.Context(), "eu", 10)
	require.NoError(t, err)
	require.Zero(t, n)
	l.Exec("UPDATE player_inboxes SET used_at = now() - interval '8 days'")
	n, err = l.DropUnusedInboxes(t.Context(), "eu", 10)
	require.NoError(t, err)
	require.Equal(t, 3, n)
	require.Zero(t, one[int](l.bundle, "SELECT count(*) FROM player_messages"))
}

// Pins a deadlock of two players who write to each other, and two messages with one number.
func TestPlayersWriteToEachOtherAtOnce(t *testing.T) {
	t.Parallel()
	l := setupLobbies(t)
	l.session("a", "b")
	var all sync.WaitGroup
	for _, pair := range [][2]string{{"a", "b"}, {"b", "a"}} {
		for i := range 20 {
			all.Go(func() {
				_, err := l.SendToPlayer(t.Context(), l.message(pair[0], pair[1], fmt.Sprint(i)))
				if err != nil {
					t.Error(err)
				}
			})
		}
	}
	all.Wait()
	require.Equal(t, "20 20 | 20 20", one[string](l.bundle, `SELECT string_agg(i.last || ' ' || (SELECT count(DISTINCT number) FROM player_messages m WHERE m.player = i.player), ' | ')
		FROM player_inboxes i`))
}
