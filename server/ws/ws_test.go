package ws

import (
	"context"
	"errors"
	"net"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/await"
	"github.com/lattice-director/director/internal/testkit/webtest"
)

const patience = 30 * time.Second

// pair returns both ends of a connection.
func pair(t *testing.T, o Options) (*Conn, *websocket.Conn) {
	t.Helper()
	accepted := make(chan *Conn, 1)
	engine := gin.New() // whose writer sends headers late, and not by itself before a hijack
	engine.GET("/", func(g *gin.Context) {
		w, r := g.Writer, g.Request
		if !IsUpgrade(r) {
			t.Error("no upgrade")
		}
		c, err := Accept(w, r, o)
		if err != nil {
			t.Error(err)
			return
		}
		accepted <- c
	})
	s := httptest.NewServer(engine)
	t.Cleanup(s.Close)
	client, _ := webtest.DialWebSocket(t, s.URL, nil)
	c := await.Value(t, accepted, "what happens")
	t.Cleanup(c.Cut)
	return c, client
}

var small = Limits{SmallBytes: 600, LargeBytes: 4_000, LargeAtOnce: 4_000, SmallWithin: patience}

// read reads one message, as text.
func read(c *Conn, r *Reader) (text string, err error) {
	err = r.ReadMessage(context.Background(), c,
		func(_ websocket.MessageType, message []byte) { text = string(message) })
	return text, err
}

func TestMessagesOfAnySize(t *testing.T) {
	t.Parallel()
	c, client := pair(t, Options{MaxMessage: 4_000})
	r := NewReader(small)
	for _, size := range []int{0, 1, 512, 600, 601, 1_023, 4_000} {
		want := strings.Repeat("x", size)
		require.NoError(t, client.Write(t.Context(), websocket.MessageText, []byte(want)))
		got, err := read(c, r)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	require.NoError(t, client.Write(t.Context(), websocket.MessageText, make([]byte, 4_001)))
	_, err := read(c, r)
	require.ErrorIs(t, err, websocket.ErrMessageTooBig)
	_, _, err = client.Read(t.Context())
	require.Equal(t, websocket.StatusMessageTooBig, websocket.CloseStatus(err))
}

// A large message waits for its turn, a small one does not.
func TestLargeMessagesWaitForTheirTurn(t *testing.T) {
	t.Parallel()
	r := NewReader(small)
	require.NoError(t, r.largeBudget.Acquire(t.Context(), small.LargeAtOnce))
	large, largeClient := pair(t, Options{MaxMessage: 4_000})
	quick, quickClient := pair(t, Options{MaxMessage: 4_000})
	require.NoError(t, largeClient.Write(t.Context(), websocket.MessageText, make([]byte, 700)))
	require.NoError(t, quickClient.Write(t.Context(), websocket.MessageText, []byte("quick")))
	got := make(chan int, 1)
	go func() {
		text, _ := read(large, r)
		got <- len(text)
	}()
	text, err := read(quick, r)
	require.NoError(t, err)
	require.Equal(t, "quick", text)
	require.Empty(t, got)
	r.largeBudget.Release(small.LargeAtOnce)
	require.Equal(t, 700, await.Value(t, got, "what happens"))
}

// Pins a buffer that grew beyond what a large message is counted as.
func TestTheBufferStaysWithinTheLimit(t *testing.T) {
	t.Parallel()
	buffer := new(make([]byte, 0, 512))
	ended, err := readUpTo(buffer, 4_001, strings.NewReader(strings.Repeat("x", 4_000)))
	require.NoError(t, err)
	require.True(t, ended)
	require.Len(t, *buffer, 4_000)
	require.LessOrEqual(t, cap(*buffer), 4_001)
}

// Pins a reader that undid the deadline of a close, which then waited for the client for ever.
func TestReadingDoesNotExtendTheEnd(t *testing.T) {
	t.Parallel()
	c, client := pair(t, Options{MaxMessage: 100})
	r := NewReader(small)
	require.NoError(t, client.Write(t.Context(), websocket.MessageText, []byte("late")))
	c.EndWithin(patience)
	c.EndWithin(time.Nanosecond) // only the first counts
	_, err := read(c, r)
	require.ErrorIs(t, err, ErrEnding)
	require.False(t, BreaksProtocol(err))

	silent, _ := pair(t, Options{MaxMessage: 100}) // its client never answers the close frame
	began := time.Now()
	silent.Close(websocket.StatusGoingAway, "", 50*time.Millisecond)
	require.Less(t, time.Since(began), 4*time.Second, "the library waits for five seconds")
}

func TestAFirstMessage(t *testing.T) {
	t.Parallel()
	c, client := pair(t, Options{MaxMessage: -1})
	require.NoError(t, client.Write(t.Context(), websocket.MessageBinary, []byte("hello")))
	kind, message, err := c.ReadFirst(time.Now().Add(patience), 5)
	require.NoError(t, err)
	require.Equal(t, websocket.MessageBinary, kind)
	require.Equal(t, "hello", string(message))

	c, client = pair(t, Options{MaxMessage: -1})
	require.NoError(t, client.Write(t.Context(), websocket.MessageText, []byte("longer than that")))
	_, message, err = c.ReadFirst(time.Time{}, 5)
	require.NoError(t, err)
	require.Equal(t, "longer", string(message))
	discarded := make(chan error, 1)
	go func() { discarded <- c.Discard() }()
	require.NoError(t, client.Write(t.Context(), websocket.MessageText, []byte("another")))
	require.NoError(t, client.Close(4_321, ""))
	require.Equal(t, websocket.StatusCode(4_321), websocket.CloseStatus(await.Value(t, discarded, "what happens")))

	c, _ = pair(t, Options{MaxMessage: -1})
	stop := time.AfterFunc(time.Millisecond, c.StopReading)
	defer stop.Stop()
	_, _, err = c.ReadFirst(time.Now().Add(patience), 5)
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
}

// What is written in a burst arrives in order. Wrap sees its bytes.
func TestBursts(t *testing.T) {
	t.Parallel()
	writes := make(chan int, 100)
	c, client := pair(t, Options{MaxMessage: 100,
		WrapConn: func(conn net.Conn) net.Conn { return counting{conn, writes} }})
	for len(writes) > 0 { // the answer to the handshake
		<-writes
	}
	err := c.WriteBurst(func(b *Burst) error {
		for _, text := range []string{"a", "b", "c"} {
			if err := b.WriteMessage(websocket.MessageText, []byte(text)); err != nil {
				return err
			}
		}
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, 9, <-writes, "one write")
	for _, want := range []string{"a", "b", "c"} {
		_, got, err := client.Read(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, string(got))
	}
	failed := errors.New("the caller's")
	require.ErrorIs(t, c.WriteBurst(func(*Burst) error { return failed }), failed)
}

type counting struct {
	net.Conn

	writes chan int
}

func (c counting) Write(b []byte) (int, error) {
	c.writes <- len(b)
	return c.Conn.Write(b)
}

// A client that does not read is cut, by a message as by a burst.
func TestAWriteThatTakesTooLongCutsTheConnection(t *testing.T) {
	t.Parallel()
	large := make([]byte, 1<<20)
	for name, write := range map[string]func(c *Conn) error{
		"message": func(c *Conn) error { return c.WriteMessage(websocket.MessageBinary, large) },
		"burst": func(c *Conn) error {
			return c.WriteBurst(func(b *Burst) error { return b.WriteMessage(websocket.MessageBinary, large) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, _ := pair(t, Options{MaxMessage: 100, WriteTimeout: 50 * time.Millisecond})
			var err error
			for range 100 { // more than the kernel holds
				if err = write(c); err != nil {
					break
				}
			}
			require.Error(t, err)
			_, err = read(c, NewReader(small))
			require.Error(t, err)
		})
	}
}

func TestPings(t *testing.T) {
	t.Parallel()
	c, client := pair(t, Options{MaxMessage: 100})
	go func() { _ = c.Discard(); c.Cut() }()
	silences, count := make(chan bool, 100), 0
	stop := c.KeepAlive(Pings{Every: time.Millisecond, Within: 20 * time.Millisecond}, func(heard bool) bool {
		silences <- heard
		count++
		return count == 1
	})
	require.False(t, await.Value(t, silences, "what happens"), "its client answers only while it reads")
	require.False(t, await.Value(t, silences, "what happens"), "it was pinged again")
	stop()
	require.Empty(t, silences, "it was given up")

	client.CloseRead(t.Context())
	stop = c.KeepAlive(Pings{Every: time.Millisecond, Within: patience},
		func(bool) bool { silences <- true; return true })
	time.AfterFunc(50*time.Millisecond, func() { _ = client.CloseNow() })
	await.Value(t, silences, "what happens")
	stop()
	stop()
}

func TestASet(t *testing.T) {
	t.Parallel()
	s := NewSet[string, int]()
	require.True(t, s.Add("a", 1))
	require.True(t, s.Add("b", 2))
	require.Equal(t, 2, s.Get("b"))
	require.Zero(t, s.Get("c"))
	require.ElementsMatch(t, []int{1, 2}, s.Conns())
	s.Close()
	require.False(t, s.Add("c", 3))
	empty := make(chan struct{})
	go func() { s.Wait(); close(empty) }()
	s.Remove("a")
	select {
	case <-empty:
		require.Fail(t, "b is there")
	default:
	}
	s.Remove("b")
	await.Value(t, empty, "what happens")
}

func TestConnectionsAreClosedEvenly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var closed []time.Duration
		note := func(int) { closed = append(closed, time.Since(began)) }
		CloseEvenly(t.Context(), 4*time.Second, []int{1, 2, 3, 4}, note)
		require.Equal(t, []time.Duration{0, time.Second, 2 * time.Second, 3 * time.Second}, closed)
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		closed = nil
		CloseEvenly(ctx, 4*time.Second, []int{1, 2, 3, 4}, note)
		require.Len(t, closed, 2)
	})
}

func TestSlots(t *testing.T) {
	t.Parallel()
	s := NewSlots(2)
	require.True(t, s.Take())
	require.True(t, s.Take())
	require.False(t, s.Take())
	require.EqualValues(t, 2, s.Count())
	s.Release()
	require.True(t, s.Take())
}
