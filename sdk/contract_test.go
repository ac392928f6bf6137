package sdk_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/must"
)

var contract = sync.OnceValues(func() (routers.Router, error) {
	doc, err := openapi3.NewLoader().LoadFromFile("../api/openapi.yaml")
	if err != nil {
		return nil, err
	}
	doc.Servers = nil
	openapi3filter.RegisterBodyDecoder("text/event-stream", openapi3filter.PlainBodyDecoder)
	return gorillamux.NewRouter(doc)
})

// checkContract validates the SDK's requests and sdktest's answers against the OpenAPI document that the real director
// is tested against. Without it, client and test director could agree with each other and with no real director.
func checkContract(t *testing.T, req *http.Request, body string, resp *http.Response, answer []byte) {
	router := must.Get(contract())(t)
	ctx := context.WithoutCancel(req.Context())
	checked := req.Clone(ctx)
	checked.Body = io.NopCloser(strings.NewReader(body))
	route, params, err := router.FindRoute(checked)
	require.NoError(t, err)
	in := &openapi3filter.RequestValidationInput{
		Request: checked, PathParams: params, Route: route,
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, IncludeResponseStatus: true},
	}
	require.NoError(t, openapi3filter.ValidateRequest(ctx, in))
	out := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: in, Status: resp.StatusCode, Header: resp.Header,
		Body: io.NopCloser(bytes.NewReader(answer)), Options: in.Options,
	}
	require.NoError(t, openapi3filter.ValidateResponse(ctx, out))
}
