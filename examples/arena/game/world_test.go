package game_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lattice-director/director/examples/arena/game"
)

// For all moves, players stay on the field, none is faster than another, and the same seed and moves give the same
// match.
func TestWorld(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		a, b := game.NewWorld(seed), game.NewWorld(seed)
		both := func(move func(*game.World)) { move(a); move(b) }
		for range rapid.IntRange(1, 60).Draw(t, "moves") {
			name := fmt.Sprint(rapid.IntRange(0, 4).Draw(t, "name"))
			heading := game.Point{X: rapid.Float64().Draw(t, "x"), Y: rapid.Float64().Draw(t, "y")}
			switch rapid.IntRange(0, 3).Draw(t, "move") {
			case 0:
				both(func(w *game.World) { w.Join(name) })
			case 1:
				both(func(w *game.World) { w.Leave(name) })
			default:
				before := a.State()
				both(func(w *game.World) { w.Steer(name, heading); w.Step() })
				checkStep(t, before, a.State())
			}
			require.Equal(t, a.State(), b.State())
		}
	})
}

func checkStep(t *rapid.T, before, after game.State) {
	was := map[string]game.PlayerState{}
	for _, p := range before.Players {
		was[p.Name] = p
	}
	for _, p := range after.Players {
		require.True(t, p.Position.X >= 0 && p.Position.X <= game.Size && p.Position.Y >= 0 && p.Position.Y <= game.Size)
		require.LessOrEqual(t, p.Position.Distance(was[p.Name].Position), game.Speed*game.TickEvery.Seconds()+1e-9)
		require.GreaterOrEqual(t, p.Score, was[p.Name].Score)
	}
	require.GreaterOrEqual(t, len(after.Coins), game.CoinsPerHead*len(after.Players))
}

// Moving to the nearest coin scores, and a player who was disconnected keeps the score.
func TestScoreSurvivesLeaving(t *testing.T) {
	t.Parallel()
	w := game.NewWorld(1)
	w.Join("alice")
	for w.Step(); w.State().Players[0].Score == 0; w.Step() {
		s := w.State()
		w.Steer("alice", s.Players[0].Position.Towards(s.Coins[0]))
	}
	score := w.State().Players[0].Score
	w.Leave("alice")
	w.Join("alice")
	require.Equal(t, score, w.State().Players[0].Score)
}
