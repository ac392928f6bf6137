package server_test

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/lattice-director/director/internal/testkit/webtest"
	"github.com/lattice-director/director/server"
	"github.com/lattice-director/director/server/openmatch"
	"github.com/lattice-director/director/server/realtime"
	"github.com/lattice-director/director/server/realtime/realtimetest"
	"github.com/lattice-director/director/token"
)

var updateCredentials = flag.Bool("update", false, "rewrite docs/reference/credentials.md")

const credentialsPage = "../docs/reference/credentials.md"

const (
	viewersToken     = "a token for reading"
	frontendToken    = "an-open-match-token-of-a-frontend"
	allServicesToken = "an-open-match-token-of-everything"
)

// credentialKinds are who may call, with what.
var credentialKinds = []string{
	"nobody", "player", "fleet token", "enrolment", "instance", "deployment", "webhook", "backend: players",
	"backend: tickets", "viewer", "operator",
	"Rivalis admin key", "Rivalis agent key", "lobby's internal token", "lobby client", "Open Match: frontend",
	"Open Match: all",
}

// authorities is a replica with every face, each of which asks for a credential, and a credential of each kind.
type authorities struct {
	*bundle

	secrets map[string]string   // by kind
	cookies map[string][]string // of the console, by kind: the cookie, and the text that its forms need
	hook    string              // the path of the webhook of a deployment, without the secret
	context string              // the token of the deployment for its context

	deployment string // its id
}

func newAuthorities(t *testing.T) *authorities {
	t.Helper()
	b := setup(t, everyFace, func(c *config) {
		c.OpsTokens = append(c.OpsTokens, "ivy:viewer="+viewersToken)
		c.OpenMatch = &openmatch.Options{Addrs: []string{noPort},
			Tokens: []string{"frontend=" + frontendToken, allServicesToken}}
		c.Realtime = &realtime.Options{Addr: noPort, AuthMode: realtime.AuthRequired, MasterSecret: masterSecret}
		c.Console.Options.Tokens = append(c.Console.Options.Tokens, "ivy:viewer="+viewersToken)
	})
	b.client = b.plainClient()
	enrolment := b.enrolment()
	deployment := b.deploy(true)
	a := &authorities{bundle: b, hook: "/hooks/eu/" + deployment.String() + "/",
		context: b.tokenOf(token.ForContext, deployment), deployment: deployment.String(),
		cookies: map[string][]string{}, secrets: map[string]string{
			"player": b.issuer.Token(map[string]any{"sub": "ada"}), "fleet token": fleetToken, "enrolment": enrolment,
			"instance":   b.enrol("a", enrolment).secret,
			"deployment": b.tokenOf(token.ForFleet, deployment),
			"webhook": string(b.deployments().MAC(token.ForHook,
				token.Deployment{Region: "eu", ID: deployment.String()})),
			"backend: players": playersToken, "backend: tickets": ticketsToken, "viewer": viewersToken,
			"operator":          opsToken,
			"Rivalis admin key": rivalisAdmin, "Rivalis agent key": rivalisKey, "lobby's internal token": controlSecret,
			"lobby client": token.MintProject(token.ProjectSecret(masterSecret, "p"),
				token.ProjectClaims{ProjectID: "p", Subject: "ada", Expires: time.Now().Add(time.Hour)}),
			"Open Match: frontend": frontendToken, "Open Match: all": allServicesToken,
		}}
	for _, l := range b.server.Listeners() {
		if l.Name == "console" {
			for kind, secret := range map[string]string{"viewer": viewersToken, "operator": opsToken} {
				cookie, csrf := b.login(l, secret)
				a.cookies[kind] = []string{cookie, csrf}
			}
		}
	}
	require.Len(t, a.secrets, len(credentialKinds)-1)
	return a
}

// carry puts the credential of a kind wherever any listener reads one: a secret that is good for one thing must not open
// another, in whatever header it comes.
func (a *authorities) carry(kind string, r *http.Request) {
	secret := a.secrets[kind]
	if secret == "" {
		return
	}
	for _, name := range []string{"X-Fleet-Token", "X-Nexis-Internal-Token", "X-Api-Key"} {
		r.Header.Set(name, secret)
	}
	r.Header.Set("Authorization", "Bearer "+secret)
	if kind == "deployment" && r.URL.Path == "/fleet/context" {
		r.Header.Set("Authorization", a.context)
	}
	r.Header.Set("Cookie", "director-session="+secret)
	if cookie := a.cookies[kind]; cookie != nil {
		r.Header.Set("Cookie", cookie[0])
	}
}

// opens reports whether a credential gets beyond authentication.
func (a *authorities) opens(l server.Listener, method, pattern, kind string) bool {
	a.t.Helper()
	if method == "WebSocket" {
		return a.opensSocket(l, kind)
	}
	path, body, media := somePath(pattern, "x"), "{}", "application/json"
	if strings.HasPrefix(pattern, "/hooks/") {
		path = a.hook + cmp.Or(url.PathEscape(a.secrets[kind]), "x")
	}
	if l.Name == "console" {
		media, body = "application/x-www-form-urlencoded", "reason=x"
		if cookie := a.cookies[kind]; cookie != nil {
			body += "&csrf=" + url.QueryEscape(cookie[1])
		}
	}
	r := webtest.Request(a.t, method, "http://"+l.Addr.String()+path, body, "Content-Type", media)
	a.carry(kind, r)
	res := a.head(r)
	require.NotEqual(a.t, http.StatusMethodNotAllowed, res.status, "%s %s", method, pattern)
	switch res.status {
	case http.StatusUnauthorized, http.StatusTooManyRequests:
		return false
	case http.StatusForbidden:
		return !regexp.MustCompile(`"code": ?"(viewers_token|scope_missing)"|"code": ?7\b|Only operators`).Match(res.body)
	case http.StatusNotFound:
		return !strings.Contains(string(res.body), `"route_not_found"`)
	case http.StatusSeeOther: // a logout leads to the login, too, without the cookie
		return !strings.HasPrefix(res.header.Get("Location"), "/login") ||
			strings.HasPrefix(res.header.Get("Set-Cookie"), "director-session=;")
	}
	return true
}

// head sends a request, and reads the body of the answer unless it is a stream, which may never end.
func (a *authorities) head(r *http.Request) answer {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), 2*wait)
	defer cancel()
	res, err := a.client.Do(r.WithContext(ctx))
	require.NoError(a.t, err, "%s %s", r.Method, r.URL)
	defer func() { _ = res.Body.Close() }()
	got := answer{t: a.t, status: res.StatusCode, header: res.Header}
	if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		got.body, err = io.ReadAll(res.Body)
		require.NoError(a.t, err, "%s %s", r.Method, r.URL)
	}
	return got
}

// Pins a route that a credential of somebody else opens, on any listener. Each route is called with each kind of credential,
// in all places where one is read. A new route is in the table by being mounted, and opens to nobody unless a rule below
// says so.
func TestRoutesAndCredentials(t *testing.T) {
	t.Parallel()
	a := newAuthorities(t)
	var page strings.Builder
	page.WriteString("# Routes and credentials\n\nWhich credential opens which route of each listener: every route was called with every kind of credential, in every place where a " +
		"listener reads one. [Whom the director believes](../security.md) says what each is good for.\nThis page is generated, and a test checks that it is current. A route that is not here is not mounted.\n")
	for _, l := range a.server.Listeners() {
		fmt.Fprintf(&page, "\n## %s\n\n%s\n\n| route | opened by |\n|---|---|\n", listenerTitles[l.Name][0],
			listenerTitles[l.Name][1])
		for _, route := range routesOf(l) {
			page.WriteString(row(t, route[0]+" "+route[1], openersOf(t, l, route[0], route[1]), func(kind string) bool {
				return a.opens(l, route[0], route[1], kind)
			}))
		}
	}
	page.WriteString("\n## Open Match over gRPC\n\n`DIRECTOR_GRPC_ADDR`. A client certificate (`DIRECTOR_OM_CLIENT_CA`) opens what a token opens.\n\n" +
		"| method | opened by |\n|---|---|\n")
	conn := a.grpcConn()
	for _, method := range slices.Sorted(slices.Values(a.server.GRPCMethods())) {
		page.WriteString(row(t, strings.TrimPrefix(method, "/"), openersBy("gRPC", "call", method), func(kind string) bool {
			return opensMethod(t, conn, method, a.secrets[kind])
		}))
	}
	page.WriteString("\n## Game servers with bevygap's plugin\n\n`DIRECTOR_BEVYGAP_NATS_ADDR`, which speaks NATS. The user is the id of the deployment, " +
		"the password the credential.\n\n| connection | opened by |\n|---|---|\n")
	page.WriteString(row(t, "CONNECT", []string{"deployment"}, func(kind string) bool {
		conn, err := nats.Connect("nats://"+a.server.NATSAddr().String(), nats.UserInfo(a.deployment, a.secrets[kind]),
			nats.NoReconnect(), nats.Timeout(wait))
		if err != nil {
			require.ErrorIs(t, err, nats.ErrAuthorization, kind)
			return false
		}
		conn.Close()
		return true
	}))
	if *updateCredentials {
		require.NoError(t, os.WriteFile(credentialsPage, []byte(page.String()), 0o644))
	}
	current, err := os.ReadFile(credentialsPage)
	require.NoError(t, err)
	require.Equal(t, page.String(), string(current), "go test ./server -run TestRoutesAndCredentials -update")
}

// listenerTitles are the heading and the first sentences of each listener.
var listenerTitles = map[string][2]string{
	"api":          {"The API", "`DIRECTOR_ADDR`. The routes of Open Match are there where it is served, those under `/matchmaker` where bevygap is: this is its mode `guests`; in the mode `tokens` a player's access token is checked in the conversation."},
	"orchestrator": {"The Rivalis orchestrator", "`DIRECTOR_ORCHESTRATOR_ADDR`. `WebSocket` is the connection of an agent, at any path."},
	"realtime":     {"The realtime lobby", "`DIRECTOR_REALTIME_ADDR`, with `DIRECTOR_REALTIME_AUTH=required`. `WebSocket` is the connection of a client, at any path: its first frame has the token."},
	"control":      {"The control API of the realtime lobby", "`DIRECTOR_REALTIME_CONTROL_ADDR`."},
	"console":      {"The console", "`DIRECTOR_CONSOLE_ADDR`. Viewer and operator are the cookie of a login as such, and for POST the text of a form of that login. A token itself opens nothing here but the login (`POST /login`)."},
	"metrics":      {"Metrics", "`DIRECTOR_METRICS_ADDR`: keep it private, as its profiles show memory. It also serves the other paths below `/debug/pprof/`."},
}

// row tries all credentials, and returns the line of what they open.
func row(t *testing.T, what string, openers []string, opens func(kind string) bool) string {
	t.Helper()
	var opened []string
	for _, kind := range credentialKinds {
		isOpened := opens(kind)
		require.Equal(t, slices.Contains(openers, kind), isOpened, "%s as %s", what, kind)
		if isOpened {
			opened = append(opened, kind)
		}
	}
	by := strings.Join(opened, ", ")
	if slices.Contains(opened, "nobody") {
		by = "anybody"
	}
	return "| `" + what + "` | " + by + " |\n"
}

// routesOf returns method and path of the routes of a listener, sorted, with the logout last, since it ends the login. The
// routes of Open Match take every method: POST stands for all. HEAD is as GET.
func routesOf(l server.Listener) (routes [][2]string) {
	for _, r := range l.Routes {
		method := r.Method
		switch {
		case l.Name == "metrics" && r.Path == "/", l.Name == "console" && r.Path == "/login" &&
			method == http.MethodPost, method == http.MethodHead,
			strings.HasPrefix(r.Path, "/v1/") && l.Name == "api" && method != http.MethodPost:
			continue
		case r.Path == "/" && (l.Name == "realtime" || l.Name == "orchestrator"):
			method = "WebSocket"
		}
		routes = append(routes, [2]string{method, r.Path})
	}
	last := func(r [2]string) string { return map[bool]string{true: "~"}[r[1] == "/logout"] + r[1] + r[0] }
	slices.SortFunc(routes, func(x, y [2]string) int { return strings.Compare(last(x), last(y)) })
	return slices.Compact(routes)
}

// opensSocket reports whether a credential opens a connection that lasts: that of an agent or of a client of the lobby.
func (a *authorities) opensSocket(l server.Listener, kind string) bool {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(a.t.Context(), wait)
	defer cancel()
	if l.Name == "realtime" {
		client, err := realtimetest.Connect(ctx,
			realtimetest.Options{URL: "ws://" + l.Addr.String() + "/", Project: "p", Token: a.secrets[kind]})
		if err == nil {
			client.Drop()
		}
		return err == nil
	}
	dialled, _ := http.NewRequestWithContext(ctx, http.MethodGet, "/", http.NoBody)
	a.carry(kind, dialled)
	// as an agent sends its key; a secret with spaces is no subprotocol, and its words are not the secret
	conn, _, err := websocket.Dial(ctx, //nolint:bodyclose // it has none that needs to be closed
		"ws://"+l.Addr.String()+"/",
		&websocket.DialOptions{HTTPHeader: dialled.Header, Subprotocols: strings.Fields(cmp.Or(a.secrets[kind], "x"))})
	if err != nil {
		return false
	}
	defer func() { _ = conn.CloseNow() }()
	_, _, err = conn.Read(ctx)
	return err == nil
}

// opensMethod calls a method as a stream, which each one allows.
func opensMethod(t *testing.T, conn *grpc.ClientConn, method, secret string) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), wait)
	defer cancel()
	if secret != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+secret, "x-fleet-token", secret)
	}
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, method)
	if err == nil {
		_ = stream.SendMsg(&emptypb.Empty{})
		_ = stream.CloseSend()
		err = stream.RecvMsg(&emptypb.Empty{})
	}
	code := status.Code(err)
	return code != codes.Unauthenticated && code != codes.PermissionDenied
}
