package console

import (
	"cmp"
	"fmt"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/lattice-director/director/internal/base/panics"
	"github.com/lattice-director/director/server/rest"
)

// New makes the console. Errors: a missing option, a malformed URL or proxy.
func New(o Options) (*Console, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	o.Universe = cmp.Or(o.Universe, "global")
	o.MaxStreams = cmp.Or(o.MaxStreams, 256)
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

// mountAll makes the engine with all routes.
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
	c.engine.Use(c.secureHeaders, c.refuseOtherSites)
	c.engine.GET("/static/:name", c.assets.serveAsset)
	c.engine.GET("/favicon.ico", func(g *gin.Context) {
		g.Redirect(http.StatusMovedPermanently,
			c.assets.pathOf("icon.svg"))
	})
	gate := rest.NewGate(maxRequests, c.options.Metrics, c.options.Log)
	strangers := rest.NewGate(maxLogins, c.options.Metrics, c.options.Log)
	// The login has slots of its own, so that strangers cannot keep operators out.
	c.mountLogin(c.engine.Group("", rest.NewBodies(maxForms, formTimeout).ReadForm, strangers.Enter,
		rest.SetDeadline(callTimeout)))
	// Forms are read after the login is known. Each route enters the gate by itself, because streams do not.
	pages := c.engine.Group("", c.requireLogin, rest.NewBodies(maxForms, formTimeout).ReadForm)
	pages.GET("/", func(g *gin.Context) { g.Redirect(http.StatusSeeOther, "/health") })
	pages.POST("/logout", c.logOut)
	c.mountPages(pages, gate)
	c.mountActions(pages, gate)
	return nil
}

// mountLogin mounts what a browser may ask before anybody is known.
func (c *Console) mountLogin(r gin.IRoutes) {
	r.GET("/login", c.showLogin)
	r.POST("/login", c.loginByToken)
	if c.oidcLogin != nil {
		r.GET("/login/oidc", c.beginOIDC)
		r.GET("/login/callback", c.finishOIDC)
	}
}
