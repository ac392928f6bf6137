package dbcause_test

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/base/dbcause"
)

// Pins a cause that is not recognized, one without a remedy, one that sends an operator to a section that is not there,
// and one that prints where the database is.
func TestEachCauseHasItsRemedy(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/runbook.md")
	require.NoError(t, err)
	dial := func(err error) error {
		return fmt.Errorf("failed to connect to `host=db.secret`: %w", &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", err)})
	}
	seen := map[string]string{}
	for name, c := range map[string]struct {
		err   error
		words string
	}{
		"wrong database":      {&pgconn.PgError{Code: "3D000", Message: `database "x" does not exist`}, `database "x" does not exist (SQLSTATE 3D000)`},
		"wrong password":      {&pgconn.PgError{Code: "28P01", Message: "password authentication failed"}, "SQLSTATE 28P01"},
		"pg_hba.conf":         {&pgconn.PgError{Code: "28000", Message: "no pg_hba.conf entry"}, "SQLSTATE 28000"},
		"no privilege":        {&pgconn.PgError{Code: "42501", Message: "permission denied"}, "SQLSTATE 42501"},
		"no schema":           {&pgconn.PgError{Code: "3F000", Message: "no schema"}, "SQLSTATE 3F000"},
		"too many clients":    {&pgconn.PgError{Code: "53300", Message: "too many clients"}, "SQLSTATE 53300"},
		"full disk":           {&pgconn.PgError{Code: "53100", Message: "No space left on device"}, "SQLSTATE 53100"},
		"memory":              {&pgconn.PgError{Code: "53200", Message: "out of memory"}, "SQLSTATE 53200"},
		"starting":            {&pgconn.PgError{Code: "57P03", Message: "the database system is starting up"}, "SQLSTATE 57P03"},
		"stopping":            {&pgconn.PgError{Code: "57P01", Message: "terminating connection"}, "SQLSTATE 57P01"},
		"read-only":           {&pgconn.PgError{Code: "25006", Message: "cannot execute INSERT"}, "SQLSTATE 25006"},
		"pooler":              {&pgconn.PgError{Code: "08P01", Message: "unsupported startup parameter"}, "SQLSTATE 08P01"},
		"lost statement":      {&pgconn.PgError{Code: "26000", Message: "prepared statement"}, "SQLSTATE 26000"},
		"damaged data":        {&pgconn.PgError{Code: "XX001", Message: "invalid page"}, "SQLSTATE XX001"},
		"disk failure":        {&pgconn.PgError{Code: "58030", Message: "could not read block"}, "SQLSTATE 58030"},
		"refused":             {dial(syscall.ECONNREFUSED), "connection refused"},
		"no route":            {dial(syscall.EHOSTUNREACH), "no route to the host"},
		"no socket":           {dial(syscall.ENOENT), "the socket does not exist"},
		"unknown host":        {&net.DNSError{Name: "db.secret", Err: "no such host", IsNotFound: true}, "the host name cannot be resolved"},
		"unknown authority":   {fmt.Errorf("tls: %w", x509.UnknownAuthorityError{}), "TLS: the certificate is signed by an unknown authority"},
		"another name":        {x509.HostnameError{Certificate: &x509.Certificate{}, Host: "db.secret"}, "TLS: the certificate is for another name"},
		"server without TLS":  {errors.New("server refused TLS connection"), "TLS: the server does not speak it"},
		"no answer":           {context.DeadlineExceeded, "no answer in time"},
		"closed by a firewal": {io.ErrUnexpectedEOF, "the connection was closed"},
	} {
		found, known := dbcause.FromError(fmt.Errorf("unavailable: %w", c.err))
		require.True(t, known, name)
		require.Contains(t, found.Words, c.words, name)
		require.NotContains(t, found.Words, "db.secret", name)
		require.NotEmpty(t, found.PublicWords, name)
		require.NotEmpty(t, found.Do, name)
		require.Contains(t, string(page), "\n## "+found.Section+"\n", name)
		if !strings.HasPrefix(found.Words, "TLS") && !strings.HasPrefix(name, "lost") {
			require.NotContains(t, seen, found.Do, "%s has the remedy of %s", name, seen[found.Do])
		}
		seen[found.Do] = name
	}
	_, known := dbcause.FromError(errors.New("something else"))
	require.False(t, known)
}

// Pins public words that repeat a host, role, database or table that Postgres names.
func TestPublicWordsNameNothing(t *testing.T) {
	t.Parallel()
	for code, words := range map[string]string{
		"28000": "the role is not admitted (SQLSTATE 28000)",
		"58030": "a file cannot be read or written (SQLSTATE 58030)",
		"99999": "Postgres answered with an error (SQLSTATE 99999)", // not in the table
		"":      "Postgres answered with an error (SQLSTATE )",
	} {
		c, _ := dbcause.FromError(&pgconn.PgError{Code: code,
			Message: `no pg_hba.conf entry for host "10.0.0.7", user "director", database "prod"`})
		require.Equal(t, words, c.PublicWords)
		require.Contains(t, c.Words, `host "10.0.0.7"`)
	}
}
