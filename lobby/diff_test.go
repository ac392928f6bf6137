package lobby_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lattice-director/director/lobby"
)

var asciiTable = &unicode.RangeTable{R16: []unicode.Range16{{Lo: ' ', Hi: '~', Stride: 1}}, LatinOffset: 1}

// apply changes a state as clients do, which take a path of exactly one segment.
func apply(t require.TestingT, state lobby.State, ops []lobby.Op) {
	for _, op := range ops {
		segment, is := strings.CutPrefix(op.Path, "/")
		require.True(t, is && segment != "" && !strings.Contains(segment, "/"), op.Path)
		key := strings.NewReplacer("~1", "/", "~0", "~").Replace(segment)
		switch op.Op {
		case "set":
			require.NotEqual(t, string(op.Value), string(state[key]), "no set without a change")
			state[key] = op.Value
		case "del":
			require.Contains(t, state, key)
			require.Nil(t, op.Value)
			delete(state, key)
		default:
			require.Fail(t, "unknown op", op.Op)
		}
	}
}

func TestADiffMakesTheStateBehindItFromTheOneBefore(t *testing.T) {
	t.Parallel()
	key := rapid.StringOfN(rapid.RuneFrom([]rune("a/~01é")), 1, 4, -1)
	value := rapid.Map(rapid.IntRange(0, 2), func(n int) json.RawMessage { return json.RawMessage([]string{`0`, `{"a":[1]}`, `null`}[n]) })
	state := rapid.MapOfN(key, value, 0, 6)
	rapid.Check(t, func(t *rapid.T) {
		before, after := lobby.State(state.Draw(t, "before")), lobby.State(state.Draw(t, "after"))
		ops := lobby.Diff(before, after)
		got := before.Clone()
		apply(t, got, ops)
		require.Equal(t, after, got)
		require.IsNonDecreasing(t, paths(ops))
		require.Nil(t, lobby.Diff(after, after.Clone()))
	})
}

// paths returns the keys of the changes.
func paths(ops []lobby.Op) []string {
	keys := make([]string, len(ops))
	for i, op := range ops {
		keys[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(op.Path)
	}
	return keys
}

func TestDiffs(t *testing.T) {
	t.Parallel()
	before := parse(t, `{"gone":1,"same":{"a":1},"a/b~c":1,"~1":0}`)
	after := parse(t, `{"same":{"a":1},"a/b~c":{"x":[2]},"new":null,"~1":1}`)
	got, err := json.Marshal(lobby.Diff(before, after))
	require.NoError(t, err)
	require.JSONEq(t, `[{"op":"set","path":"/a~1b~0c","value":{"x":[2]}},{"op":"del","path":"/gone"},{"op":"set","path":"/new","value":null},`+
		`{"op":"set","path":"/~01","value":1}]`, string(got))
}

func TestStatesWithoutAPathAreRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{"":1}`, `[]`, `null`, `1`, ``, `{`} {
		_, err := lobby.ParseState([]byte(text))
		require.Error(t, err, text)
	}
}

func TestACloneKeepsTheOriginal(t *testing.T) {
	t.Parallel()
	state := parse(t, `{"a":1}`)
	clone := state.Clone()
	clone["b"] = json.RawMessage(`2`)
	delete(clone, "a")
	require.Equal(t, `{"a":1}`, string(state.JSON()))
	require.NotNil(t, lobby.State(nil).Clone())
}

// FuzzDiffPaths checks that each key has a path of one segment, from which clients get that key back.
func FuzzDiffPaths(f *testing.F) {
	for _, seed := range []string{"a", "a/b", "~", "~1", "~01", "/", "__proto__", "\x00", "é"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, key string) {
		state := lobby.State{key: json.RawMessage(`1`)}
		got := lobby.State{}
		apply(t, got, lobby.Diff(nil, state))
		if key != "" {
			require.Equal(t, state, got)
		}
		apply(t, got, lobby.Diff(got, nil))
		require.Empty(t, got)
	})
}
