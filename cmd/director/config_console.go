package main

import (
	"context"
	"net/url"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/doctor"
	"github.com/lattice-director/director/internal/keymint"
	"github.com/lattice-director/director/server"
	"github.com/lattice-director/director/token"
)

// consoleSettings returns the settings of the operators' console. Those of a login with OpenID Connect have no effect
// without an issuer.
func (c *Config) consoleSettings() []setting {
	return inSection(sectionConsole, byServers, []setting{
		{flag: "console-addr", start: true, value: addressValue(&c.Console.Addr),
			help: "The address of the operators' console, such as :8090. Keep it private, or put TLS before it. Not " +
				"set: it is not served, except by `director dev` at 127.0.0.1:8090"},
		{flag: "console-url", start: true, value: urlValue(&c.Console.Options.URL),
			help: "Where browsers find the console, such as https://console.example, without a path. Required with an " +
				"OIDC issuer, which sends browsers back to /login/callback there"},
		{flag: "console-oidc-issuer", value: urlValue(&c.OIDC.Issuer),
			help: "The issuer of OpenID Connect with which people log in, such as https://login.example/realms/ops. Not " +
				"set: only tokens of operators log in"},
		{flag: "console-oidc-client-id", value: lineValue(&c.OIDC.ClientID),
			help: "The client that the issuer knows the console as"},
		{flag: "console-oidc-client-secret", secret: true, value: hiddenTextValue(&c.OIDC.ClientSecret),
			help: "Its secret. Not set: a public client"},
		{flag: "console-oidc-scopes", value: listValue(&c.OIDC.Scopes, "scopes"),
			help: "The scopes to ask for, besides openid. Some issuers send groups only with a scope such as groups"},
		{flag: "console-oidc-claim", value: textValue(&c.OIDC.RoleClaim, "text"),
			help: "The claim of the ID token that decides the role, a text or a list. Dots lead into objects, as in " +
				"realm_access.roles"},
		{flag: "console-oidc-operators", value: listValue(&c.OIDC.Operators, "values of the claim, or *"),
			help: "The values of the claim that make somebody an operator; * is everybody whom the issuer knows"},
		{flag: "console-oidc-viewers", value: listValue(&c.OIDC.Viewers, "values of the claim, or *"),
			help: "The values of the claim that make somebody a viewer, who changes nothing; * is everybody whom the " +
				"issuer knows"},
	})
}

// consoleOptions returns nil if the console is not served.
func (c *Config) consoleOptions(sealer *token.Sealer) *server.Console {
	if c.Console.Addr == "" {
		return nil
	}
	o := c.Console
	// Cookies are sealed with a key of the key-encryption keys, so that every replica reads those of the others.
	o.Options.Cookies, o.Options.Version, o.Options.Doctor = sealer.Cookies(), buildVersion().Version, c.doctorOptions()
	// A function, since the console has no key-encryption key with which it could seal a new key.
	o.Options.Rotate = func(ctx context.Context, by db.Act, next string) ([]db.SigningKey, error) {
		// Force: a button of the console does not wait until a key is due.
		return by.RotateKeys(ctx, db.SigningKeyRotation{Policy: c.keySchedule().Policy(),
			Mint: keymint.With(sealer, c.Worker.Alg), Force: true, NextKID: &next})
	}
	// nil: the login page has only the field for a token.
	if c.OIDC.Issuer != "" {
		o.Options.OIDC = &c.OIDC
	}
	return &o
}

// doctorOptions returns the checks of an installation, without the store.
func (c *Config) doctorOptions() doctor.Doctor {
	return doctor.Doctor{Pooler: c.Database.Pooler, Direct: c.Database.DirectURL != "", PlayerArg: c.Server.PlayerArg}
}

// checkConsole refuses settings with which nobody could log in.
func (c *Config) checkConsole() error {
	if c.Console.Addr == "" {
		return nil
	}
	// Without an issuer only the tokens of operators log in.
	if c.OIDC.Issuer == "" {
		return unmetNeeds(need{len(c.Server.OpsTokens) == 0, "nobody could log in to the console: set " +
			"DIRECTOR_OPS_TOKENS to NAME=SECRET ('openssl rand -hex 24' makes a secret), or DIRECTOR_CONSOLE_OIDC_ISSUER"})
	}
	// The path of the redirect is the director's own: issuers compare the whole address with the registered one.
	u, err := url.Parse(c.Console.Options.URL)
	badURL := err != nil || c.Console.Options.URL == "" || u.Path != "" && u.Path != "/"
	return unmetNeeds(
		need{c.OIDC.ClientID == "", "logins with an OIDC issuer need a client: set DIRECTOR_CONSOLE_OIDC_CLIENT_ID"},
		need{badURL, "logins with an OIDC issuer need the address that browsers return to: set DIRECTOR_CONSOLE_URL, such " +
			"as https://console.example, without a path"},
		need{len(c.OIDC.Operators)+len(c.OIDC.Viewers) == 0, "nobody could do anything in the console: set " +
			"DIRECTOR_CONSOLE_OIDC_OPERATORS or DIRECTOR_CONSOLE_OIDC_VIEWERS to values of the claim " + c.OIDC.RoleClaim},
	)
}
