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

	"github.com/lattice-director/director/api/contracttest"
	"github.com/lattice-director/director/internal/testkit/must"
)

// contract is api/openapi.yaml, with a router that finds the operation of a request.
type contract struct {
	*openapi3.T
	routes routers.Router
}

var loadContract = sync.OnceValues(func() (contract, error) {
	openapi3filter.RegisterBodyDecoder("text/html", openapi3filter.PlainBodyDecoder)
	openapi3filter.RegisterBodyDecoder("application/x-ndjson", openapi3filter.PlainBodyDecoder)
	doc, err := contracttest.Document()
	if err != nil {
		return contract{}, err
	}
	doc.Servers = nil // accept any address
	routes, err := gorillamux.NewRouter(doc)
	return contract{doc, routes}, err
})

func document(t *testing.T) contract {
	t.Helper()
	return must.Get(loadContract())(t)
}

// newClient makes a client that fails the test when an answer violates the contract.
func newClient(t *testing.T) *http.Client {
	t.Helper()
	transport := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: validator{t, transport, document(t)}}
}

// validator is a transport that validates each answer.
type validator struct {
	t         *testing.T
	transport http.RoundTripper
	contract
}

// RoundTrip implements http.RoundTripper.
func (v validator) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := v.transport.RoundTrip(r)
	if err != nil {
		return res, err
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	_ = res.Body.Close()
	res.Body = io.NopCloser(bytes.NewReader(body))
	v.validate(r, res, body)
	return res, nil
}

func (v validator) validate(r *http.Request, res *http.Response, body []byte) {
	if id := res.Header.Get("X-Request-Id"); id == "" {
		v.t.Errorf("%s %s: %d without X-Request-Id", r.Method, r.URL.Path, res.StatusCode)
	}
	if res.StatusCode >= http.StatusBadRequest {
		v.validateProblem(r, res, body)
	}
	route, params, err := v.routes.FindRoute(r)
	if err != nil {
		return // The contract has no such operation, so nothing else is specified.
	}
	in := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: r, PathParams: params, Route: route},
		Status:                 res.StatusCode, Header: res.Header,
		Options: &openapi3filter.Options{IncludeResponseStatus: true, MultiError: true},
	}
	if err := openapi3filter.ValidateResponse(r.Context(), in.SetBodyBytes(body)); err != nil {
		v.t.Errorf("%s %s: the answer violates the contract: %v\n%d %v\n%s", r.Method, r.URL.Path, err, res.StatusCode, res.Header, body)
	}
}

func (v validator) validateProblem(r *http.Request, res *http.Response, body []byte) {
	var problem map[string]any
	err := json.Unmarshal(body, &problem)
	if err == nil {
		err = v.Components.Schemas["Problem"].Value.VisitJSON(problem, openapi3.MultiErrors())
	}
	if err != nil {
		v.t.Errorf("%s %s: the answer %d does not match the Problem schema: %v\n%s", r.Method, r.URL.Path, res.StatusCode, err, body)
		return
	}
	if problem["status"] != float64(res.StatusCode) || problem["request_id"] != res.Header.Get("X-Request-Id") {
		v.t.Errorf("%s %s: %d %v does not agree with %s", r.Method, r.URL.Path, res.StatusCode, res.Header, body)
	}
}
