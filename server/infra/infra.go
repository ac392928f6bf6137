// Package infra is the face without authentication, as specified in api/openapi.yaml: the key sets that verify session
// tokens and webhooks (keyset.go), liveness, readiness (ready.go), and the API's contract (documents.go) as YAML, as a
// manual, and in a reader that searches and tries it (reader.go). Metrics and profiles have a listener of their own, in
// server.
package infra

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/lattice-director/director/api"
	"github.com/lattice-director/director/server/rest"
)

// Mount adds the routes of this face. The routes of the contract answer GET and HEAD.
//
// It returns what /readyz checks, for the probes of other listeners: nil means that this replica should get traffic.
func Mount(r gin.IRouter, keys Keys, ready Readiness) func(ctx context.Context) error {
	p := &probe{readiness: ready}
	serve := func(path string, answer gin.HandlerFunc) {
		r.Match([]string{http.MethodGet, http.MethodHead}, path, answer)
	}
	serve("/.well-known/jwks.json", keySet(keys.JWKS, keys.MaxAge()))
	serve("/.well-known/webhook-keys.json", keySet(keys.WebhookKeySet, keys.MaxAge()))
	serve("/healthz", rest.Handle(http.StatusOK, answerHealth))
	serve("/readyz", rest.Handle(http.StatusOK, p.answerReady))
	serve("/openapi.yaml", serveDocument("application/yaml", api.OpenAPI()))
	serve("/docs", servePage(manualPolicy(api.Docs()), api.Docs()))
	mountReader(r)
	// for people who open the address in a browser
	r.GET("/", func(c *gin.Context) { c.Redirect(http.StatusFound, "/docs") })
	r.GET("/favicon.ico", serveDocument("image/svg+xml", []byte(icon)))
	return p.checkReady
}

// icon is the favicon: four points of a lattice.
const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">` +
	`<path d="M4 1v14M12 1v14M1 4h14M1 12h14" stroke="#46b"/><g fill="#46b">` +
	`<circle cx="4" cy="4" r="2"/><circle cx="12" cy="4" r="2"/>` +
	`<circle cx="4" cy="12" r="2"/><circle cx="12" cy="12" r="2"/></g></svg>`

type healthAnswer struct {
	Status string `json:"status"`
}

func answerHealth(context.Context, rest.In[rest.None]) (healthAnswer, error) {
	return healthAnswer{"ok"}, nil
}
