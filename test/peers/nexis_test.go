package peers

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/cli/clitest"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/webtest"
	"github.com/lattice-director/director/test/rigtest"
)

// nexisBinary names Nexis' server, built from its source (server/ of TriForMine/nexis, v0.1.5).
const nexisBinary = "DIRECTOR_TEST_NEXIS"

// nexisRooms are the room types beside those that both have: a state without logic.
const nexisRooms = `{"town": {"weather": "rain"}}`

// frame is a message, or another value that a client sends.
type frame = map[string]any

// nexisStep is a frame of a client, and what is different in the answers to it.
type nexisStep struct {
	Name   string
	Client string // a or b
	Send   any    // a text is sent as it is
	Fill   int    // how many letters p.x gets; 0: p is sent as it is
	// Differs says why ours are other frames than theirs; "": ours have all that theirs have.
	Differs string
}

// TestNexisSaysTheSame sends the same frames to Nexis' server and to a replica, and compares the frames that all
// clients receive, one by one: what Nexis sends a replica sends in the same order, with the same fields. It may add
// fields, and an answer to a request that Nexis answers with an event only; an answer may come before or after its
// events; and a state's seq begins at 1, not at 0. The steps that differ otherwise are those of which docs/nexis.md
// says so.
func TestNexisSaysTheSame(t *testing.T) {
	t.Parallel()
	var steps []nexisStep
	text, err := os.ReadFile("testdata/nexis_frames.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &steps))
	theirs := newNexisTalk(t, startNexis(t).url, 0)
	ours := newNexisTalk(t, startOurs(t).url, 1)
	for _, step := range steps {
		want := theirs.send(step, nil)
		got := ours.send(step, want)
		switch difference := compareFrames(want, got); {
		case step.Differs == "" && difference != "":
			t.Errorf("%s: %s\ntheirs %s\nours %s", step.Name, difference, jsonOf(want), jsonOf(got))
		case step.Differs != "" && difference == "":
			t.Errorf("%s differs no more: %s", step.Name, step.Differs)
		case step.Differs != "":
			t.Logf("%s differs: %s: %s", step.Name, step.Differs, difference)
		}
	}
}

func jsonOf(v any) string {
	text, _ := json.Marshal(v)
	return string(text)
}

// nexisServer is a server that clients of Nexis connect to.
type nexisServer struct {
	url string
	pid int
}

func startNexis(t *testing.T) nexisServer {
	t.Helper()
	listener, metrics := rigtest.FreeAddr(t), rigtest.FreeAddr(t)
	command := exec.CommandContext(t.Context(), os.Getenv(nexisBinary))
	command.Env = []string{"NEXIS_BIND=" + listener, "NEXIS_METRICS_BIND=" + metrics, "NEXIS_AUTH_MODE=disabled",
		"NEXIS_MASTER_SECRET=" + rigtest.LobbyMaster, "NEXIS_ROOM_TYPE_PLUGINS=" + nexisRooms,
		`NEXIS_WASM_ROOM_PLUGINS={"` + rigtest.CounterRoom + `": "testdata/nexis_counter.wat"}`}
	command.Stdout, command.Stderr = t.Output(), t.Output()
	require.NoError(t, command.Start())
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	require.Eventually(t, func() bool {
		answer, err := http.Get("http://" + metrics + "/health")
		return err == nil && answer.Body.Close() == nil && answer.StatusCode == http.StatusOK
	}, time.Minute, 20*time.Millisecond, "Nexis' server is not there")
	return nexisServer{"ws://" + listener, command.Process.Pid}
}

func startOurs(t *testing.T) nexisServer {
	t.Helper()
	r := rigtest.NewRigOn(t, clitest.BuildDirector(t), dbtest.New(t), "DIRECTOR_REALTIME_AUTH=disabled",
		"DIRECTOR_REALTIME_CONFORMANCE=true",
		"DIRECTOR_REALTIME_ROOMS="+nexisRooms)
	replica := r.ServeLobby("--work")
	return nexisServer{replica.Lobby, replica.Process.Process.PID()}
}

// nexisTalk is two clients of a server.
type nexisTalk struct {
	t        *testing.T
	clients  map[string]*nexisClient
	names    map[string]string // of sessions, by what the server calls them
	firstSeq float64           // of the state of a new room
	lastSeq  float64           // of the last state that a client has received
}

// nexisClient reads all that its connection receives.
type nexisClient struct {
	conn *websocket.Conn

	mu       sync.Mutex
	received []frame
}

func newNexisTalk(t *testing.T, url string, firstSeq float64) *nexisTalk {
	t.Helper()
	talk := &nexisTalk{t: t, clients: map[string]*nexisClient{}, names: map[string]string{}, firstSeq: firstSeq}
	for _, name := range []string{"a", "b"} {
		client := connectNexis(t, url)
		talk.clients[name] = client
		session, _ := client.received[0]["p"].(map[string]any)["session_id"].(string)
		require.NotEmpty(t, session, "%v", client.received)
		talk.names[session] = name
	}
	return talk
}

// dialNexis opens a connection of a client that knows JSON, and sends its handshake.
func dialNexis(t *testing.T, url string) *websocket.Conn {
	t.Helper()
	conn, _ := webtest.DialWebSocket(t, url, nil)
	require.NotNil(t, conn)
	handshake := jsonOf(frame{"v": 1, "codecs": []string{"json"}, "project_id": "p1", "token": ""})
	require.NoError(t, conn.Write(t.Context(), websocket.MessageText, []byte(handshake)))
	return conn
}

// connectNexis connects a client, and awaits the answer to its handshake.
func connectNexis(t *testing.T, url string) *nexisClient {
	t.Helper()
	client := &nexisClient{conn: dialNexis(t, url)}
	go client.read()
	require.Eventually(t, func() bool { return client.count() > 0 }, time.Minute, time.Millisecond)
	return client
}

func (c *nexisClient) read() {
	for {
		_, text, err := c.conn.Read(context.Background()) // until the connection is closed
		if err != nil {
			return
		}
		var f frame
		_ = json.Unmarshal(text, &f)
		c.mu.Lock()
		c.received = append(c.received, f)
		c.mu.Unlock()
	}
}

func (c *nexisClient) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.received)
}

// take returns the frames that were received since the last call.
func (c *nexisClient) take() []frame {
	c.mu.Lock()
	defer c.mu.Unlock()
	taken := c.received
	c.received = nil
	return taken
}

// quietTime is how long a server sends nothing before the answers to a frame are taken as complete.
const quietTime = 250 * time.Millisecond

// send sends the frame of a step, and returns what each client receives: as many frames as the other server has sent,
// and those until it is quiet.
func (k *nexisTalk) send(step nexisStep, other map[string][]any) map[string][]any {
	k.t.Helper()
	for _, client := range k.clients {
		client.take()
	}
	if step.Fill > 0 {
		step.Send.(frame)["p"] = frame{"x": strings.Repeat("y", step.Fill)}
	}
	text, isText := step.Send.(string)
	if !isText {
		text = strings.ReplaceAll(jsonOf(step.Send), `"the last seq"`, fmt.Sprint(k.lastSeq))
	}
	require.NoError(k.t, k.clients[step.Client].conn.Write(k.t.Context(), websocket.MessageText, []byte(text)))
	for end := time.Now().Add(3 * time.Second); time.Now().Before(end) && k.lacksFrames(other); {
		rigtest.PauseFor(k.t.Context(), 5*time.Millisecond)
	}
	for before := -1; before != k.countReceived(); rigtest.PauseFor(k.t.Context(), quietTime) {
		before = k.countReceived()
	}
	got := map[string][]any{}
	for name, client := range k.clients {
		got[name] = []any{}
		for _, f := range client.take() {
			got[name] = append(got[name], k.translate(f))
		}
	}
	return got
}

func (k *nexisTalk) countReceived() (n int) {
	for _, client := range k.clients {
		n += client.count()
	}
	return n
}

// lacksFrames reports whether a client has received fewer frames than that of the other server.
func (k *nexisTalk) lacksFrames(other map[string][]any) bool {
	for name, client := range k.clients {
		if client.count() < len(other[name]) {
			return true
		}
	}
	return false
}

var matchRoom = regexp.MustCompile(`^([a-z_]+):match:[0-9a-f]+$`)

// translate replaces what a server has chosen: sessions by the names of their clients, and each seq by one that counts
// from 0. It keeps the seq as lastSeq.
func (k *nexisTalk) translate(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, value := range v {
			out[key] = k.translate(value)
		}
		if seq, isState := v["seq"].(float64); isState {
			out["seq"], k.lastSeq = seq-k.firstSeq, seq
		}
		return out
	case []any:
		out := []any{}
		for _, value := range v {
			out = append(out, k.translate(value))
		}
		if len(out) == 2 && slices.Contains(out, any("a")) && slices.Contains(out, any("b")) {
			return []any{"a", "b"} // members are sorted by what the server calls them
		}
		return out
	case string:
		if name := k.names[v]; name != "" {
			return name
		}
		return matchRoom.ReplaceAllString(v, "$1:match:X")
	}
	return v
}

// compareFrames says where ours lack what theirs have; "" where they do not.
func compareFrames(theirs, ours map[string][]any) string {
	var found []string
	for _, client := range slices.Sorted(maps.Keys(theirs)) {
		answers, events := splitAnswers(theirs[client])
		ourAnswers, ourEvents := splitAnswers(ours[client])
		if len(events) != len(ourEvents) || len(answers) > len(ourAnswers) {
			found = append(found, fmt.Sprintf("%s receives %d answers and %d events of theirs, %d and %d of ours",
				client, len(answers), len(events), len(ourAnswers), len(ourEvents)))
			continue
		}
		found = append(found, findLacking(client+"'s answers", answers, ourAnswers[:len(answers)])...)
		found = append(found, findLacking(client+"'s events", events, ourEvents)...)
	}
	return strings.Join(found, "; ")
}

// splitAnswers returns the answers and the events among frames.
func splitAnswers(frames []any) (answers, events []any) {
	for _, f := range frames {
		if object, _ := f.(map[string]any); object["t"] == "rpc.response" {
			answers = append(answers, f)
		} else {
			events = append(events, f)
		}
	}
	return answers, events
}

// findLacking returns the places at which ours is not theirs. Fields that theirs lacks are ours to add.
func findLacking(place string, theirs, ours any) (found []string) {
	switch theirs := theirs.(type) {
	case map[string]any:
		other, _ := ours.(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(theirs)) {
			found = append(found, findLacking(place+"."+key, theirs[key], other[key])...)
		}
		return found
	case []any:
		other, _ := ours.([]any)
		for i := range theirs {
			if i < len(other) {
				found = append(found, findLacking(fmt.Sprintf("%s[%d]", place, i), theirs[i], other[i])...)
			}
		}
		if len(theirs) == len(other) {
			return found
		}
	}
	if jsonOf(theirs) != jsonOf(ours) {
		found = append(found, fmt.Sprintf("%s is %s and not %s", place, jsonOf(ours), jsonOf(theirs)))
	}
	return found
}
