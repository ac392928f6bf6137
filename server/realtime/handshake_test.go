package realtime

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/server/realtime/delivery"
	"github.com/lattice-director/director/server/realtime/realtimetest"
	"github.com/lattice-director/director/server/rest"
	"github.com/lattice-director/director/token"
)

func TestRefusedHandshakesAreAnErrorAndAClose(t *testing.T) {
	t.Parallel()
	v := serve(t, func(o *Options) { o.AuthMode, o.FailureRate = AuthRequired, rest.Rate{PerSecond: -1} })
	good := v.key("p1", "k1")
	body, _, _ := strings.Cut(good, ".")
	expired := func(c *token.ProjectClaims) { c.Expires = time.Now().Add(-time.Minute) }
	revoked := v.key("p2", "k2")
	_, err := v.store.RevokeProjectKey(t.Context(), "p2", "k2", "test")
	require.NoError(t, err)
	shake := func(tok, more string) string { return fmt.Sprintf(`{"v":1,"codecs":["json"],"token":%q%s}`, tok, more) }
	const verification, status = "token verification failed: ", "token key status failed: "
	for name, c := range map[string]struct {
		frame  string
		reason string
		code   websocket.StatusCode
	}{
		"no JSON":     {"hello", "decode failed: the handshake is not a JSON object with v", 4400},
		"msgpack":     {"\x81\xa1v\x01", "decode failed: the handshake is not a JSON object with v", 4400},
		"too large":   {`{"v":1,"x":"` + strings.Repeat("x", maxHandshake) + `"}`, "decode failed: the handshake has more than 16 KiB", 4400},
		"wrong types": {`{"v":1,"codecs":"json"}`, "decode failed: codecs is a list of strings, and project_id, token and session_id are strings", 4400},
		"version":     {`{"v":2,"codecs":[]}`, "unsupported handshake protocol version", 4400},
		"no token":    {shake("", ""), verification + "missing token", 4401},
		"three parts": {shake("a.b.c", ""), verification + "invalid token format", 4401},
		"one part":    {shake("abc", ""), verification + "invalid token format", 4401},
		"long":        {shake(strings.Repeat("x", 4<<10)+".y", ""), verification + "invalid token format", 4401},
		"forged": {shake(token.MintProject("another secret", claimsOf("p1", "k1")), ""),
			verification + "invalid signature", 4401},
		"of another":       {shake(body+token.MintProject("x", claimsOf("p", "k"))[100:], ""), "", 4401},
		"expired":          {shake(mint("p1", "k1", expired), ""), verification + "token expired", 4401},
		"no key":           {shake(mint("p1", ""), ""), status + "token missing key_id claim", 4403},
		"unknown key":      {shake(mint("p1", "k9"), ""), status + "unknown key id 'k9'", 4403},
		"key of another":   {shake(mint("p1", "k2"), ""), status + "unknown key id 'k2'", 4403},
		"revoked key":      {shake(revoked, ""), status + "key 'k2' revoked", 4403},
		"codec":            {`{"v":1,"codecs":["cbor"],"token":"` + good + `"}`, "codec negotiation failed", 4400},
		"key before codec": {`{"v":1,"token":"` + revoked + `"}`, status + "key 'k2' revoked", 4403},
		"expired, resumed": {shake(mint("p1", "k1", expired), `,"session_id":"s-0123456789abcdef"`), verification + "token expired", 4401},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := v.raw(t)
			r.text(c.frame)
			frames, code := r.closed()
			require.Equal(t, c.code, code)
			require.Len(t, frames, 1)
			require.Equal(t, "error", frames[0].Type)
			require.NotEmpty(t, frames[0].P["code"])
			if c.reason != "" {
				require.Equal(t, c.reason, frames[0].P["reason"])
			}
		})
	}
}

func claimsOf(project, key string) token.ProjectClaims {
	return token.ProjectClaims{ProjectID: project, KeyID: key, IssuedAt: time.Now(), Expires: time.Now().Add(time.Hour)}
}

func TestHandshakeOK(t *testing.T) {
	t.Parallel()
	v := serve(t)
	tok := v.key("p1", "k1", func(c *token.ProjectClaims) { c.Subject = "ann" })
	for name, c := range map[string]struct {
		frame string
		kind  websocket.MessageType
		want  map[string]any
	}{
		"anonymous": {`{"v":1,"codecs":["json"]}`, websocket.MessageText,
			map[string]any{"codec": "json", "resumed": false, "auth_mode": "optional", "authenticated": false,
				"project_id": "anonymous"}},
		"binary envelope": {`{"v":1,"t":"handshake","p":{"codecs":["json"],"project_id":"x"}}`, websocket.MessageBinary,
			map[string]any{"codec": "json", "resumed": false, "auth_mode": "optional", "authenticated": false,
				"project_id": "x"}},
		"token": {`{"v":1,"codecs":["json"],"project_id":"x","token":" ` + tok + ` "}`, websocket.MessageText,
			map[string]any{"codec": "json", "resumed": false, "auth_mode": "optional", "authenticated": true,
				"project_id": "p1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := v.raw(t)
			require.NoError(t, r.Write(t.Context(), c.kind, []byte(c.frame)))
			e := r.next()
			require.Regexp(t, `^s-[0-9a-f]{16}$`, e.P["session_id"])
			delete(e.P, "session_id")
			require.Equal(t, seen{Type: "handshake.ok", P: c.want}, e)
		})
	}
	r := v.raw(t) // MessagePack is preferred, and binary
	r.text(`{"v":1,"codecs":["json","msgpack"]}`)
	kind, _, err := r.Read(t.Context())
	require.NoError(t, err)
	require.Equal(t, websocket.MessageBinary, kind)
}

func TestSilenceIsClosed(t *testing.T) {
	t.Parallel()
	v := serve(t, func(o *Options) { o.timing.handshakeTimeout = 50 * time.Millisecond })
	frames, code := v.raw(t).closed()
	require.Equal(t, closeTimeout, code)
	require.Equal(t, "no handshake in time", frames[0].P["reason"])
	require.Eventually(t, func() bool { return v.connSlots.Count() == 0 }, patience, time.Millisecond)
}

func TestRequestsThatAreNotUpgraded(t *testing.T) {
	t.Parallel()
	v := serve(t, func(o *Options) { o.MaxConnections, o.AllowedOrigins = 1, []string{"https://game.example"} })
	get := func(header ...string) (int, http.Header) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+v.Addr().String()+"/x", nil)
		require.NoError(t, err)
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		res, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		return res.StatusCode, res.Header
	}
	status := func(header ...string) int {
		code, _ := get(header...)
		return code
	}
	upgrade := []string{"Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13",
		"Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="}
	require.Equal(t, http.StatusUpgradeRequired, status())
	require.Equal(t, http.StatusForbidden, status(append(upgrade, "Origin", "https://evil.example")...))
	require.Equal(t, http.StatusBadRequest, status("Connection", "Upgrade", "Upgrade", "websocket"))
	require.Zero(t, v.connSlots.Count(), "a slot of a refused request is free again")

	ws, response, err := websocket.Dial(t.Context(), v.address(),
		&websocket.DialOptions{HTTPHeader: http.Header{"Origin": {"https://game.example"}}})
	require.NoError(t, err)
	require.Equal(t, http.StatusSwitchingProtocols, response.StatusCode)
	full, header := get(upgrade...)
	require.Equal(t, http.StatusServiceUnavailable, full)
	require.NotEmpty(t, header.Get("Retry-After"))
	require.NoError(t, ws.CloseNow())
	require.Eventually(t, func() bool { return v.connSlots.Count() == 0 }, patience, time.Millisecond)
	v.Drain()
	require.Equal(t, http.StatusServiceUnavailable, status(upgrade...))
	require.False(t, v.IsReady())
}

// An address that fails too often is cut off without an answer; a good token still gets in.
func TestFailuresAreChargedToTheAddress(t *testing.T) {
	t.Parallel()
	v := serve(t, func(o *Options) { o.FailureRate = rest.Rate{PerSecond: 0.001, Burst: 2} })
	tok := v.key("p1", "k1")
	for range 2 {
		r := v.raw(t)
		r.text(`{"v":1,"codecs":["json"],"token":"x.y"}`)
		_, code := r.closed()
		require.Equal(t, closeToken, code)
	}
	r := v.raw(t)
	r.text(`{"v":1,"codecs":["json"],"token":"x.y"}`)
	frames, code := r.closed()
	require.Empty(t, frames)
	require.Equal(t, websocket.StatusCode(-1), code)
	require.False(t, v.client(func(o *realtimetest.Options) { o.Token = tok }).Resumed())
	require.NotContains(t, v.log.String(), tok)
}

// The secret of a key signs as that of its project does, and alone where the operator says so.
func TestTokensOfTheKeysOwnSecret(t *testing.T) {
	t.Parallel()
	sealer, err := token.NewSealer([]byte(strings.Repeat("k", token.KEKBytes)))
	require.NoError(t, err)
	v := serve(t, func(o *Options) { o.AuthMode, o.Sealer, o.KeySecretsOnly = AuthRequired, sealer, true })
	_, err = v.store.CreateProject(t.Context(), db.NewProject{ID: "p1", Name: "p", Region: "global", Actor: "test"})
	require.NoError(t, err)
	secret, _, err := v.store.CreateProjectKey(t.Context(), db.NewProjectKey{
		ProjectID: "p1", ID: "k1", Name: "k", Scopes: []string{db.ScopeMint}, Actor: "test",
		Seal: sealer.NewProjectSecret,
	})
	require.NoError(t, err)
	require.NotEmpty(t, v.client(func(o *realtimetest.Options) {
		o.Token = token.MintProject(secret,
			claimsOf("p1", "k1"))
	}).SessionID())
	_, err = realtimetest.Connect(t.Context(), realtimetest.Options{URL: v.address(), Token: mint("p1", "k1")})
	require.ErrorContains(t, err, "invalid signature")
}

func TestAReplacedSessionIsAnnounced(t *testing.T) {
	t.Parallel()
	v := serve(t)
	r := v.raw(t)
	r.text(`{"v":1,"codecs":["json"],"session_id":"s-0123456789abcdef"}`)
	id := r.next().P["session_id"]
	require.NotEqual(t, "s-0123456789abcdef", id)
	require.Equal(t, seen{Type: "session.replaced",
		P: map[string]any{"session_id": id, "previous": "s-0123456789abcdef"}}, r.next())
}

func TestOddProjectsAreRefused(t *testing.T) {
	t.Parallel()
	v := serve(t, func(o *Options) { o.AuthMode = AuthDisabled })
	for _, project := range []string{"a b", "a\x00", strings.Repeat("x", 129), "a\u2028b"} {
		r := v.raw(t)
		text, err := json.Marshal(map[string]any{"v": 1, "codecs": []string{"json"}, "project_id": project,
			"token": base64.StdEncoding.EncodeToString([]byte("any"))})
		require.NoError(t, err)
		r.text(string(text))
		frames, code := r.closed()
		require.Equal(t, closeToken, code)
		require.Equal(t, "token verification failed: invalid project id", frames[0].P["reason"])
	}
}

// Pins two clients that take one session from each other without end.
func TestTooManyTakeoversAreRefused(t *testing.T) {
	t.Parallel()
	v := serve(t)
	first := v.client()
	options := realtimetest.Options{URL: v.address(), Project: "p1", Session: first.SessionID()}
	var refused *realtimetest.RefusedError
	for range 12 {
		c, err := realtimetest.Connect(t.Context(), options)
		if err != nil {
			require.ErrorAs(t, err, &refused)
			break
		}
		t.Cleanup(c.Drop)
		require.True(t, c.Resumed())
	}
	require.NotNil(t, refused)
	require.Equal(t, delivery.CloseSuperseded, refused.Status)
	require.Equal(t, refuseTakeovers.reason, refused.Reason)
}
