package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/webtest"
	"github.com/lattice-director/director/server"
	"github.com/lattice-director/director/token"
)

// cellOfTests are the addresses of another cell, by listener.
var cellOfTests = map[string]string{
	"api": "https://us.example", "realtime": "wss://lobby.us.example", "control": "https://control.us.example",
	"orchestrator": "https://agents.us.example", "grpc": "grpc.us.example:443",
}

// moveAway says that another cell serves regions.
func (b *bundle) moveAway(regions ...string) {
	b.t.Helper()
	listeners := maps.Clone(cellOfTests)
	delete(listeners, "api")
	b.knows(db.OtherCell{Name: "us", APIAddress: cellOfTests["api"], ServedRegions: regions, Listeners: listeners})
}

// emigrant is a replica with every face, all of whose regions moved to another cell after they were used.
type emigrant struct {
	*bundle

	session, handle string
	server          fields
	deployment      uuid.UUID
}

func newEmigrant(t *testing.T) *emigrant {
	t.Helper()
	e := &emigrant{bundle: setup(t, everyFace)}
	e.client = e.plainClient()
	e.server = e.register("a")
	session, _ := e.seat("alice")
	e.session, e.handle = session["session_id"].(string), session["session_handle"].(string)
	e.deployment = e.deploy(true)
	must.Get(e.store.CreateProject(t.Context(),
		db.NewProject{ID: "game", Name: "game", Region: "eu", Actor: "test"}))(t)
	e.moveAway("eu", "global")
	return e
}

// regionless are the routes that concern no region, or this cell as a whole, and why. Those of the console are pages of this
// cell, and those of /metrics its numbers.
var regionless = map[string]string{
	"api POST /ops/players/:sub/erase":       "of all regions of a cell",
	"api GET /ops/players/:sub/export":       "of all regions of a cell",
	"api GET /regions":                       "lists the cells",
	"api GET /ops/events":                    "the log is a cell's own; a region is a filter",
	"api GET /.well-known/jwks.json":         "keys are a cell's own",
	"api GET /.well-known/webhook-keys.json": "keys are a cell's own",
	"api GET /":                              "documentation", "api GET /docs": "documentation",
	"api GET /docs/try":            "documentation",
	"api GET /docs/try/reader.css": "documentation",
	"api GET /docs/try/reader.js":  "documentation", "api GET /docs/try/swagger-ui-bundle.js": "documentation",
	"api GET /docs/try/swagger-ui.css": "documentation",
	"api GET /openapi.yaml":            "documentation", "api GET /nexis.yaml": "documentation",
	"api GET /favicon.ico": "documentation", "api GET /matchmaker": "a page",
	"api GET /healthz": "a probe", "api GET /readyz": "a probe", "orchestrator GET /healthz": "a probe",
	"orchestrator GET /readyz": "a probe", "control GET /health": "a probe",
	"control GET /projects": "lists those of this cell", "control GET /metrics": "numbers of this cell",
	"orchestrator WebSocket /":                    "refused before the upgrade: TestAnAgentIsToldOfTheOtherCell",
	"api GET /matchmaker/ws":                      "answers in frames: TestBevygapNamesTheOtherCell",
	"realtime WebSocket /":                        "answers in a frame: TestTheLobbyNamesTheOtherCell",
	"api POST /matchmaker/request/:game/:version": "answers in events: TestBevygapNamesTheOtherCell",
	"api POST /matchmaker/wannaplay":              "answers in events: TestBevygapNamesTheOtherCell",
}

// body is that of a route which reads one before it knows the region; the routes of a universe need none.
func (e *emigrant) body(route string) any {
	if strings.HasPrefix(route, "POST /ops/lobby/") && route != "POST /ops/lobby/tell" {
		return fields{"project": "game", "room": "party:1", "player": "bob", "reason": "test", "type": "x.hello",
			"message": "hello", "data": fields{}}
	}
	return map[string]any{
		"POST /matchmake": duel, "POST /login-queue": fields{"region": "eu"},
		"POST /resolve": fields{"session_handle": e.handle}, "POST /fleet/register": registration("b"),
		"POST /fleet/heartbeat": e.server, "POST /fleet/deregister": e.server,
		"POST /fleet/drain":    e.server.with("drain", true),
		"POST /fleet/seats":    e.server.with("session_id", e.session).with("left", []string{"alice"}),
		"POST /fleet/clients":  e.server.with("seq", 1).with("clients", []string{}),
		"POST /ops/lobby/tell": fields{"project": "game", "player": "bob", "type": "x.hello", "data": fields{}},
		"POST /projects":       fields{"name": "another"}, "POST /tokens": fields{"project_id": "game", "key_id": "k"},
	}[route]
}

// Pins a route that goes on to answer about a region which another cell serves: two cells would then decide about the same
// seats. A new route is in this test by being mounted.
func TestEachRouteNamesTheOtherCell(t *testing.T) {
	t.Parallel()
	e := newEmigrant(t)
	visited := 0
	for _, l := range e.bundle.server.Listeners() {
		if l.Name == "console" || l.Name == "metrics" {
			continue
		}
		for _, route := range routesOf(l) {
			name := l.Name + " " + route[0] + " " + route[1]
			if regionless[name] != "" {
				continue
			}
			visited++
			method, pattern := route[0], route[1]
			path := strings.NewReplacer("/sessions/:id", "/sessions/"+e.session, "/projects/:id", "/projects/game",
				":action",
				"x").Replace(pattern)
			if strings.HasPrefix(pattern, "/hooks/") {
				path = "/hooks/eu/" + e.deployment.String() + "/" +
					string(e.deployments().MAC(token.ForHook, token.Deployment{Region: "eu",
						ID: e.deployment.String()}))
			}
			path = somePath(path, "x")
			path += map[string]string{
				"/fleet/sessions": "?instance_id=a", "/ops/lobby/room": "?project=game&room=party:1",
				"/internal/key-status": "?project_id=game&key_id=k",
				"/login-queue":         "?region=eu", "/login-queue/events": "?region=eu",
			}[pattern]
			body := e.body(method + " " + pattern)
			if body == nil && (method == http.MethodPost || method == http.MethodPut) {
				body = fields{}
			}
			r := webtest.Request(t, method, "http://"+l.Addr.String()+path, body)
			r.Header = e.credentials(l, path)
			switch {
			case strings.HasPrefix(path, "/backend/players"):
				r.Header.Set("Authorization", "Bearer "+playersToken)
			case strings.HasPrefix(path, "/backend/"):
				r.Header.Set("Authorization", "Bearer "+ticketsToken)
			case path == "/fleet/context":
				r.Header.Set("Authorization", e.tokenOf(token.ForContext, e.deployment))
			}
			r.Header.Set("Content-Type", "application/json")
			a := e.call(r)
			require.Equal(t, http.StatusMisdirectedRequest, a.status, "%s: %s", name, a.body)
			require.Equal(t, cellOfTests[l.Name], a.header.Get("Director-Cell"), name)
			if l.Name == "orchestrator" {
				continue // its errors have a cause alone
			}
			var problem struct{ Code, Region, Address string }
			require.NoError(t, json.Unmarshal(a.body, &problem), name)
			require.Equal(t, [2]string{"region_elsewhere", cellOfTests[l.Name]},
				[2]string{problem.Code, problem.Address}, name)
			require.Contains(t, []string{"eu", "global"}, problem.Region, name)
		}
	}
	require.Greater(t, visited, 60)
}

func TestRegionlessRoutesAreMounted(t *testing.T) {
	t.Parallel()
	b := setup(t, everyFace)
	mounted := map[string]bool{}
	for _, l := range b.server.Listeners() {
		for _, route := range routesOf(l) {
			mounted[l.Name+" "+route[0]+" "+route[1]] = true
		}
	}
	for name := range regionless {
		require.True(t, mounted[name], name)
	}
}

// An agent's handshake is refused before the upgrade.
func TestAnAgentIsToldOfTheOtherCell(t *testing.T) {
	t.Parallel()
	e := newEmigrant(t)
	for _, l := range e.bundle.server.Listeners() {
		if l.Name != "orchestrator" {
			continue
		}
		conn, res := webtest.DialWebSocket(t, "ws://"+l.Addr.String()+"/",
			&websocket.DialOptions{Subprotocols: []string{rivalisKey}})
		require.Nil(t, conn)
		require.Equal(t, http.StatusMisdirectedRequest, res.Status)
		require.Equal(t, cellOfTests["orchestrator"], res.Header.Get("Director-Cell"))
	}
}

func TestEachMethodOfOpenMatchNamesTheOtherCell(t *testing.T) {
	t.Parallel()
	e := newEmigrant(t)
	conn, visited := e.grpcConn(), 0
	for _, method := range e.bundle.server.GRPCMethods() {
		if strings.HasPrefix(method, "/grpc.") {
			continue // health and reflection are those of the replica
		}
		visited++
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, method)
		require.NoError(t, err)
		_ = stream.SendMsg(&emptypb.Empty{})
		_ = stream.CloseSend()
		err = stream.RecvMsg(&emptypb.Empty{})
		require.Equal(t, codes.FailedPrecondition, status.Code(err), "%s: %v", method, err)
		require.Contains(t, err.Error(), cellOfTests["api"], method)
		require.Equal(t, []string{cellOfTests["grpc"]}, stream.Trailer().Get("director-cell"), method)
		cancel()
	}
	require.Greater(t, visited, 10)
}

func TestBevygapNamesTheOtherCell(t *testing.T) {
	t.Parallel()
	b := setup(t, guests)
	b.deployServer()
	b.moveAway("eu")
	for _, query := range []string{"?region=eu", ""} {
		frames, _ := b.askBevygap(query, nil)
		require.NotEmpty(t, frames)
		require.Contains(t, frames[len(frames)-1], "421", "%v", frames)
		require.Contains(t, frames[len(frames)-1], cellOfTests["api"])
	}
}

func TestTheLobbyNamesTheOtherCell(t *testing.T) {
	t.Parallel()
	e := newEmigrant(t)
	secret := token.MintProject(token.ProjectSecret(masterSecret, "game"),
		token.ProjectClaims{ProjectID: "game", Subject: "ada", Expires: e.store.Now().Add(wait)})
	listeners := e.bundle.server.Listeners()
	lobby := listeners[slices.IndexFunc(listeners, func(l server.Listener) bool { return l.Name == "realtime" })]
	ctx, cancel := context.WithTimeout(t.Context(), wait)
	defer cancel()
	conn, _ := webtest.DialWebSocket(t, "ws://"+lobby.Addr.String()+"/", nil)
	require.NotNil(t, conn)
	require.NoError(t, conn.Write(ctx, websocket.MessageText, fmt.Appendf(nil, `{"v":1,"codecs":["json"],"token":%q}`, secret)))
	_, frame, err := conn.Read(ctx)
	require.NoError(t, err)
	var refused struct {
		P struct{ Code, Region, Address, Hint string }
	}
	require.NoError(t, json.Unmarshal(frame, &refused), "%s", frame)
	require.Equal(t, [3]string{"region_elsewhere", "eu", cellOfTests["realtime"]},
		[3]string{refused.P.Code, refused.P.Region, refused.P.Address}, "%s", frame)
	require.NotEmpty(t, refused.P.Hint)
}

// A game server of another cell comes with a credential of that cell, which this one cannot verify.
func TestACredentialOfTheOtherCellIsSentThere(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.moveAway("far")
	id := uuid.NewString()
	for _, secret := range []string{"le1.far." + id + ".c2VjcmV0", "ld1.far." + id + ".bWFj",
		"li1.far." + id + "." + id + ".YQ.1.bWFj"} {
		a := b.fleet("heartbeat", fields{"instance_id": "a"}, header("X-Fleet-Token", secret))
		require.Equal(t, cellOfTests["api"], a.problem(http.StatusMisdirectedRequest, "region_elsewhere")["address"],
			secret)
	}
	b.fleet("heartbeat", fields{"instance_id": "a"},
		header("X-Fleet-Token", "le1.eu."+id+".c2VjcmV0")).problem(http.StatusUnauthorized, "unauthorized")
}

// A ticket without a region is queued where its nearest region is.
func TestATicketIsQueuedInItsNearestRegion(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.profile("ranked", ranked)
	b.moveAway("us-east", "us-west")
	queue := func(latencies fields) answer {
		return b.ticketCall("alice", http.MethodPost, "",
			fields{"profiles": []string{"ranked"}, "latencies": latencies})
	}
	require.Equal(t, "us-east", queue(fields{"eu": 40, "us-east": 39}).problem(http.StatusMisdirectedRequest,
		"region_elsewhere")["region"])
	require.Equal(t, "us-east", queue(fields{"us-west": 30, "us-east": 30,
		"zz": 30}).problem(http.StatusMisdirectedRequest, "region_elsewhere")["region"], "a tie is decided by name")
	b.backend(http.MethodPost, "tickets",
		fields{"profiles": []string{"ranked"}, "party": []string{"bob"}, "latencies": fields{"us-west": 1}}).
		problem(http.StatusMisdirectedRequest, "region_elsewhere")
	queue(fields{"eu": 39, "us-east": 39}).ok(http.StatusCreated)
}

func TestRegionsHaveTheAddressOfTheirCell(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.store.As("").SetBeacon(t.Context(), "eu", "https://ping.eu.example")
	require.NoError(t, err)
	_, err = b.store.As("").SetBeacon(t.Context(), "us", "https://ping.us.example")
	require.NoError(t, err)
	b.moveAway("us", "us-west")
	require.Equal(t, []any{
		map[string]any{"region": "eu", "beacon": "https://ping.eu.example"},
		map[string]any{"region": "us", "beacon": "https://ping.us.example", "address": cellOfTests["api"]},
		map[string]any{"region": "us-west", "address": cellOfTests["api"]},
	}, b.get("/regions", b.as("alice")).ok(http.StatusOK)["regions"])
	require.Equal(t, "us-west", b.matchmake("alice",
		fields{"region": "us-west", "mode": "duel"}).problem(http.StatusMisdirectedRequest,
		"region_elsewhere")["region"])
	b.matchmake("alice", duel).problem(http.StatusConflict, "region_unknown")
	require.Contains(t, b.refusals("alice", 1), "POST /matchmake region_unknown",
		"who is sent to another cell was not refused")
}
