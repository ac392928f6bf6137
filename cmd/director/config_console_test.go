package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Pins settings with which nobody can log in to the console, a role that is spelt wrong and becomes part of a secret,
// and an issuer that does not know where to send browsers.
func TestConsoleSettings(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		environ []string
		says    string
	}{
		"no token":     {[]string{}, "nobody could log in to the console"},
		"wrong role":   {[]string{"DIRECTOR_OPS_TOKENS=ada:admin=0123456789abcdef"}, "NAME:viewer=SECRET"},
		"short secret": {[]string{"DIRECTOR_OPS_TOKENS=ada:viewer=0123456789abcde"}, "NAME:viewer=SECRET"},
		"no client":    {[]string{"DIRECTOR_CONSOLE_OIDC_ISSUER=https://login.example"}, "DIRECTOR_CONSOLE_OIDC_CLIENT_ID"},
		"no URL":       {[]string{"DIRECTOR_CONSOLE_OIDC_ISSUER=https://login.example"}, "DIRECTOR_CONSOLE_URL"},
		"nobody":       {[]string{"DIRECTOR_CONSOLE_OIDC_ISSUER=https://login.example"}, "DIRECTOR_CONSOLE_OIDC_OPERATORS"},
		"bad address":  {[]string{"DIRECTOR_CONSOLE_ADDR=8090"}, "host:port"},
	} {
		environ := append([]string{"DIRECTOR_CONSOLE_ADDR=127.0.0.1:0", "DATABASE_URL=postgres://127.0.0.1:1/d", "DIRECTOR_KEY_ENCRYPTION_KEY=" + testKEK}, c.environ...)
		r := director.Run(t, env(environ...), "", "serve")
		require.Error(t, r.Err, name)
		require.Contains(t, r.Stderr, c.says, name)
		require.NotContains(t, r.Stderr, "0123456789abcde", name)
	}
	good := director.OK(t, env("DIRECTOR_OPS_TOKENS=0123456789abcdef,ada=0123456789abcdef,ivy:viewer=0123456789abcdef"), "serve", "--print-config")
	require.NotContains(t, good, "0123456789abcdef")
}
