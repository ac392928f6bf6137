package server_test

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/testkit/keytest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/variant"
	"github.com/lattice-director/director/token"
)

// onlyEnrolled is a replica without a secret that game servers share.
func onlyEnrolled(c *config) { c.FleetTokens, c.OpenFleet = nil, false }

func (b *bundle) enrolment(change ...func(*db.NewEnrolment)) (secret string) {
	b.t.Helper()
	n := variant.Apply(db.NewEnrolment{Region: "eu", Name: "rack-7", AllowedModes: []string{"duel"}, MaxServers: 2,
		ValidFor: time.Hour}, change...)
	return must.Get(b.store.As("ops:ada").CreateEnrolment(b.t.Context(), n))(b.t)
}

func with(secret string) func(*http.Request) { return header("X-Fleet-Token", secret) }

// enrolled is an instance that has registered by an enrolment.
type enrolled struct {
	fields // instance_id and incarnation

	secret string
}

func (b *bundle) enrol(id, secret string) enrolled {
	b.t.Helper()
	f := b.fleet("register", registration(id), with(secret)).ok(http.StatusOK)
	return enrolled{fields{"instance_id": id, "incarnation": f["incarnation"]}, credentialIn(b.t, f)}
}

func credentialIn(t *testing.T, answer fields) string {
	t.Helper()
	require.Contains(t, answer, "credential")
	return answer["credential"].(map[string]any)["token"].(string)
}

// A replica without a shared secret serves servers that register by an enrolment, on every route, and nobody else.
func TestEnrolledServersNeedNoSharedSecret(t *testing.T) {
	t.Parallel()
	b := setup(t, onlyEnrolled)
	a := b.enrol("a", b.enrolment())
	b.fleet("heartbeat", a.fields, with(a.secret)).ok(http.StatusOK)
	require.Equal(t, "a.example:7777", b.matchmake("ann", duel).ok(http.StatusOK)["endpoint"])
	b.call(b.request(http.MethodGet, fmt.Sprintf("/fleet/sessions?instance_id=a&incarnation=%s",
		a.fields["incarnation"]), nil, with(a.secret))).ok(http.StatusOK)
	again := b.fleet("register", registration("a"), with(a.secret)).ok(http.StatusOK)
	require.Equal(t, a.fields["incarnation"], again["incarnation"])
	b.fleet("drain", a.fields.with("drain", true), with(a.secret)).ok(http.StatusOK)
	for _, secret := range []string{"", fleetToken} {
		b.fleet("register", registration("b"), with(secret)).problem(http.StatusUnauthorized, "unauthorized")
	}
	require.Equal(t, http.StatusNoContent, b.fleet("deregister", a.fields, with(a.secret)).status)
	require.NotContains(t, b.log.String(), a.secret)
}

// fleetCalls are all routes of game servers that have registered, with a body that is valid for an instance.
var fleetCalls = map[string]fields{
	"heartbeat": {}, "deregister": {}, "drain": {"drain": true}, "seats": {"session_id": "eu.x"},
	"clients":  {"seq": 1, "clients": []string{}},
	"sessions": nil,
}

// fleetCall makes a call for an instance, whatever the route.
func (b *bundle) fleetCall(route string, of fields, secret string) answer {
	b.t.Helper()
	if route == "sessions" {
		return b.call(b.request(http.MethodGet,
			fmt.Sprintf("/fleet/sessions?instance_id=%s&incarnation=%s", of["instance_id"], of["incarnation"]), nil,
			with(secret)))
	}
	body := fields{}
	for _, f := range []fields{fleetCalls[route], of} {
		maps.Copy(body, f)
	}
	return b.fleet(route, body, with(secret))
}

// Each route of game servers is in fleetCalls, or is known to register or to be of deployments.
func TestFleetCallsHaveEveryRoute(t *testing.T) {
	t.Parallel()
	for path := range document(t).Paths.Map() {
		if route, found := strings.CutPrefix(path, "/fleet/"); found && route != "register" && route != "context" {
			require.Contains(t, fleetCalls, route)
		}
	}
}

// A credential speaks for one instance: for another one, whatever the credential of that, every route refuses it, also
// with the right incarnation. So does the token of the enrolment.
func TestNoRouteTakesTheCredentialOfAnother(t *testing.T) {
	t.Parallel()
	b := setup(t)
	secret := b.enrolment()
	a, other, shared, deployment := b.enrol("a", secret), b.enrol("b", secret), b.register("c"), b.deploy(true)
	own := b.fleet("register", deployed(deployment), b.ofDeployment(deployment)).ok(http.StatusOK)
	victims := []fields{other.fields, shared, {"instance_id": deployment.String(), "incarnation": own["incarnation"]}}
	for route := range fleetCalls {
		for _, victim := range victims {
			b.fleetCall(route, victim, a.secret).problem(http.StatusForbidden, "outside_enrolment")
		}
		b.fleetCall(route, a.fields, b.tokenOf(token.ForFleet, deployment)).problem(http.StatusForbidden,
			"outside_deployment")
		b.fleetCall(route, a.fields, secret).problem(http.StatusForbidden, "scope_missing")
	}
	for _, victim := range victims {
		b.fleet("register", registration(victim["instance_id"].(string)), with(a.secret)).problem(http.StatusForbidden,
			"outside_enrolment")
	}
	for _, id := range []string{"c", deployment.String(), b.deploy(true).String()} {
		b.fleet("register", registration(id), with(secret)).problem(http.StatusForbidden, "outside_enrolment")
	}
	for _, victim := range victims { // nobody has ended or changed
		b.fleet("heartbeat", victim).ok(http.StatusOK)
	}
	require.Zero(t, b.store.Count("SELECT count(*) FROM instances WHERE status = 'draining'"))
}

// Pins a revoked credential that acts by the instance id alone: each route needs the incarnation.
func TestACredentialNeedsItsIncarnation(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.enrol("a", b.enrolment())
	for route := range fleetCalls {
		var got answer
		if route == "sessions" {
			got = b.call(b.request(http.MethodGet, "/fleet/sessions?instance_id=a", nil, with(a.secret)))
		} else {
			got = b.fleetCall(route, fields{"instance_id": "a"}, a.secret)
		}
		require.Contains(t, fmt.Sprint(got.problem(http.StatusBadRequest, "invalid_request")), "incarnation", route)
	}
}

// forgeries are registrations that an enrolment of region eu and mode duel refuses, with the code of the answer.
var forgeries = []struct {
	name, code string
	status     int
	change     func(fields)
}{
	{"another region", "outside_enrolment", 403, func(f fields) { f["region"] = "us" }},
	{"another mode", "outside_enrolment", 403, func(f fields) { f["modes"] = []string{"race"} }},
	{"one mode of two", "outside_enrolment", 403, func(f fields) { f["modes"] = []string{"duel", "race"} }},
	{"a mode in capitals", "outside_enrolment", 403, func(f fields) { f["modes"] = []string{"DUEL"} }},
	{"the id of a server of the shared secret", "outside_enrolment", 403,
		func(f fields) { f["instance_id"] = "shared" }},
	{"the id of another enrolment's server", "outside_enrolment", 403, func(f fields) { f["instance_id"] = "foreign" }},
	{"the provider's name of a deployment", "invalid_request", 400, func(f fields) { f["provider_ref"] = "arena/1" }},
	{"no endpoint, as a deployment", "invalid_request", 400, func(f fields) { delete(f, "endpoint") }},
	{"no modes", "invalid_request", 400, func(f fields) { f["modes"] = []string{} }},
}

// Forged registrations, each with the token of the enrolment and with the credential of a server, move nothing.
func TestForgedEnrolments(t *testing.T) {
	t.Parallel()
	b := setup(t)
	secret := b.enrolment()
	b.register("shared")
	b.enrol("foreign", b.enrolment(func(n *db.NewEnrolment) { n.Name = "other" }))
	a := b.enrol("a", secret)
	before := b.store.Count("SELECT count(*) FROM instances")
	for _, forged := range forgeries {
		for who, credential := range map[string]string{"enrolment": secret, "instance": a.secret} {
			body := registration("a")
			forged.change(body)
			t.Log(forged.name, who)
			b.fleet("register", body, with(credential)).problem(forged.status, forged.code)
		}
	}
	forge := func(name, raw string) {
		t.Log(name)
		b.fleet("register", registration("b"), with(raw)).problem(http.StatusUnauthorized, "unauthorized")
		b.fleet("heartbeat", a.fields, with(raw)).problem(http.StatusUnauthorized, "unauthorized")
	}
	parts, signed := strings.Split(secret, "."), b.sign(a, time.Hour)
	forge("another region's token", strings.Replace(secret, ".eu.", ".us.", 1))
	forge("another enrolment's id", strings.Replace(secret, parts[2], uuid.NewString(), 1))
	forge("a guessed secret", strings.Join(parts[:3], ".")+"."+strings.Repeat("0", 64))
	forge("no secret", strings.Join(parts[:3], ".")+".")
	forge("a part more", secret+".x")
	forge("capitals", strings.ToUpper(secret))
	forge("a long token", secret+strings.Repeat("0", 300))
	forge("another instance, with the signature of this one", strings.Replace(signed, ".YQ.", ".Yg.", 1))
	later := strings.Split(signed, ".")
	later[5] = "9999999999"
	forge("a later end", strings.Join(later, "."))
	forge("the key of another director",
		string(keytest.Sealer(t, 9).ServerTokens().InstanceToken(b.saying(a, time.Hour))))
	forge("expired", b.sign(a, -time.Second))
	require.Equal(t, before, b.store.Count("SELECT count(*) FROM instances"))
	require.Equal(t, 1, b.store.Count("SELECT count(*) FROM instances WHERE region = 'eu' AND id = 'a' AND modes = '{duel}' AND status = 'ready'"))
	b.fleet("heartbeat", a.fields, with(a.secret)).ok(http.StatusOK)
}

// saying returns what the credential of an instance says, with another end.
func (b *bundle) saying(a enrolled, left time.Duration) token.Instance {
	b.t.Helper()
	i, _, ok := b.sealer.ServerTokens().VerifyInstance(a.secret)
	require.True(b.t, ok)
	i.ExpiresAt = b.store.Now().Add(left)
	return i
}

func (b *bundle) sign(a enrolled, left time.Duration) string {
	return string(b.sealer.ServerTokens().InstanceToken(b.saying(a, left)))
}

// An enrolment that is over registers nobody; the servers that it registered stay, and may register again.
func TestEnrolmentsEnd(t *testing.T) {
	t.Parallel()
	b := setup(t)
	secret := b.enrolment()
	a := b.enrol("a", secret)
	over := func() {
		b.fleet("register", registration("b"), with(secret)).problem(http.StatusForbidden, "enrolment_over")
		b.fleet("register", registration("a"), with(secret)).problem(http.StatusForbidden, "enrolment_over")
		b.fleet("heartbeat", a.fields, with(a.secret)).ok(http.StatusOK)
		b.fleet("register", registration("a"), with(a.secret)).ok(http.StatusOK)
	}
	b.store.Exec("UPDATE enrolments SET expires_at = now()")
	over()
	b.store.Exec("UPDATE enrolments SET expires_at = now() + interval '1 hour'")
	changed, err := b.store.As("ops:ada").RevokeEnrolment(t.Context(), "eu", "rack-7", false)
	require.NoError(t, err)
	require.True(t, changed)
	over()
}

// A credential that an operator has revoked opens no route, also none that names the new incarnation, and does not
// register. Whoever has the token of the enrolment comes back with another credential.
func TestRevokedCredentials(t *testing.T) {
	t.Parallel()
	b := setup(t)
	secret := b.enrolment()
	a := b.enrol("a", secret)
	changed, err := b.store.As("ops:ada").RevokeServer(t.Context(), "a")
	require.NoError(t, err)
	require.True(t, changed)
	for route := range fleetCalls {
		b.fleetCall(route, a.fields, a.secret).problem(http.StatusNotFound, "instance_unknown")
	}
	b.fleet("register", registration("a").with("replaces", "none"), with(a.secret)).problem(http.StatusForbidden,
		"credential_revoked")
	back := b.enrol("a", secret)
	for route := range fleetCalls {
		b.fleetCall(route, a.fields, a.secret).problem(http.StatusConflict, "superseded")
	}
	b.fleet("register", registration("a").with("replaces", "none"), with(a.secret)).problem(http.StatusForbidden,
		"credential_revoked")
	b.fleet("heartbeat", back.fields, with(back.secret)).ok(http.StatusOK)
	require.Equal(t, 1, b.store.Count("SELECT count(*) FROM ops.events WHERE kind = 'credential.revoked' AND actor = 'ops:ada' AND instance = 'a'"))
}

// A credential is renewed once half of its life is over, or its key was replaced, and not before. The answer may be lost:
// both credentials go on.
func TestCredentialsAreRenewed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.enrol("a", b.enrolment())
	require.NotContains(t, b.fleet("heartbeat", a.fields, with(a.secret)).ok(http.StatusOK), "credential")
	require.NotContains(t, b.fleet("heartbeat", a.fields,
		with(b.sign(a, db.CredentialLife/2+time.Minute))).ok(http.StatusOK), "credential")
	late := b.sign(a, db.CredentialLife/2-time.Minute)
	for range 2 { // the first answer was lost
		renewed := credentialIn(t, b.fleet("heartbeat", a.fields, with(late)).ok(http.StatusOK))
		i, _, ok := b.sealer.ServerTokens().VerifyInstance(renewed)
		require.True(t, ok)
		require.WithinDuration(t, b.store.Now().Add(db.CredentialLife), i.ExpiresAt, time.Minute)
		b.fleet("heartbeat", a.fields, with(renewed)).ok(http.StatusOK)
		b.fleet("heartbeat", a.fields, with(late)).ok(http.StatusOK)
	}
	require.NotContains(t, b.fleet("heartbeat", b.register("c"), with(fleetToken)).ok(http.StatusOK), "credential")

	b.store.Exec("UPDATE enrolled_servers SET revoked_at = now()")
	require.NotContains(t, b.fleet("heartbeat", a.fields, with(late)).ok(http.StatusOK), "credential",
		"a revoked credential is not renewed")
}

// After a rotation of the key-encryption key, the next heartbeat gets a credential of the new one.
func TestCredentialsFollowTheKey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.enrol("a", b.enrolment())
	rotated := start(t, b.config.db.URL, func(c *config) { c.keks = []byte{9, 7} })
	renewed := credentialIn(t, rotated.fleet("heartbeat", a.fields, with(a.secret)).ok(http.StatusOK))
	_, by, ok := keytest.Sealer(t, 9).ServerTokens().VerifyInstance(renewed)
	require.True(t, ok)
	require.Equal(t, 1, b.store.Count("SELECT count(*) FROM ops.key_encryption_keys WHERE credentials = 1 AND fingerprint = '"+by+"'"))
}

// A place is given to one of two servers, and is free again when its server has ended.
func TestTheNumberOfAnEnrolment(t *testing.T) {
	t.Parallel()
	b := setup(t)
	secret := b.enrolment(func(n *db.NewEnrolment) { n.MaxServers = 1 })
	a := b.enrol("a", secret)
	b.fleet("register", registration("b"), with(secret)).problem(http.StatusConflict, "enrolment_full")
	b.fleet("register", registration("a").with("capacity", 32), with(a.secret)).ok(http.StatusOK)
	require.Equal(t, http.StatusNoContent, b.fleet("deregister", a.fields, with(a.secret)).status)
	b.enrol("b", secret)
	b.fleet("register", registration("a"), with(a.secret)).problem(http.StatusConflict, "enrolment_full")
}
