package main

import (
	"errors"
	"net/url"
	"slices"
	"strings"
)

// libpqSettings are the settings of a URL that libpq knows; pgx has some more.
var libpqSettings = []string{
	"host", "hostaddr", "port", "dbname", "user", "password", "passfile", "connect_timeout", "options", "sslmode",
	"sslcert", "sslkey", "sslpassword", "sslrootcert", "sslcrl", "sslsni", "channel_binding", "gssencmode",
	"krbsrvname", "target_session_attrs", "keepalives", "keepalives_idle", "keepalives_interval", "keepalives_count",
	"tcp_user_timeout",
}

// libpqURL returns a URL of a database without the settings that only pgx knows, such as pool_max_conns: libpq, with
// which Postgres connects, refuses unknown ones. Errors do not contain the URL, which may have a password.
func libpqURL(address string) (string, error) {
	// Only URLs: the key=value form of libpq quotes in a way of its own, and Postgres stores this text in a
	// subscription.
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return "", errors.New("--from must have the form postgres://user@host/name")
	}
	settings := url.Values{}
	for name, values := range u.Query() {
		if slices.Contains(libpqSettings, name) {
			settings[name] = values
		}
	}
	u.RawQuery = strings.ReplaceAll(settings.Encode(), "+", "%20") // which libpq does not decode as a space
	return u.String(), nil
}
