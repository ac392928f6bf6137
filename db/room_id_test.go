package db

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestValidRoomID(t *testing.T) {
	t.Parallel()
	for id, valid := range map[string]bool{
		"a": true, "AZaz09_-": true, strings.Repeat("x", 64): true, newRoomID(): true,
		"": false, strings.Repeat("x", 65): false, "a.b": false, "a~b": false, "a%20b": false, "ü": false, "a\n": false, "a/b": false,
	} {
		require.Equal(t, valid, validRoomID(id), "%q", id)
	}
}

func TestNewRoomIDsAreDistinct(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 1000 {
		id := newRoomID()
		require.Regexp(t, `^r_[A-Za-z0-9_-]{21}$`, id)
		require.False(t, seen[id])
		seen[id] = true
	}
}

func TestRoomBase(t *testing.T) {
	t.Parallel()
	for raw, base := range map[string]string{
		"match-42": "match-42", "lobby #1/ü": "lobby%20%231%2F%C3%BC", "~": "%7E", "a.b%": "a%2Eb%25", "\x00": "%00", "": "",
		"+": "%2B", strings.Repeat("x", 65): strings.Repeat("x", 65), "𝔸": "%F0%9D%94%B8",
	} {
		require.Equal(t, base, roomBase(raw))
	}
}

// Two raw ids never share a base, and a base fits into a path and has none of the separators of ids.
func TestRoomBaseIsReversible(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		raw := rapid.String().Draw(t, "raw")
		base := roomBase(raw)
		require.Regexp(t, `^([A-Za-z0-9_-]|%[0-9A-F]{2})*$`, base)
		back, err := rawRoomID(base)
		require.NoError(t, err)
		require.Equal(t, raw, back)
	})
}
