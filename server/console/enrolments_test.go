package console

import (
	"net/http"
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
