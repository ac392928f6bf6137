package ws

import (
	"bytes"
	"errors"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// wire is a connection that keeps what is written.
type wire struct {
	net.Conn

	writes [][]byte
	fails  error
}

func (w *wire) Write(p []byte) (int, error) {
	if w.fails != nil {
		return 0, w.fails
	}
	w.writes = append(w.writes, bytes.Clone(p))
	return len(p), nil
}

func TestABurstIsOneWrite(t *testing.T) {
	t.Parallel()
	w := new(wire)
	k := &cork{Conn: w}
	for _, frame := range []string{"at once", "a", "b", "c"} {
		_, err := k.Write([]byte(frame))
		require.NoError(t, err)
		k.holdFrames()
	}
	require.Len(t, w.writes, 1)
	require.NoError(t, k.flushHeld())
	require.NoError(t, k.flushHeld(), "nothing is held")
	require.Equal(t, [][]byte{[]byte("at once"), []byte("abc")}, w.writes)
	require.Nil(t, k.heldFrames, "an idle connection keeps no buffer")

	k.holdFrames()
	w.fails = errors.New("reset by peer")
	_, err := k.Write([]byte("d"))
	require.NoError(t, err)
	require.ErrorIs(t, k.flushHeld(), w.fails)
}

// Whatever is held when, the bytes go out in order, and a cork never holds more than corkBytes beside one frame.
func TestCorkProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := new(wire)
		k := &cork{Conn: w}
		var want []byte
		t.Repeat(map[string]func(*rapid.T){
			"hold":  func(*rapid.T) { k.holdFrames() },
			"flush": func(t *rapid.T) { require.NoError(t, k.flushHeld()) },
			"write": func(t *rapid.T) {
				frame := bytes.Repeat([]byte{byte(rapid.IntRange('a', 'z').Draw(t, "letter"))},
					rapid.IntRange(0, corkBytes+10).Draw(t, "bytes"))
				n, err := k.Write(frame)
				require.NoError(t, err)
				require.Equal(t, len(frame), n)
				want = append(want, frame...)
				if k.heldFrames != nil {
					require.LessOrEqual(t, k.heldFrames.Len(), max(corkBytes, len(frame)))
				}
			},
		})
		require.NoError(t, k.flushHeld())
		require.Equal(t, string(want), string(bytes.Join(w.writes, nil)))
	})
}
