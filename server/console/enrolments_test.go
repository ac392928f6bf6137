package console

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/opsview"
)

// Pins an enrolment or a credential that an operator cannot see or revoke in the console, and one that a viewer can.
func TestEnrolments(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.as(adaToken)
	require.Contains(t, w.get("/keys").Body, "There is no enrolment")
	secret, err := b.As("x").CreateEnrolment(t.Context(),
		db.NewEnrolment{Region: "eu", Name: "rack-7", MaxServers: 3, ValidFor: time.Hour})
	require.NoError(t, err)
	made, err := opsview.Enrolments.One(t.Context(), b.Pool(), opsview.EnrolmentFilter{Name: "rack-7"})
	require.NoError(t, err)
	_, err = b.Register(t.Context(), db.Registration{InstanceID: "eu-1", Endpoint: "eu-1:7", Region: "eu",
		Modes: []string{"duel"}, Capacity: 8,
		Enrolling: &db.Enrolling{Region: "eu", EnrolmentID: made.ID, TokensBy: "aa"}})
	require.NoError(t, err)
	page := w.get("/keys").Body
	require.Contains(t, page, "rack-7")
	require.Contains(t, page, "1 of 3")
	require.NotContains(t, page, secret)
	require.Contains(t, w.get("/instances/eu-1").Body, "its own, by the enrolment rack-7")
	b.AddServer("eu-2", 8)
	require.Contains(t, w.get("/instances/eu-2").Body, "the fleet token that game servers share")
	require.Equal(t, http.StatusNotFound, w.get("/instances/eu-2/revoke").Status)

	require.Contains(t, w.get("/instances/eu-1/revoke").Body, "Its registration ends now")
	require.Equal(t, http.StatusSeeOther, w.act("/instances/eu-1/revoke", "reason", "it leaked").Status)
	require.Contains(t, w.get("/instances/eu-1").Body, "is revoked.")
	require.NotContains(t, w.get("/instances/eu-1").Body, "/revoke")
	require.Contains(t, w.act("/enrolments/eu/rack-7/revoke").Body, "Say why")
	require.Equal(t, http.StatusSeeOther,
		w.act("/enrolments/eu/rack-7/revoke", "reason", "it leaked", "servers", "yes").Status)
	require.Contains(t, w.get("/keys").Body, "is revoked.")
	require.Equal(t, http.StatusNotFound, w.get("/enrolments/eu/rack-7/revoke").Status)
	require.Equal(t, []string{"console:ada"}, b.actors("enrolment.revoked"))
	require.Equal(t, []string{"console:ada"}, b.actors("credential.revoked"))
	require.NotContains(t, b.as(ivyToken).get("/keys").Body, "/revoke")
}

// Pins the servers of a leaked token that stay because the form had "Yes", and an outcome that does not say so.
func TestRevokeEnrolmentWithItsServers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.as(adaToken)
	const path = "/enrolments/eu/rack-7/revoke"
	b.enrol("rack-7", "eu-1")
	refused := w.act(path, "reason", "it leaked", "servers", "y")
	require.Equal(t, http.StatusUnprocessableEntity, refused.Status)
	require.Contains(t, refused.Body, "Also revoke its game servers: write yes, or leave it empty.")
	require.Empty(t, b.actors("enrolment.revoked"))
	require.Equal(t, http.StatusSeeOther, w.act(path, "reason", "it leaked", "servers", "Yes").Status)
	require.Contains(t, w.get("/keys").Body, "The enrolment rack-7 is revoked. Its game servers are, too.")
	require.Len(t, b.actors("credential.revoked"), 1)
	require.Equal(t, http.StatusNotFound, w.get(path).Status)
}

// Pins the servers of an enrolment that is revoked already, or expired, and that nobody can revoke with it any more.
func TestRevokeServersOfAnEndedEnrolment(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.as(adaToken)
	const path = "/enrolments/eu/rack-7/revoke"
	b.enrol("rack-7", "eu-1")
	require.Equal(t, http.StatusSeeOther, w.act(path, "reason", "it may have leaked").Status)
	w.contains("/keys", "The enrolment rack-7 is revoked. Its game servers continue.", `href="`+path+`"`)
	w.contains(path, "It is revoked already:")
	require.Equal(t, http.StatusSeeOther, w.act(path, "reason", "it leaked", "servers", "yes").Status)
	require.Len(t, b.actors("credential.revoked"), 1)

	// Revoking an enrolment of the same name would not revoke this one's server.
	b.enrol("rack-8", "eu-2")
	require.Equal(t, http.StatusSeeOther, w.act("/enrolments/eu/rack-8/revoke", "reason", "new token").Status)
	b.enrol("rack-8", "")
	page := w.get("/keys").Body
	require.Equal(t, 1, strings.Count(page, `href="/enrolments/eu/rack-8/revoke"`), "that of the valid one")
	require.Contains(t, w.get("/enrolments/eu/rack-8/revoke").Body, "0 game servers have")

	b.enrol("rack-9", "eu-3")
	b.Exec("UPDATE enrolments SET created_at = now() - interval '2 hours', expires_at = now() - interval '1 hour' WHERE name = 'rack-9'")
	w.contains("/keys", `href="/enrolments/eu/rack-9/revoke"`)
	w.contains("/enrolments/eu/rack-9/revoke", "It is expired already:")
	require.Equal(t, http.StatusSeeOther,
		w.act("/enrolments/eu/rack-9/revoke", "reason", "it leaked", "servers", "yes").Status)
	require.Len(t, b.actors("credential.revoked"), 2)
}

// enrol makes an enrolment, and registers a game server by it unless the id is empty.
func (b *bundle) enrol(name, instance string) {
	b.t.Helper()
	_, err := b.As("x").CreateEnrolment(b.t.Context(),
		db.NewEnrolment{Region: "eu", Name: name, MaxServers: 3, ValidFor: time.Hour})
	require.NoError(b.t, err)
	if instance == "" {
		return
	}
	made, err := opsview.Enrolments.One(b.t.Context(), b.Pool(), opsview.EnrolmentFilter{Name: name})
	require.NoError(b.t, err)
	_, err = b.Register(b.t.Context(), db.Registration{InstanceID: instance, Endpoint: instance + ":7", Region: "eu",
		Modes: []string{"duel"}, Capacity: 8,
		Enrolling: &db.Enrolling{Region: "eu", EnrolmentID: made.ID, TokensBy: "aa"}})
	require.NoError(b.t, err)
}
