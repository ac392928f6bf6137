package lobby_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/sdk/lobby"
)

// elsewhere is the answer of a replica whose region another cell serves.
func elsewhere(address string) string {
	return fmt.Sprintf(`{"v":1,"t":"error","p":{"reason":"another cell serves the region","code":"region_elsewhere","region":"us","address":%q}}`, address)
}

// A client follows its project to another cell, and stays there when the cell that it was configured with is down. When
// the project comes back, the client does.
func TestAClientFollowsItsProjectToAnotherCell(t *testing.T) {
	t.Parallel()
	var asked, isBack atomic.Int32
	var home, away string
	cutOnce := func(string) []string { return []string{""} } // the first frame cuts the connection
	away = standIn(t, func(int32) string {
		if isBack.Load() > 0 {
			return elsewhere(home)
		}
		return welcome
	}, cutOnce)
	home = standIn(t, func(int32) string {
		asked.Add(1)
		if isBack.Load() > 0 {
			return welcome
		}
		return elsewhere(away)
	}, cutOnce)
	g := dial(t, home)
	require.Equal(t, away, g.Status().URL)

	require.ErrorIs(t, g.Call(within(t), "echo", "", nil, nil), lobby.ErrUncertain)
	require.Eventually(t, func() bool { return len(heard[lobby.Connected](g)) == 2 }, time.Minute, time.Millisecond)
	require.Equal(t, int32(1), asked.Load(), "the cell is remembered")

	isBack.Store(1)
	require.ErrorIs(t, g.Call(within(t), "echo", "", nil, nil), lobby.ErrUncertain)
	require.Eventually(t, func() bool { return len(heard[lobby.Connected](g)) == 3 }, time.Minute, time.Millisecond)
	require.Equal(t, home, g.Status().URL)
}

// Pins a loop of two cells that name each other, and a token that is sent to an address that a foreign cell names, or
// in plain text after TLS.
func TestAClientFollowsNobodyElse(t *testing.T) {
	t.Parallel()
	var thief atomic.Int32
	stolen := standIn(t, func(int32) string { thief.Add(1); return welcome }, func(string) []string { return nil })
	cell := standIn(t, func(int32) string { return elsewhere(stolen) }, func(string) []string { return nil })
	var turns atomic.Int32
	home := standIn(t, func(int32) string {
		switch turns.Add(1) {
		case 1:
			return elsewhere(cell)
		case 2:
			return elsewhere("")
		case 3:
			return elsewhere("ftp://cell.example")
		}
		return welcome
	}, func(string) []string { return nil })
	g := dial(t, home)
	require.Equal(t, home, g.Status().URL)
	require.Equal(t, int32(4), turns.Load())
	require.Zero(t, thief.Load())
}
