package console

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"
	"go.opentelemetry.io/otel/trace"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/endpoint"
	"github.com/lattice-director/director/internal/doctor"
	"github.com/lattice-director/director/internal/matching/explainer"
	"github.com/lattice-director/director/match/explain"
	"github.com/lattice-director/director/server/rest"
	"github.com/lattice-director/director/token"
)

// sessionTTL is how long a login lasts.
const sessionTTL = 12 * time.Hour

// Options configure the console. Store, Doctor, Rotate, Cookies and Explain are required, and Tokens or OIDC, without
// which nobody can log in.
type Options struct {
	Store   Store
	Doctor  doctor.Doctor // makes the diagnosis of the page Health
	Cookies *token.Cookies
	Explain Explainer
	Tokens  []string // of operators; see rest.ParseOperatorTokens
	OIDC    *OIDC    // nil: login by token only
	// Rotate switches to the next signing key early, in the name of a person who saw that key ("": none), and returns the keys
	// that it made. Errors: those of db.Act.RotateKeys.
	Rotate   func(ctx context.Context, by db.Act, next string) ([]db.SigningKey, error)
	Universe string // of tickets and profiles; "" means global
	// URL is where browsers find the console, such as https://console.example. It is required with OIDC. With https,
	// cookies are secure also where a proxy that ends TLS sends no X-Forwarded-Proto.
	URL string

	TrustedProxies []string  // whose X-Forwarded-For and X-Forwarded-Proto are trusted; see rest.Options
	FailureRate    rest.Rate // of failed logins from one address; zero means no limit
	MaxStreams     int       // browsers that watch a page at a time; 0 means 256
	Version        string    // of this build, for the foot of each page

	Log     *slog.Logger         // nil: no log
	Metrics *rest.Metrics        // nil: no metrics
	Tracer  trace.TracerProvider // nil: no traces
}

const (
	maxRequests = 32              // pages and actions at a time; further ones get 503
	callTimeout = 5 * time.Second // of one page or action
	maxLogins   = 32              // logins at a time, apart from maxRequests: strangers take no slots of operators
	maxForms    = 64              // forms that arrive at a time; one more displaces the slowest
	formTimeout = 5 * time.Second // for a form to arrive
)

// Console is the handler of the console. Make it with [New]; [Console.Stop] ends its streams.
type Console struct {
	options Options

	operatorTokens rest.OperatorTokens
	trustedProxies rest.Proxies
	failureLimiter *rest.Limiter
	templates      templates
	assets         assets
	pageHub        *hub
	crossSite      *http.CrossOriginProtection
	oidcLogin      *oidcLogin // nil: login by token only
	usage          usage
	engine         *gin.Engine

	now        func() time.Time // time.Now, but for tests
	streamBeat time.Duration    // the constant streamBeat, but for tests
}

// validate returns an error if an option is missing, without which a console would start, and fail at the first click,
// or if the URL is malformed.
func (o Options) validate() error {
	if o.Store == nil || o.Doctor.Store == nil || o.Rotate == nil || o.Cookies == nil || o.Explain == nil {
		return errors.New("console: a store, a doctor, a rotation of keys, cookies and an explainer are required")
	}
	if len(o.Tokens) == 0 && o.OIDC == nil {
		return errors.New("console: nobody could log in: set tokens of operators or an OIDC issuer")
	}
	if (o.URL != "" || o.OIDC != nil) && !isOrigin(o.URL) {
		return fmt.Errorf("console: its URL must be like https://console.example, without a path: %q", o.URL)
	}
	return nil
}

// isOrigin reports whether a URL has a scheme and a host, and nothing else but a slash.
func isOrigin(text string) bool {
	u, err := url.Parse(strings.TrimSuffix(text, "/"))
	// A query or a path would stand before the paths that the console appends, such as that of the return from the issuer.
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && endpoint.HasHost(u) &&
		u.Scheme+"://"+u.Host == strings.TrimSuffix(text, "/")
}

// Routes returns all mounted routes.
func (c *Console) Routes() gin.RoutesInfo { return c.engine.Routes() }

// ServeHTTP implements http.Handler.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) { c.engine.ServeHTTP(w, r) }

// Stop ends the streams, whose browsers reconnect to another replica. Call it when the listener shuts down.
func (c *Console) Stop() { c.pageHub.stop() }

// boundCall returns the context of a reading or an action, which ends after callTimeout.
func (c *Console) boundCall(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, callTimeout)
}

// templateFuncs are the functions of templates that need the console.
func (c *Console) templateFuncs() template.FuncMap {
	return template.FuncMap{"asset": c.assets.pathOf}
}

// Explainer explains tickets and matches; internal/matching/explainer implements it, and bounds how many explanations
// run at a time, since that of a ticket takes seconds.
type Explainer interface {
	Ticket(ctx context.Context, id string) (explain.Ticket, error)
	Match(ctx context.Context, id uuid.UUID) (explain.Match, error)
	// Survey says of the oldest waiting tickets which can be in no match, and why.
	Survey(ctx context.Context) (explainer.Survey, error)
}
