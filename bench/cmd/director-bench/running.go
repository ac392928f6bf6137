package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/lattice-director/director/internal/dev/devlogin"
	"github.com/lattice-director/director/internal/dev/pglocal"
)

// runningDirector holds the flags about a director that runs elsewhere. Secrets come from the director's own
// environment variables only, so that no list of processes shows them.
type runningDirector struct {
	authIssuer, audience string
	data, issuerKey      string
}

// addFlags adds those about the issuer of players' tokens.
func (r *runningDirector) addFlags(flags *pflag.FlagSet, p *program) {
	flags.StringVar(&r.authIssuer, "auth-issuer", p.variable("DIRECTOR_AUTH_ISSUER"),
		"With --url: the iss of players' access tokens [DIRECTOR_AUTH_ISSUER]")
	flags.StringVar(&r.audience, "auth-audience", p.variable("DIRECTOR_AUTH_AUDIENCE"),
		"With --url: the aud of players' access tokens [DIRECTOR_AUTH_AUDIENCE]")
	flags.StringVar(&r.data, "data", p.variable("DIRECTOR_DATA"),
		"With --url: the data directory of a 'director dev', which holds the key that it trusts [DIRECTOR_DATA]")
	flags.StringVar(&r.issuerKey, "issuer-key", p.variable("DIRECTOR_ISSUER_KEY"),
		"With --url: a file with a private JWK to sign players' access tokens with. "+
			"Not set: issuer.jwk in the data directory [DIRECTOR_ISSUER_KEY]")
}

// firstSecret returns the first secret of a variable that may have several: NAME=SECRET or SECRET, comma-separated.
func (p *program) firstSecret(variable string) string {
	one, _, _ := strings.Cut(p.variable(variable), ",")
	if _, secret, named := strings.Cut(one, "="); named {
		return secret
	}
	return one
}

// issuer makes access tokens that the director accepts.
func (r *runningDirector) issuer() (devlogin.Issuer, error) {
	path := r.issuerKey
	if path == "" {
		data := r.data
		if data == "" {
			var err error
			if data, err = pglocal.DefaultDir(); err != nil {
				return devlogin.Issuer{}, err
			}
		}
		path = filepath.Join(data, "issuer.jwk")
	}
	i, err := devlogin.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: 'director dev' makes it; name its directory with --data, or another key with --issuer-key", err)
	}
	return i, err
}
