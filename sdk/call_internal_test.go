package sdk

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

type refusing struct{}

func (refusing) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("no network")
}

// Pins a call that is made again, or by two players at once, with the header of which the first one has changed.
func TestACallLeavesTheHeaderOfItsCaller(t *testing.T) {
	t.Parallel()
	client, err := New(Options{URLs: []string{"http://director.test"}, HTTPClient: &http.Client{Transport: refusing{}}})
	require.NoError(t, err)
	defer client.Close()
	p := NewPlayer(client, func(context.Context) (string, error) { return "secret", nil })
	k := call{method: http.MethodGet, path: "/x", header: http.Header{"Idempotency-Key": {"a"}}, isOnce: true}
	require.Error(t, p.callAPI(t.Context(), k, nil))
	require.Equal(t, http.Header{"Idempotency-Key": {"a"}}, k.header)
}
