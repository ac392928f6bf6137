package console

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/gin-gonic/gin"
	"golang.org/x/oauth2"

	"github.com/lattice-director/director/server/rest"
	"github.com/lattice-director/director/token"
)

// OIDC configures logins with an issuer of OpenID Connect. Issuer and ClientID are required, and Operators or Viewers,
// without which nobody may do anything.
type OIDC struct {
	Issuer       string // its URL, whose /.well-known/openid-configuration is read at the first login
	ClientID     string
	ClientSecret string   // empty: a public client, which PKCE protects
	Scopes       []string // besides openid; empty: email and profile
	Label        string   // of the button; empty: the host of the issuer
	// RoleClaim is the claim of the ID token with roles or groups: a text or a list of texts. Dots lead into objects,
	// as in realm_access.roles. Empty: groups.
	RoleClaim string
	// Operators and Viewers are the values of the claim that make somebody an operator or a viewer. "*" is everybody
	// whom the issuer knows.
	Operators, Viewers []string
	HTTP               *http.Client // to the issuer; nil: one with a timeout of 10 seconds
}

const (
	issuerTimeout = 10 * time.Second // of all requests to the issuer of one login
	loginTimeout  = 10 * time.Minute // from the button to the return from the issuer
)

// oidcLogin asks an issuer who somebody is. Safe for concurrent use.
type oidcLogin struct {
	settings OIDC

	log         *slog.Logger // nil: no log
	callbackURL string

	mu            sync.Mutex
	knownProvider *oidc.Provider // nil until it could be read
	lastFailure   error          // of the last attempt to read the provider; nil: it succeeded
	signingAlgs   []string       // with which the issuer signs ID tokens; set before knownProvider, and then constant

	issuerKeys atomic.Pointer[token.KeySource] // of the issuer; nil until the provider was read
}

// DefaultOIDC returns what operators may change, with its defaults. [New] uses them for fields that are zero.
func DefaultOIDC() OIDC { return OIDC{Scopes: []string{"email", "profile"}, RoleClaim: "groups"} }

// newOIDCLogin fills in the defaults. It sends no request: a replica starts also while its issuer is down.
func newOIDCLogin(o OIDC, consoleURL string, log *slog.Logger) *oidcLogin {
	o.RoleClaim = cmp.Or(o.RoleClaim, DefaultOIDC().RoleClaim)
	o.HTTP = cmp.Or(o.HTTP, &http.Client{Timeout: issuerTimeout})
	if len(o.Scopes) == 0 {
		o.Scopes = DefaultOIDC().Scopes
	}
	_, host, _ := strings.Cut(o.Issuer, "://")
	host, _, _ = strings.Cut(host, "/")
	o.Label = cmp.Or(o.Label, host)
	return &oidcLogin{settings: o, log: log, callbackURL: strings.TrimSuffix(consoleURL, "/") + "/login/callback"}
}

// attempt is a login that has begun. The browser keeps it, sealed, until the issuer sends it back.
type attempt struct {
	State    string    `json:"state"`
	Nonce    string    `json:"nonce"`
	Verifier string    `json:"verifier"` // of PKCE
	Next     string    `json:"next"`
	Until    time.Time `json:"until"`
}

// readProvider returns the issuer's description, which it keeps once it could read it.
func (l *oidcLogin) readProvider(ctx context.Context) (*oidc.Provider, error) {
	// The lock is held while the issuer is asked: logins that begin meanwhile wait for the same answer.
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.knownProvider != nil {
		return l.knownProvider, nil
	}
	// The provider keeps the context for its later requests, so the context must not end with the present request.
	p, err := oidc.NewProvider(oidc.ClientContext(context.WithoutCancel(ctx), l.settings.HTTP), l.settings.Issuer)
	if err == nil {
		err = l.useKeys(p)
	}
	// Kept for the report of this replica, which says why nobody can log in.
	l.lastFailure = err
	if err != nil {
		return nil, fmt.Errorf("the issuer %s: %w", l.settings.Issuer, err)
	}
	l.knownProvider = p
	return p, nil
}

// useKeys makes the source of the issuer's keys, and sets with which algorithms the issuer signs. The source is of the
// type that players' access tokens have: a key that is malformed or unknown does not disturb the others.
func (l *oidcLogin) useKeys(p *oidc.Provider) error {
	var published struct {
		JWKSURI string   `json:"jwks_uri"`
		Algs    []string `json:"id_token_signing_alg_values_supported"`
	}
	if err := p.Claims(&published); err != nil {
		return err
	}
	// An issuer that names no algorithms may use any of ours.
	l.signingAlgs = slices.DeleteFunc(token.LoginAlgs(),
		func(alg string) bool { return len(published.Algs) > 0 && !slices.Contains(published.Algs, alg) })
	keys, err := token.NewKeySource(published.JWKSURI, token.SourceOptions{
		// Half of the time that a login has: the exchange of its code needs the rest.
		Client: l.settings.HTTP, Timeout: issuerTimeout / 2, PlainHTTP: strings.HasPrefix(l.settings.Issuer, "http://"),
		Log:  l.log,
		Algs: l.signingAlgs,
	})
	if err != nil {
		return fmt.Errorf("its jwks_uri: %w", err)
	}
	l.issuerKeys.Store(keys)
	return nil
}

// keyStatus says what is known of the issuer's keys.
func (l *oidcLogin) keyStatus() token.SetStatus {
	if keys := l.issuerKeys.Load(); keys != nil {
		return keys.Status()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return token.SetStatus{Err: l.lastFailure}
}

// LoginKeys returns the function that says what is known of the keys of the issuer of logins; nil: people log in with
// tokens only.
func (c *Console) LoginKeys() func() token.SetStatus {
	if c.oidcLogin == nil {
		return nil
	}
	return c.oidcLogin.keyStatus
}

// oauthConfig returns the parameters of a login, which must be the same for the redirect and for the exchange of the
// code.
func (l *oidcLogin) oauthConfig(p *oidc.Provider) oauth2.Config {
	return oauth2.Config{
		ClientID: l.settings.ClientID, ClientSecret: l.settings.ClientSecret, Endpoint: p.Endpoint(),
		RedirectURL: l.callbackURL,
		Scopes:      append([]string{oidc.ScopeOpenID}, l.settings.Scopes...),
	}
}

// randomText has 192 random bits: nobody can guess a state or a nonce.
func randomText() string {
	random := make([]byte, 24)
	_, _ = rand.Read(random) // never fails, by its contract
	return base64.RawURLEncoding.EncodeToString(random)
}

// failAtIssuer answers that the issuer cannot be reached, or does not answer as it should.
func (c *Console) failAtIssuer(g *gin.Context, err error) {
	rest.Fail(g, fmt.Errorf("%w: %w", &rest.Problem{
		Status: http.StatusBadGateway, Code: "issuer_unavailable", Title: "The login cannot be reached",
		Detail: "The issuer of logins does not answer as it should. The log of the replica says why. " +
			"A token of an operator still logs in.",
	}, err))
}

// refusedLogin is a login that the issuer or our rules refuse.
type refusedLogin struct {
	sentence string // for the page
	reason   string // for the log
}

func (r *refusedLogin) Error() string { return r.reason }

// finish exchanges a code for an ID token, verifies it, and returns the login of the person. Errors: *refusedLogin.
func (l *oidcLogin) finish(ctx context.Context, a attempt, code string) (session, error) {
	p, err := l.readProvider(ctx)
	if err != nil {
		return session{}, err
	}
	config := l.oauthConfig(p)
	answer, err := config.Exchange(ctx, code, oauth2.VerifierOption(a.Verifier))
	// The code was used before, as by a reload, or has expired: the person can mend that, and the issuer is well.
	if refused := (*oauth2.RetrieveError)(nil); errors.As(err, &refused) && refused.ErrorCode == "invalid_grant" {
		return session{}, &refusedLogin{"The issuer did not accept the login. Log in again.", "invalid_grant"}
	} else if err != nil {
		return session{}, err
	}
	// An answer without an ID token fails in Verify, as one with a malformed token does.
	raw, _ := answer.Extra("id_token").(string)
	id, err := oidc.NewVerifier(l.settings.Issuer, l.issuerKeys.Load(),
		&oidc.Config{ClientID: l.settings.ClientID, SupportedSigningAlgs: l.signingAlgs}).Verify(ctx, raw)
	if err != nil {
		return session{}, err
	}
	// Otherwise a token that the issuer made for another login could be used in this one.
	if subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(a.Nonce)) != 1 {
		return session{}, &refusedLogin{"The answer of the issuer belongs to another login. Log in again.",
			"wrong nonce"}
	}
	return l.sessionFor(id)
}

// sessionFor returns the name and the role of the person that an ID token is about. Errors: *refusedLogin, for a person
// without a role.
func (l *oidcLogin) sessionFor(id *oidc.IDToken) (session, error) {
	claims := map[string]any{}
	if err := id.Claims(&claims); err != nil {
		return session{}, err
	}
	name := id.Subject
	// Emails are easier to read in events than the subjects of most issuers. One that the issuer has not verified may be
	// that of somebody else. Some issuers send truth values as texts.
	if email, ok := claims["email"].(string); ok && email != "" && claims["email_verified"] != false &&
		claims["email_verified"] != "false" {
		name = email
	}
	name = actorPrefix + cleanName(name)
	roles := textsAt(claims, l.settings.RoleClaim)
	switch {
	// This case is first, because whoever is in both groups is an operator.
	case admitsRole(l.settings.Operators, roles):
		return session{Name: name}, nil
	case admitsRole(l.settings.Viewers, roles):
		return session{Name: name, Viewer: true}, nil
	}
	return session{}, &refusedLogin{"You are logged in at the issuer, but nothing there makes you an operator or a " +
		"viewer. The setting DIRECTOR_CONSOLE_OIDC_OPERATORS lists what would, in the claim " + l.settings.RoleClaim + ".",
		"no role: " + name}
}

// maxName bounds a name of a person, in bytes: the cookie of the session has it, and browsers keep at most
// 4 KiB of a cookie.
const maxName = 150

// cleanName bounds a name that a stranger may have chosen, and drops control characters.
func cleanName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, strings.ToValidUTF8(name, ""))
	// The cut may be within a character, which no event could store.
	return strings.ToValidUTF8(name[:min(len(name), maxName)], "")
}

// admitsRole reports whether a role, or being known to the issuer ("*"), is enough.
func admitsRole(allowed, roles []string) bool {
	return slices.Contains(allowed, "*") ||
		slices.ContainsFunc(roles, func(r string) bool { return slices.Contains(allowed, r) })
}

// claimAt returns the value of a claim, in whose name dots lead into objects; nil: there is none.
func claimAt(claims map[string]any, claim string) any {
	// Names of claims may be URLs, with dots.
	if whole, ok := claims[claim]; ok {
		return whole
	}
	var value any = claims
	for part := range strings.SplitSeq(claim, ".") {
		object, _ := value.(map[string]any)
		value = object[part]
	}
	return value
}

// textsAt returns the texts of a claim that is a text or a list.
func textsAt(claims map[string]any, claim string) (texts []string) {
	switch v := claimAt(claims, claim).(type) {
	// Issuers send a list of one as a text.
	case string:
		return []string{v}
	case []any:
		for _, one := range v {
			// Roles of other types are of another system, and make nobody an operator.
			if text, ok := one.(string); ok {
				texts = append(texts, text)
			}
		}
	}
	return texts
}
