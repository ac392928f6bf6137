package bevygap

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/testkit/webtest"
	"github.com/lattice-director/director/server/rest"
)

var (
	readyFrame = `{"SessionReady":{"token":"` + base64.StdEncoding.EncodeToString(tokenOfTests) +
		`","ip":"192.0.2.7","port":31504,"cert_digest":"0a:1b:2c","client_id":"7"}}`
	errAway = &fault.Error{Kind: fault.Unavailable, Code: "unavailable"}
)

func TestAClientGetsAServerThatIsThere(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.open(1)
	b.ask("").expect(`"Acknowledged"`, `{"SessionRequestAccepted":"eu.s"}`, readyFrame)
	require.Len(t, b.seated, 1)
	sub := b.seated[0].Caller
	require.Equal(t, db.PlaceRequest{Caller: sub, Region: "eu", Mode: "duel", Party: []string{sub}, MaxPlayers: 8},
		b.seated[0])
	require.True(t, strings.HasPrefix(sub, "guest:"))
	require.Empty(t, b.givenUp)
	require.NotContains(t, b.log.String(), base64.StdEncoding.EncodeToString(tokenOfTests)[:40])
}

func TestAClientWaitsForAServer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.ask("")
	require.Equal(t, `"Acknowledged"`, c.read())
	require.Regexp(t, `^{"SessionRequestAccepted":"[0-9a-f]{32}"}$`, c.read())
	requireFrame(t, `{"ProgressReport":"waiting for a server"}`, c.read())
	b.change(func() { b.outlook = fault.Outlook{Region: "eu", Mode: "duel", Starting: 1} })
	next := c.read()
	for next == `{"ProgressReport":"waiting for a server"}` { // repeated every five seconds, as is the call that reads the outlook
		next = c.read()
	}
	requireFrame(t, `{"ProgressReport":"a server is starting"}`, next)
	b.open(1)
	c.expect(readyFrame)
	b.await(t, "nobody waits", func() bool { return b.face.waitingRoom.Waiting() == 0 })
}

// The bytes on the wire, without a WebSocket library that could repair them.
func TestTheBytesOnTheWire(t *testing.T) {
	t.Parallel()
	b := setup(t)
	conn := webtest.Dial(t, b.url)
	_, err := fmt.Fprintf(conn,
		"GET /matchmaker/ws HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"+
			"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n", b.url)
	require.NoError(t, err)
	in := bufio.NewReader(conn)
	status, err := in.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "HTTP/1.1 101 Switching Protocols\r\n", status)
	for line := status; line != "\r\n"; {
		line, err = in.ReadString('\n')
		require.NoError(t, err)
	}
	request := `{"game":"none","version":"1","client_ip":null}`
	_, err = conn.Write(append([]byte{0x81, 0x80 | byte(len(request)), 0, 0, 0, 0}, request...)) // masked with zeros
	require.NoError(t, err)
	text := `{"Error":[404,"there is no version \"1\" of a game \"none\""]}`
	want := "\x81\x0e\"Acknowledged\"" + "\x81" + string(rune(len(text))) + text + "\x88\x09\x03\xe8Goodbye"
	got := make([]byte, len(want))
	_, err = io.ReadFull(in, got)
	require.NoError(t, err)
	require.Equal(t, want, string(got))
}

func TestErrors(t *testing.T) {
	t.Parallel()
	request := func(game, version string) string {
		return fmt.Sprintf(`{"game":%q,"version":%q,"client_ip":null}`, game, version)
	}
	const invalid = `{"Error":[400,"the request must be JSON such as {\"game\":\"my-game\",\"version\":\"1\",\"client_ip\":null}"]}`
	const names = `{"Error":[400,"game and version must be 1 to 64 letters, digits, spaces, dots, underscores and hyphens"]}`
	for name, test := range map[string]struct{ send, query, want string }{
		"no JSON":          {send: "hello", want: invalid},
		"two values":       {send: request("my game", "1.0") + "{}", want: invalid},
		"wrong type":       {send: `{"game":1,"version":"1"}`, want: invalid},
		"wrong client_ip":  {send: `{"game":"my game","version":"1.0","client_ip":7}`, want: invalid},
		"a list":           {send: `[]`, want: invalid},
		"null":             {send: `null`, want: `{"Error":[400,"the request must have game and version"]}`},
		"no version":       {send: `{"game":"my game"}`, want: `{"Error":[400,"the request must have game and version"]}`},
		"bad name":         {send: request("my/game", "1.0"), want: names},
		"long name":        {send: request(strings.Repeat("x", 65), "1.0"), want: names},
		"too long":         {send: request("my game", strings.Repeat(" ", maxFrame)), want: `{"Error":[400,"the request must not be longer than 4096 bytes"]}`},
		"much too long":    {send: strings.Repeat(" ", 32<<10), want: `{"Error":[400,"the request must not be longer than 4096 bytes"]}`},
		"unknown game":     {send: request("none", "1"), want: `{"Error":[404,"there is no version \"1\" of a game \"none\""]}`},
		"without a mode":   {send: request("my game", "0.9"), want: `{"Error":[410,"my game/0.9 has been replaced by another version"]}`},
		"without a token":  {send: request("other", "1"), want: `{"Error":[404,"other/1 has no connect tokens: its app version names no dialect"]}`},
		"unknown region":   {send: request("my game", "1.0"), query: "?region=asia", want: `{"Error":[404,"my game/1.0 has no servers for that region or mode"]}`},
		"mode elsewhere":   {send: request("my game", "1.0"), query: "?region=us&mode=race", want: `{"Error":[404,"my game/1.0 has no servers for that region or mode"]}`},
		"a token, no keys": {send: request("my game", "1.0"), query: "?access_token=x", want: `{"Error":[401,"the access token was refused"]}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			c := b.dial(test.query, nil)
			c.send(websocket.MessageText, test.send)
			if strings.HasPrefix(test.want, `{"Error":[400,`) {
				c.expect(test.want)
			} else {
				c.expect(`"Acknowledged"`, test.want)
			}
		})
	}
}

func TestABinaryMessageIsNoRequest(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.dial("", nil)
	c.send(websocket.MessageBinary, `{"game":"my game","version":"1.0","client_ip":null}`)
	c.expect(`{"Error":[400,"the request must be a text message"]}`)
}

func TestAClientThatAsksForNothing(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *Options) { o.firstWithin = 10 * time.Millisecond })
	b.dial("", nil).expect(`{"Error":[400,"there was no request within 0s"]}`)
}

func TestLaterMessagesAreIgnoredAndAFloodCloses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	patient, flood := b.ask(""), b.ask("")
	patient.send(websocket.MessageText, "hello?")
	patient.send(websocket.MessageBinary, strings.Repeat("x", 10_000))
	require.Error(t, func() (err error) {
		for err == nil {
			err = flood.ws.Write(t.Context(), websocket.MessageText, make([]byte, 16<<10))
		}
		return err
	}())
	b.await(t, "the flood has left", func() bool { return b.face.waitingRoom.Waiting() == 1 })
	b.open(1)
	require.Equal(t, `"Acknowledged"`, patient.read())
	for frame := patient.read(); frame != readyFrame; frame = patient.read() {
		require.NotContains(t, frame, "Error")
	}
}

func TestNobodyCouldHost(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		outlook fault.Outlook
		err     error
		want    string
	}{
		"in time":     {want: `{"Error":[408,"no server could host you within 0s"]}`},
		"a full pool": {outlook: fault.Outlook{Region: "eu", Mode: "duel", IsFull: true}, want: `{"Error":[409,"all servers are full, and no more may be started: nobody could host you within 0s"]}`},
		"paused by an operator": {
			outlook: fault.Outlook{Region: "eu", Mode: "duel", PausedUntil: time.Now(), PausedByOperator: true}, want: `{"Error":[503,"no servers of this version are started now"]}`,
		},
		"paused for longer than it may wait": {
			outlook: fault.Outlook{Region: "eu", Mode: "duel", PausedUntil: time.Now().Add(time.Minute)}, want: `{"Error":[503,"no servers of this version are started now"]}`,
		},
		"paused while servers start": {
			outlook: fault.Outlook{Region: "eu", Mode: "duel", PausedUntil: provision.Forever(), PausedByOperator: true, Starting: 1}, want: `{"Error":[408,"no server could host you within 0s"]}`,
		},
		"an outage": {err: errAway, want: `{"Error":[503,"the director cannot decide now: ask again"]}`},
		"a bug":     {err: errors.New("a secret text"), want: `{"Error":[500,"internal error"]}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, func(o *Options) { o.WaitLimit = 300 * time.Millisecond })
			b.change(func() { b.outlook, b.err = test.outlook, test.err })
			c := b.ask("")
			frame := c.read()
			for ; !strings.Contains(frame, "Error"); frame = c.read() {
			}
			require.Equal(t, test.want, frame)
			c.expect()
			b.await(t, "no demand is left",
				func() bool { return len(b.demand) == 0 && b.face.waitingRoom.Waiting() == 0 })
		})
	}
}

func TestAClientThatLeavesTakesItsDemandAlong(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.ask("")
	b.await(t, "it waits", func() bool { return len(b.demand) == 1 })
	require.NoError(t, c.ws.Close(websocket.StatusGoingAway, ""))
	b.await(t, "its demand is gone", func() bool { return len(b.demand) == 0 })
}

// Pins a client that lost its network: its demand kept servers starting for as long as a request may wait.
func TestAClientThatVanishesTakesItsDemandAlong(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *Options) {
		o.pingEvery, o.pongWithin, o.WaitLimit = 50*time.Millisecond, 3*time.Second, 5*time.Minute
	})
	vanished, stays := b.ask(""), b.ask("")
	require.Equal(t, `"Acknowledged"`, vanished.read()) // from here on it reads nothing, and so answers no pings
	go func() {                                         // answers pings
		for _, _, err := stays.ws.Read(context.Background()); err == nil; _, _, err = stays.ws.Read(context.Background()) {
			continue
		}
	}()
	b.await(t, "both wait", func() bool { return len(b.demand) == 2 })
	b.await(t, "the demand of one is gone",
		func() bool { return len(b.demand) == 1 && b.face.waitingRoom.Waiting() == 1 })
	b.open(1)
	b.await(t, "the other gets the seat", func() bool { return len(b.seated) > 0 && len(b.demand) == 0 })
	require.NoError(t, vanished.ws.CloseNow())
}

// A client leaves while its connection is made: nobody uses the seat.
func TestAClientThatLeavesGivesItsSeatBack(t *testing.T) {
	t.Parallel()
	connecting, goOn := make(chan struct{}), make(chan struct{})
	b := setup(t, func(o *Options) {
		o.ConnectSeat = func(ctx context.Context, _, _ string) (Connection, error) {
			close(connecting)
			<-goOn
			return Connection{}, context.Cause(ctx)
		}
	})
	b.open(1)
	c := b.ask("")
	<-connecting
	require.NoError(t, c.ws.CloseNow())
	close(goOn)
	b.await(t, "its seat is free", func() bool { return len(b.givenUp) == 1 })
}

// The server of a seat ended before the client could connect: it gets another one.
func TestALostSeatIsReplaced(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.change(func() {
		b.connects = []error{errAway, &fault.Error{Kind: fault.Gone, Code: "session_closed"},
			&fault.Error{Kind: fault.NotFound, Code: "session_unknown"}}
	})
	b.open(3)
	b.ask("").expect(`"Acknowledged"`, `{"SessionRequestAccepted":"eu.s"}`, readyFrame)
	require.Len(t, b.seated, 3)
	require.Len(t, b.givenUp, 2)
}

// bevygap's client would panic.
func TestAConnectionThatBreaksTheClientIsNotSent(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *Options) {
		o.ConnectSeat = func(context.Context, string, string) (Connection, error) {
			return Connection{Token: []byte("short")}, nil
		}
	})
	b.open(1)
	b.ask("").expect(`"Acknowledged"`, `{"SessionRequestAccepted":"eu.s"}`, `{"Error":[500,"internal error"]}`)
	b.await(t, "its seat is free", func() bool { return len(b.givenUp) == 1 })
}

func TestIPv6HasBrackets(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.change(func() { b.ip = "2001:db8::1" })
	b.open(1)
	c := b.ask("")
	c.read()
	c.read()
	require.Contains(t, c.read(), `"ip":"[2001:db8::1]","port":31504`)
}

func TestAStoppingReplicaEndsEveryRequest(t *testing.T) {
	t.Parallel()
	b := setup(t)
	silent, waiting := b.dial("", nil), b.ask("")
	b.await(t, "it waits", func() bool { return len(b.demand) == 1 })
	stopped := make(chan error, 1)
	go func() { stopped <- b.face.Stop(t.Context()) }()
	silent.expect(`{"Error":[503,"this replica stops: ask again"]}`)
	frame := waiting.read()
	for ; !strings.Contains(frame, "Error"); frame = waiting.read() {
	}
	requireFrame(t, `{"Error":[503,"this replica stops: ask again"]}`, frame)
	waiting.expect()
	require.NoError(t, <-stopped)
	b.await(t, "no demand is left", func() bool { return len(b.demand) == 0 })
	_, handshake := webtest.DialWebSocket(t, "ws://"+b.url+"/matchmaker/ws", nil)
	require.Equal(t, http.StatusServiceUnavailable, handshake.Status)
}

func TestLimits(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *Options) { o.PerAddress, o.MaxWaiting = 2, 1 })
	first := b.ask("")
	b.await(t, "it waits", func() bool { return len(b.demand) == 1 })
	b.ask("").expect(`"Acknowledged"`, `{"Error":[429,"too many players wait in this replica"]}`)
	second := b.dial("", nil)
	b.dial("", nil).expect(`{"Error":[429,"too many requests wait from this address"]}`)
	require.NoError(t, second.ws.CloseNow())
	b.open(1)
	require.Equal(t, `"Acknowledged"`, first.read())
}

func TestGuestsOfOneAddressAreLimited(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *Options) { o.PerAddress = 2 })
	b.open(5)
	for range 4 {
		c := b.ask("")
		for frame := c.read(); frame != readyFrame; frame = c.read() {
			require.NotContains(t, frame, "Error")
		}
		c.expect()
	}
	b.ask("").expect(`"Acknowledged"`, `{"Error":[429,"too many requests from this address"]}`)
}

func TestPlayers(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *Options) {
		o.AllowsGuests = false
		o.FailureLimiter = rest.NewLimiter(rest.Rate{PerSecond: 0.001, Burst: 1})
		o.VerifyToken = func(_ context.Context, raw string) (string, error) {
			switch raw {
			case "ann's":
				return "ann", nil
			case "unknown":
				return "", errAway
			}
			return "", errors.New("wrong")
		}
	})
	b.open(2)
	b.ask("?access_token=ann's").expect(`"Acknowledged"`, `{"SessionRequestAccepted":"eu.s"}`, readyFrame)
	require.Equal(t, "ann", b.seated[0].Caller)
	header := b.dial("", http.Header{"Authorization": {"Bearer ann's"}})
	header.send(websocket.MessageText, `{"game":"my game","version":"1.0"}`)
	header.expect(`"Acknowledged"`, `{"SessionRequestAccepted":"eu.s"}`, readyFrame)
	b.ask("").expect(`"Acknowledged"`, `{"Error":[401,"an access token is required: ?access_token= or the header Authorization"]}`)
	b.ask("?access_token=bob's").expect(`"Acknowledged"`, `{"Error":[401,"the access token was refused"]}`)
	b.ask("?access_token=bob's").expect(`"Acknowledged"`, `{"Error":[429,"too many failed requests from this address"]}`)
	b.ask("?access_token=unknown").expect(`"Acknowledged"`, `{"Error":[503,""]}`)
	require.NotContains(t, b.log.String(), "ann's")
}

// Pins a player whom nobody can tell why there was no server; guests are nobody whom an operator could look for.
func TestRefusalsOfPlayersAreTold(t *testing.T) {
	t.Parallel()
	told := make(chan fault.Refusal, 10)
	b := setup(t, func(o *Options) {
		o.OnRefusal = func(r fault.Refusal) { told <- r }
		o.VerifyToken = func(context.Context, string) (string, error) { return "ann", nil }
	})
	toEnd := func(query string) (last string) {
		c := b.ask(query)
		for !strings.Contains(last, "Error") && !strings.Contains(last, "SessionReady") {
			last = c.read()
		}
		return last
	}
	require.Contains(t, toEnd("?mode=chess"), "Error")
	require.Contains(t, toEnd("?access_token=x&region=eu&mode=chess"), "Error")
	require.Equal(t, fault.Refusal{Player: "ann", Call: "bevygap", Code: "404", Region: "eu", Mode: "chess",
		Detail: "my game/1.0: my game/1.0 has no servers for that region or mode"}, <-told)
	b.open(1)
	require.Contains(t, toEnd("?access_token=x&region=eu&mode=duel"), "SessionReady")
	require.Empty(t, told)
}

// The Origin is judged before the upgrade, so that a page learns nothing.
func TestOrigins(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for origin, status := range map[string]int{"https://play.example": 101, "https://evil.example": 403, "null": 403} {
		_, handshake := webtest.DialWebSocket(t, "ws://"+b.url+"/matchmaker/ws",
			&websocket.DialOptions{HTTPHeader: http.Header{"Origin": {origin}}})
		require.Equal(t, status, handshake.Status, origin)
	}
	require.Equal(t, http.StatusForbidden, b.call(http.MethodPost, "/matchmaker/wannaplay", "Origin",
		"https://evil.example").Status)
}
