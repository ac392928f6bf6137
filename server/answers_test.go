package server_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/api/contracttest"
)

// contract is api/openapi.yaml, and which of its operations a request means.
type contract struct {
	*openapi3.T
	routes routers.Router
}

var theContract = sync.OnceValues(func() (contract, error) {
	openapi3filter.RegisterBodyDecoder("text/html", openapi3filter.PlainBodyDecoder)
	doc, err := contracttest.Document()
	if err != nil {
		return contract{}, err
	}
	doc.Servers = nil // it is served under any address
	routes, err := gorillamux.NewRouter(doc)
	return contract{doc, routes}, err
})

func document(t *testing.T) contract {
	t.Helper()
	c, err := theContract()
	require.NoError(t, err)
	return c
}

// newClient makes a client that fails the test when an answer is not what the contract says.
func newClient(t *testing.T) *http.Client {
	t.Helper()
	wire := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(wire.CloseIdleConnections)
	return &http.Client{Transport: judge{t, wire, document(t)}}
}

type judge struct {
	t    *testing.T
	wire http.RoundTripper
	contract
}

// RoundTrip implements http.RoundTripper.
func (j judge) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := j.wire.RoundTrip(r)
	if err != nil {
		return res, err
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	_ = res.Body.Close()
	res.Body = io.NopCloser(bytes.NewReader(body))
	j.compare(r, res, body)
	return res, nil
}

func (j judge) compare(r *http.Request, res *http.Response, body []byte) {
	if id := res.Header.Get("X-Request-Id"); id == "" {
		j.t.Errorf("%s %s: %d without X-Request-Id", r.Method, r.URL.Path, res.StatusCode)
	}
	if res.StatusCode >= http.StatusBadRequest {
		j.compareProblem(r, res, body)
	}
	route, params, err := j.routes.FindRoute(r)
	if err != nil {
		return // no operation, so nothing else was promised
	}
	in := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: r, PathParams: params, Route: route},
		Status:                 res.StatusCode, Header: res.Header,
		Options: &openapi3filter.Options{IncludeResponseStatus: true, MultiError: true},
	}
	if err := openapi3filter.ValidateResponse(r.Context(), in.SetBodyBytes(body)); err != nil {
		j.t.Errorf("%s %s: the answer breaks the contract: %v\n%d %v\n%s", r.Method, r.URL.Path, err, res.StatusCode, res.Header, body)
	}
}

func (j judge) compareProblem(r *http.Request, res *http.Response, body []byte) {
	var problem map[string]any
	err := json.Unmarshal(body, &problem)
	if err == nil {
		err = j.Components.Schemas["Problem"].Value.VisitJSON(problem, openapi3.MultiErrors())
	}
	if err != nil {
		j.t.Errorf("%s %s: %d is no problem of the contract: %v\n%s", r.Method, r.URL.Path, res.StatusCode, err, body)
		return
	}
	if problem["status"] != float64(res.StatusCode) || problem["request_id"] != res.Header.Get("X-Request-Id") {
		j.t.Errorf("%s %s: %d %v does not agree with %s", r.Method, r.URL.Path, res.StatusCode, res.Header, body)
	}
}
