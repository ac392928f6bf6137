package console

import (
	"cmp"
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
	"go.opentelemetry.io/otel/trace"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/panics"
	"github.com/lattice-director/director/internal/doctor"
	"github.com/lattice-director/director/server/rest"
	"github.com/lattice-director/director/token"
)

// DefaultSessionTTL is how long a login lasts, unless [Options] say another time.
const DefaultSessionTTL = 12 * time.Hour

// Options configure the console. Store, Doctor, Rotate, Cookies and Explain are required, and Tokens or OIDC, without
// which nobody can log in.
type Options struct {
	Store   Store
	Doctor  doctor.Doctor // what the page of health says
	Cookies *token.Cookies
	Explain Explainer
	Tokens  []string // of operators; see rest.ParseOperatorTokens
	OIDC    *OIDC    // nil: login by token only
	// Rotate switches to the next signing key early, in the name of a person, and returns the keys that it made.
	Rotate   func(ctx context.Context, by db.Act) ([]db.SigningKey, error)
	Universe string // the region of tickets; "" means global
	// URL is where browsers find the console, such as https://console.example. It is required with OIDC. https makes
	// cookies secure also where a proxy that ends TLS does not say so.
	URL string
	// SessionTTL is how long a login lasts; 0 means 12 h.
	SessionTTL time.Duration

	TrustedProxies []string  // whose X-Forwarded-For and X-Forwarded-Proto are trusted; see rest.Options
	FailureRate    rest.Rate // of failed logins from one address; zero means no limit
	MaxStreams     int       // browsers that watch a page at a time; 0 means 256
	Version        string    // of this build, for the foot of each page

	Log     *slog.Logger         // nil: no log
	Metrics *rest.Metrics        // nil: no metrics
	Tracer  trace.TracerProvider // nil: no traces
}

const (
	maxRequests = 32              // that are read or decided at a time; further ones get 503
	callTimeout = 5 * time.Second // of one page or action
	maxLogins   = 32              // that are decided at a time; strangers take no slots of operators
	maxForms    = 64              // that are read at a time; one more displaces the slowest
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
	usedParts      usage
	engine         *gin.Engine
	now            func() time.Time

	streamBeat time.Duration
}

// New makes the console. Errors: a missing option, a malformed URL or proxy.
func New(o Options) (*Console, error) {
	if err := o.checkRequired(); err != nil {
		return nil, err
	}
	o.Universe = cmp.Or(o.Universe, "global")
	o.SessionTTL, o.MaxStreams = cmp.Or(o.SessionTTL, DefaultSessionTTL), cmp.Or(o.MaxStreams, 256)
	c := &Console{options: o, operatorTokens: rest.ParseOperatorTokens(o.Tokens),
		failureLimiter: rest.NewLimiter(o.FailureRate),
		now:            time.Now, crossSite: http.NewCrossOriginProtection(), streamBeat: streamBeat}
	var err error
	if c.trustedProxies, err = rest.ParseProxies(o.TrustedProxies); err != nil {
		return nil, fmt.Errorf("trusted proxies: %w", err)
	}
	if c.assets, err = loadAssets(); err != nil {
		return nil, err
	}
	if c.templates, err = parseTemplates(c.templateFuncs()); err != nil {
		return nil, err
	}
	if o.OIDC != nil {
		c.oidcLogin = newOIDCLogin(*o.OIDC, o.URL, o.Log)
	}
	c.pageHub = newHub(o.MaxStreams, panics.New(o.Log, nil))
	return c, c.mountAll()
}

func (o Options) checkRequired() error {
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
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" &&
		u.Scheme+"://"+u.Host == strings.TrimSuffix(text, "/")
}

func (c *Console) mountAll() (err error) {
	c.engine, err = rest.New(rest.Options{
		Log: c.options.Log, Metrics: c.options.Metrics, Tracer: c.options.Tracer,
		TrustedProxies: c.options.TrustedProxies, ErrorWriter: c.writeError,
		QuietRoutes: []string{"/static/:name"}, UntracedRoutes: []string{"/static/:name"},
	})
	if err != nil {
		return err
	}
	c.engine.UseRawPath = true // so that an id may contain an escaped slash
	c.engine.Use(c.secureHeaders, c.sameSite)
	c.engine.GET("/static/:name", c.assets.serveAsset)
	c.engine.GET("/favicon.ico", func(g *gin.Context) {
		g.Redirect(http.StatusMovedPermanently,
			c.assets.pathOf("icon.svg"))
	})
	gate := rest.NewGate(maxRequests, c.options.Metrics, c.options.Log)
	strangers := rest.NewGate(maxLogins, c.options.Metrics, c.options.Log)
	// Before anybody is known: with slots of its own, so that strangers cannot keep operators out.
	c.mountLogin(c.engine.Group("", rest.NewBodies(maxForms, formTimeout).ReadForm, strangers.Enter,
		rest.SetDeadline(callTimeout)))
	// Forms are read after the login is known. The gate comes with each route, because streams do not pass it.
	pages := c.engine.Group("", c.requireLogin, rest.NewBodies(maxForms, formTimeout).ReadForm)
	pages.GET("/", func(g *gin.Context) { g.Redirect(http.StatusSeeOther, "/health") })
	pages.POST("/logout", c.logOut)
	c.mountPages(pages, gate)
	c.mountActions(pages, gate)
	return nil
}

// Routes returns all mounted routes.
func (c *Console) Routes() gin.RoutesInfo { return c.engine.Routes() }

// ServeHTTP implements http.Handler.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) { c.engine.ServeHTTP(w, r) }

// Stop ends the streams, whose browsers reconnect to another replica. Call it when the listener shuts down.
func (c *Console) Stop() { c.pageHub.stop() }

// boundCall returns the context of a reading or an action.
func (c *Console) boundCall(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, callTimeout)
}

// templateFuncs are the functions of templates that need the console.
func (c *Console) templateFuncs() template.FuncMap {
	return template.FuncMap{"asset": c.assets.pathOf}
}
