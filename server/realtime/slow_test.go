package realtime

import (
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/server/realtime/realtimetest"
)

// valve is a connection that can be read only while the valve is open, with small buffers of the kernel.
type valve struct {
	net.Conn

	shut  sync.Mutex // locked while shut
	reads int
}

func (v *valve) Read(p []byte) (int, error) {
	v.shut.Lock()
	v.reads++
	v.shut.Unlock()
	return v.Conn.Read(p)
}

func (v *valve) wrap(conn net.Conn) net.Conn {
	if tcp, is := conn.(*net.TCPConn); is {
		_ = tcp.SetReadBuffer(4 << 10)
	}
	v.Conn = conn
	return v
}

// smallBuffers is a listener whose connections have small send buffers.
type smallBuffers struct{ net.Listener }

func (l smallBuffers) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if tcp, is := conn.(*net.TCPConn); is {
		err = tcp.SetWriteBuffer(4 << 10)
	}
	return conn, err
}

// slowPair is a replica with a member of a lobby that can be stopped from reading, and its owner.
func slowPair(t *testing.T, change ...func(*Options)) (v *served, owner, slow *realtimetest.Client, reads *valve, room string) {
	t.Helper()
	v = serve(t, append(change, func(o *Options) { o.Listener = smallBuffers{o.Listener} })...)
	reads = new(valve)
	owner, slow = v.client(), v.client(func(o *realtimetest.Options) { o.Wrap = reads.wrap })
	room = owner.Join(t, "lobby", "", nil)
	slow.Join(t, "lobby", "", nil)
	return v, owner, slow, reads, room
}

// A member does not read while the state changes by megabytes: it loses the patches, and gets a snapshot, all messages
// and the answers to its own requests once it reads. The others do not wait for it.
func TestASlowReaderIsSentASnapshot(t *testing.T) {
	t.Parallel()
	_, owner, slow, reads, room := slowPair(t, func(o *Options) { o.timing.writeTimeout = time.Minute })
	const changes, said = 200, 20
	value := strings.Repeat("x", 16<<10)
	reads.shut.Lock()
	for i := range changes {
		owner.Must(t, "room.message", room,
			map[string]any{"type": "set",
				"data": map[string]any{"key": "map", "value": value + string(rune('a'+i%26))}})
		if i%(changes/said) == 0 {
			owner.Tell(t, room, "say", map[string]any{"text": string(rune('A' + i/(changes/said)))})
		}
	}
	require.Zero(t, slow.CloseStatus())
	reads.shut.Unlock()

	owner.Must(t, "room.message", room, map[string]any{"type": "set",
		"data": map[string]any{"key": "map", "value": "last"}})
	slow.Wait(t, "the state", func(e *realtimetest.View) bool {
		settings, _ := e.Room(room).State["settings"].(map[string]any)
		return settings["map"] == "last"
	})
	slow.Wait(t, "the messages", func(e *realtimetest.View) bool { return e.Count("room.message", room) == said })
	for i, e := range slow.EventsOf("room.message", room) {
		data, _ := e.P["data"].(map[string]any)
		require.Equal(t, string(rune('A'+i)), data["text"])
	}
	require.Zero(t, slow.Resyncs(), "the replica knows what it has dropped")
	require.GreaterOrEqual(t, slow.Room(room).Snapshots, 2)
	require.Less(t, slow.Room(room).Patches, changes)
}

// Messages are never dropped: a member that does not read them is closed, and resumes its session.
func TestAReaderThatIsTooSlowForMessagesReconnects(t *testing.T) {
	t.Parallel()
	v, owner, slow, reads, room := slowPair(t)
	text := strings.Repeat("x", 1<<10)
	reads.shut.Lock()
	for range 600 { // more than the outbox and the kernel hold
		owner.Must(t, "room.message", room, map[string]any{"type": "say", "data": map[string]any{"text": text}})
		if len(v.openConns()) == 1 {
			break
		}
	}
	owner.Wait(t, "the drop", func(e *realtimetest.View) bool { return e.Count("room.dropped", room) == 1 })
	reads.shut.Unlock()
	slow.Wait(t, "the close", func(e *realtimetest.View) bool { return e.Closed() != 0 })
	require.NoError(t, slow.Reconnect(t.Context(), v.address()))
	require.True(t, slow.Resumed())
	owner.Wait(t, "its return", func(e *realtimetest.View) bool { return e.Count("room.reconnected", room) == 1 })
	owner.Must(t, "room.message", room, map[string]any{"type": "set",
		"data": map[string]any{"key": "map", "value": "last"}})
	slow.Wait(t, "the state", func(e *realtimetest.View) bool {
		settings, _ := e.Room(room).State["settings"].(map[string]any)
		return settings["map"] == "last"
	})
}

// dribble sends each byte by itself.
type dribble struct{ net.Conn }

func (d dribble) Write(p []byte) (int, error) {
	for i := range p {
		if _, err := d.Conn.Write(p[i : i+1]); err != nil {
			return i, err
		}
	}
	return len(p), nil
}

func TestAClientMaySendByteByByte(t *testing.T) {
	t.Parallel()
	v := serve(t)
	for _, codec := range []string{"json", "msgpack"} {
		c := v.client(withCodec(codec), func(o *realtimetest.Options) { o.Wrap = func(conn net.Conn) net.Conn { return dribble{conn} } })
		room := c.Join(t, "counter_plugin_room", "counter_plugin_room:"+codec, nil)
		for range 3 {
			c.Must(t, "room.message", room, map[string]any{"type": "inc", "data": map[string]any{"by": 2}})
		}
		c.Wait(t, "the changes", func(e *realtimetest.View) bool { return counter(e.Room(room)) == 6 })
	}
}

// A frame that takes too long to write ends the connection, although the outbox is not full: it drops patches.
func TestAReaderThatStopsIsCut(t *testing.T) {
	t.Parallel()
	v, owner, _, reads, room := slowPair(t, func(o *Options) { o.timing.writeTimeout = 50 * time.Millisecond })
	value := strings.Repeat("x", 16<<10)
	reads.shut.Lock()
	defer reads.shut.Unlock()
	for i := 0; i < 200 && len(v.openConns()) == 2; i++ {
		owner.Must(t, "room.message", room,
			map[string]any{"type": "set",
				"data": map[string]any{"key": "map", "value": value + string(rune('a'+i%26))}})
	}
	owner.Wait(t, "the drop", func(e *realtimetest.View) bool { return e.Count("room.dropped", room) == 1 })
}

// Pins sessions that stay connected for ever after their client vanished without a close frame.
func TestASilentClientIsCut(t *testing.T) {
	t.Parallel()
	v := serve(t, func(o *Options) { o.timing.pingEvery, o.timing.pongWithin = 200*time.Millisecond, 3*time.Second })
	reads := new(valve)
	watcher, silent := v.client(), v.client(func(o *realtimetest.Options) { o.Wrap = reads.wrap })
	room := watcher.Join(t, "chat", "", nil)
	silent.Join(t, "chat", "", nil)
	reads.shut.Lock() // it answers no ping any more
	watcher.Wait(t, "the drop", func(e *realtimetest.View) bool { return e.Count("room.dropped", room) == 1 })
	reads.shut.Unlock()
	require.Equal(t, silent.SessionID(), last(watcher, "room.dropped").Text("client_id"))
	require.Zero(t, watcher.CloseStatus(), "whoever answers stays")
}
