package dbtest

import (
	"net/url"
	"testing"
)

// WithParameters returns the URL of a database with connection parameters, which are pairs of name and value, such as
// "application_name", "worker". They replace those that the URL has already.
func WithParameters(t testing.TB, databaseURL string, namesAndValues ...string) string {
	t.Helper()
	u, err := url.Parse(databaseURL)
	if err != nil {
		t.Fatalf("dbtest: %v", err)
	}
	q := u.Query()
	for i := 0; i+1 < len(namesAndValues); i += 2 {
		q.Set(namesAndValues[i], namesAndValues[i+1])
	}
	u.RawQuery = q.Encode()
	return u.String()
}
