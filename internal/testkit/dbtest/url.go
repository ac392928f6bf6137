package dbtest

import (
	"net/url"
	"testing"
)

// WithParameters returns the URL of a database with connection parameters, such as "application_name", "worker". A
// parameter that the URL has already is replaced.
func WithParameters(t testing.TB, databaseURL string, namesAndValues ...string) string {
	t.Helper()
	u, err := url.Parse(databaseURL)
	if err != nil {
		t.Fatalf("dbtest: %v", err)
	}
	q := u.Query()
	for i := 0; i < len(namesAndValues); i += 2 {
		q.Set(namesAndValues[i], namesAndValues[i+1])
	}
	u.RawQuery = q.Encode()
	return u.String()
}
