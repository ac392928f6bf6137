package sidecar_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/sdk"
	"github.com/lattice-director/director/sdk/sdktest"
	"github.com/lattice-director/director/sidecar"
)

// entryBefore answers as an entry that serves no region, and as the cell at other hosts.
type entryBefore struct{ cell http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (e entryBefore) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host != "entry.test" {
		return e.cell.RoundTrip(r)
	}
	const problem = `{"code":"region_elsewhere","detail":"another cell","region":"eu","address":"http://cell.test"}`
	return &http.Response{StatusCode: http.StatusMisdirectedRequest, Header: http.Header{"Content-Type": {"application/problem+json"}},
		Body: io.NopCloser(strings.NewReader(problem)), Request: r}, nil
}

// A sidecar that knows the address of another cell registers where its region is, and verifies the tokens of that cell.
func TestTheSidecarFollowsItsRegion(t *testing.T) {
	t.Parallel()
	cell, err := sdktest.New(sdktest.Options{MaxPlayers: 2})
	require.NoError(t, err)
	r := setup(t, func(o *sidecar.Options) {
		o.Client, err = sdk.New(sdk.Options{URLs: []string{"http://entry.test"}, HTTPClient: &http.Client{Transport: entryBefore{cell.Transport()}}})
		require.NoError(t, err)
		t.Cleanup(o.Client.Close)
	})
	r.director = cell
	r.must(http.MethodPost, "/ready", nil)
	seat := r.seat("ada")
	require.Equal(t, "ada", r.must(http.MethodPost, "/players", fields{"token": seat.SessionToken})["sub"])
}
