package projects

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/api/contracttest"
	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/keytest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/storetest"
	"github.com/lattice-director/director/internal/testkit/variant"
	"github.com/lattice-director/director/token"
)

const (
	internal = "nexis-dev-internal-token"
	master   = "nexis-dev-master-secret"
)

// bundle is the API on a database of its own.
type bundle struct {
	*db.Store
	t       *testing.T
	engine  *gin.Engine
	doc     *openapi3.T
	sealer  *token.Sealer
	project string // of a project and its key
	key     string
}

func setup(t *testing.T, change ...func(*Options)) *bundle {
	t.Helper()
	b := &bundle{Store: storetest.Open(t, dbtest.New(t)), t: t}
	var err error
	b.sealer = keytest.Sealer(t, 0)
	b.doc = must.Get(contracttest.Nexis())(t)
	o := variant.Apply(Options{Store: b.Store, Region: "eu", Tokens: []string{"another-internal-token", internal},
		Secrets: token.ProjectSecrets{Master: master, Sealer: b.sealer}}, change...)
	handler := must.Get(New(o))(t)
	b.engine = handler.(*gin.Engine)
	made := must.Get(b.CreateProject(t.Context(), db.NewProject{ID: "p1", Name: "one", Region: "eu"}))(t)
	_, key, err := b.CreateProjectKey(t.Context(),
		db.NewProjectKey{ProjectID: "p1", ID: "k1", Name: "default", Scopes: []string{db.ScopeMint},
			Seal: b.sealer.NewProjectSecret})
	require.NoError(t, err)
	b.project, b.key = made.ID, key.ID
	return b
}

// call sends a request with the internal token unless headers, as "Name: value", say otherwise, and validates the
// answer against the contract.
func (b *bundle) call(method, target, body string, headers ...string) (*httptest.ResponseRecorder, string) {
	b.t.Helper()
	r := httptest.NewRequestWithContext(b.t.Context(), method, target, strings.NewReader(body))
	if body == "" {
		r.Body, r.ContentLength = http.NoBody, 0
	} else {
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("x-nexis-internal-token", internal)
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	b.engine.ServeHTTP(w, r)
	b.holds(method, strings.Split(target, "?")[0], w)
	return w, w.Body.String()
}

// holds validates an answer against the contract.
func (b *bundle) holds(method, path string, res *httptest.ResponseRecorder) {
	b.t.Helper()
	body := res.Body.Bytes()
	for pattern, item := range b.doc.Paths.Map() {
		op := item.GetOperation(method)
		if op == nil || !regexp.MustCompile("^"+regexp.MustCompile(`\{\w+\}`).ReplaceAllString(pattern, "[^/]+")+"$").MatchString(path) {
			continue
		}
		described := op.Responses.Status(res.Code)
		require.NotNil(b.t, described, "%s %s: %d %s", method, path, res.Code, body)
		kind, _, _ := strings.Cut(res.Header().Get("Content-Type"), ";")
		media := described.Value.Content[kind]
		require.NotNil(b.t, media, "%s %s: %s", method, path, kind)
		var value any = string(body)
		if kind == "application/json" {
			require.NoError(b.t, json.Unmarshal(body, &value))
		}
		require.NoError(b.t, media.Schema.Value.VisitJSON(value), "%s %s: %s", method, path, body)
		return
	}
	if method != http.MethodOptions {
		require.Equal(b.t, "NOT_FOUND", string(body), "an answer that the contract does not describe: %s %s", method,
			path)
		require.Equal(b.t, http.StatusNotFound, res.Code)
	}
}

func TestMain(m *testing.M) { dbtest.VerifyNoLeaks(m) }
