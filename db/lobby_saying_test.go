package db_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/lobby"
)

func (l *lobbies) sayingText(session, room, text string) db.LobbyAction {
	return actionOf(session, room, l.types.HandleMessage(lobby.Message{Session: session, Player: session,
		Type: lobby.MessageSay,
		Data: json.RawMessage(fmt.Sprintf(`{"text":%q}`, text)), SentAt: time.UnixMilli(1_700_000_000_123)}))
}

// A room remembers the last 50 messages, and forgets them with its end.
func TestARoomRemembersTheLastMessages(t *testing.T) {
	t.Parallel()
	l := setupLobbies(t)
	l.session("a", "b")
	l.act(l.Store, l.joining("a", "chat:1", "chat"))
	for i := range lobby.MaxSayings + 7 {
		l.act(l.Store, l.sayingText("a", "chat:1", fmt.Sprint(i+1)))
	}
	_, err := l.LobbySayings(t.Context(), "eu", "p", "chat:1", "b", 0)
	require.ErrorIs(t, err, lobby.ErrNotMember, "a stranger reads nothing")
	l.act(l.Store, l.joining("b", "chat:1", "chat"))
	said, err := l.Replica().LobbySayings(t.Context(), "eu", "p", "chat:1", "b", 0)
	require.NoError(t, err)
	require.Len(t, said, lobby.MaxSayings)
	for i, one := range said {
		require.Equal(t, int64(i+8), one.Number)
		require.JSONEq(t, fmt.Sprintf(`{"text":"%d"}`, i+8), string(one.Data))
	}
	require.Equal(t, [3]any{"a", "a", int64(1_700_000_000_123)},
		[3]any{said[0].SessionID, said[0].Player, said[0].SaidAt.UnixMilli()})
	said, err = l.LobbySayings(t.Context(), "eu", "p", "chat:1", "b", int64(lobby.MaxSayings+7))
	require.NoError(t, err)
	require.Empty(t, said)
	l.Exec("UPDATE lobbies SET grace = '0'")
	l.act(l.Store, l.leaving("a", "chat:1"))
	require.True(t, l.act(l.Store, l.leaving("b", "chat:1")).IsClosed)
	require.Zero(t, one[int](l.bundle, "SELECT count(*) FROM lobby_sayings"))
}

// Messages of one transaction, more than a room remembers, have a slot each.
func TestMoreMessagesThanARoomRemembersInOneTransaction(t *testing.T) {
	t.Parallel()
	l := setupLobbies(t)
	l.session("a")
	l.act(l.Store, l.joining("a", "chat:1", "chat"))
	waits := make([]func() (db.LobbyAnswer, error), 0, 3*lobby.MaxSayings)
	for i := range 3 * lobby.MaxSayings {
		waits = append(waits, l.BeginInLobby(t.Context(), l.sayingText("a", "chat:1", fmt.Sprint(i+1))))
	}
	for _, wait := range waits {
		_, err := wait()
		require.NoError(t, err)
	}
	said, err := l.LobbySayings(t.Context(), "eu", "p", "chat:1", "a", 0)
	require.NoError(t, err)
	require.Len(t, said, lobby.MaxSayings)
	require.Equal(t, int64(2*lobby.MaxSayings+1), said[0].Number)
}
