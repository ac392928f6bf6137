// Package dbcause says why a database refused a call or did not answer, in the words of Postgres or of the network, and
// what to do about it. doctor, /readyz and the commands use the same table, so that they give the same remedy.
package dbcause

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"
)

// Cause is why a call of the database failed.
type Cause struct {
	// Words are those of Postgres, with its SQLSTATE and the hosts, roles, databases and tables that it names; or of
	// the network, without addresses and names. For logs and operators.
	Words string
	// PublicWords say the same without anything that Postgres names: a text of this package, with the SQLSTATE. For
	// callers without a credential.
	PublicWords string
	Do          string // what to do
	Section     string // the heading in docs/runbook.md that says more
}

const (
	unavailableSection = "Players get 503"
	slowSection        = "Everything got slow within minutes"
	diskSection        = "The disk fills"
	writesSection      = "The database refuses writes"
)

// FromError returns the cause of an error. known is false where the table has none: then Do is general, and the words
// are empty unless Postgres answered.
func FromError(err error) (c Cause, known bool) {
	if pg, is := errors.AsType[*pgconn.PgError](err); is {
		c, known = ofSQLState(pg.Code)
		// On one line: the words stand in lists and in the log.
		c.Words = fmt.Sprintf("%s (SQLSTATE %s)", strings.Join(strings.Fields(pg.Message), " "), pg.Code)
		c.PublicWords = fmt.Sprintf("%s (SQLSTATE %s)", c.PublicWords, pg.Code)
		return c, known
	}
	return ofNetwork(err)
}

// IsPostgres reports whether Postgres, or a pooler before it, answered with an error.
func IsPostgres(err error) bool {
	_, is := errors.AsType[*pgconn.PgError](err)
	return is
}

// bySQLState are the public words and the remedies by SQLSTATE (PostgreSQL manual, appendix A). A code of two letters is a
// whole class.
var bySQLState = map[string]Cause{
	"3D000": {PublicWords: "the database does not exist",
		Do: "correct the name of the database in DATABASE_URL, or make it: CREATE DATABASE, " +
			"then 'director migrate up'", Section: unavailableSection},
	"28P01": {PublicWords: "the user or the password is wrong",
		Do:      "correct the user and the password in DATABASE_URL, or ALTER ROLE … PASSWORD",
		Section: unavailableSection},
	"28000": {PublicWords: "the role is not admitted",
		Do: "make the role of DATABASE_URL, and let pg_hba.conf admit it to this database from this host; " +
			"where that line is hostssl, add sslmode=require to DATABASE_URL", Section: unavailableSection},
	"3F000": {PublicWords: "the schema does not exist",
		Do:      "run 'director migrate up', or correct the search_path of the role or of DATABASE_URL",
		Section: unavailableSection},
	"42P01": {PublicWords: "a table does not exist",
		Do:      "run 'director migrate up', or correct the search_path of the role or of DATABASE_URL",
		Section: unavailableSection},
	"42883": {PublicWords: "a function does not exist",
		Do:      "run 'director migrate up', or correct the search_path of the role or of DATABASE_URL",
		Section: unavailableSection},
	"42501": {PublicWords: "a privilege is missing",
		Do: "GRANT the role what it needs (docs/operators.md, \"Postgres\"; " +
			"ops/grants.sql for roles that only look)", Section: unavailableSection},
	"53300": {PublicWords: "too many connections",
		Do: "end connections that nobody needs, raise max_connections, or lower DIRECTOR_MAX_CONNS: " +
			"SELECT application_name, count(*) FROM pg_stat_activity GROUP BY 1", Section: slowSection},
	"53100": {PublicWords: "the disk is full",
		Do: "free space on the database's disk, or enlarge it", Section: diskSection},
	"53200": {PublicWords: "out of memory",
		Do: "give the database more memory, or lower work_mem and max_connections", Section: slowSection},
	"53400": {PublicWords: "a configured limit is exceeded",
		Do: "raise the limit that Postgres names", Section: slowSection},
	"57014": {PublicWords: "the statement took too long",
		Do: "find what slows the database down", Section: slowSection},
	"57P01": {PublicWords: "Postgres was stopped",
		Do: "start Postgres again; if it stops by itself, its log says why", Section: unavailableSection},
	"57P02": {PublicWords: "Postgres crashed",
		Do:      "wait while Postgres recovers from a crash; its log says why it crashed",
		Section: unavailableSection},
	"57P03": {PublicWords: "Postgres is starting, stopping or recovering",
		Do:      "wait while Postgres starts or recovers; if it does not end, its log says why",
		Section: unavailableSection},
	"57P04": {PublicWords: "the database was dropped",
		Do:      "the database was dropped: restore it, or correct its name in DATABASE_URL",
		Section: unavailableSection},
	"25006": {PublicWords: "transactions are read-only",
		Do: "let DATABASE_URL lead to the primary (several hosts with target_session_attrs=read-write, " +
			"or the failover tool's address); or end default_transaction_read_only", Section: writesSection},
	"55000": {PublicWords: "the database accepts no connections",
		Do:      "ALTER DATABASE … ALLOW_CONNECTIONS true, or wait until the server is a primary",
		Section: unavailableSection},
	"26000": {PublicWords: "a prepared statement was lost",
		Do:      "set DIRECTOR_POOLER=pgbouncer, or max_prepared_statements in PgBouncer 1.21 or newer",
		Section: unavailableSection},
	"42P05": {PublicWords: "a prepared statement exists already",
		Do:      "set DIRECTOR_POOLER=pgbouncer, or max_prepared_statements in PgBouncer 1.21 or newer",
		Section: unavailableSection},
	"08": {PublicWords: "the connection was refused",
		Do: "check the pooler before Postgres: its log, its databases and users, " +
			"and that DATABASE_URL has no parameters that it refuses", Section: unavailableSection},
	"58": {PublicWords: "a file cannot be read or written",
		Do: "check the database's disk: Postgres cannot read or write its files", Section: diskSection},
	"XX": {PublicWords: "damaged data or an internal error",
		Do: "look into Postgres's log: it found damaged data, or has a bug", Section: unavailableSection},
}

func ofSQLState(code string) (Cause, bool) {
	if c, ok := bySQLState[code]; ok {
		return c, true
	}
	// A class has a remedy only where it is the same for all of its codes.
	if c, ok := bySQLState[code[:min(2, len(code))]]; ok {
		return c, true
	}
	return Cause{PublicWords: "Postgres answered with an error", Do: "see the error; Postgres's log has more",
		Section: unavailableSection}, false
}

// ofNetwork names what failed before Postgres could answer. It does not quote the error, which holds addresses.
func ofNetwork(err error) (Cause, bool) {
	var dns *net.DNSError
	var words, do string
	switch {
	// Judged first: a lookup that timed out is also an error of the time.
	case errors.As(err, &dns):
		words = "the host name cannot be resolved"
		do = "correct the host in DATABASE_URL, or repair DNS: " + noSuchHost(dns)
	// Judged before the errors of the connection: a handshake that fails may also close it.
	case isTLS(err):
		words = "TLS: " + tlsWords(err)
		do = "set sslmode and sslrootcert in DATABASE_URL to what the server has, " +
			"or give the server a certificate for this name"
	case errors.Is(err, syscall.ECONNREFUSED):
		words = "connection refused"
		do = "start Postgres, or correct host and port in DATABASE_URL; " +
			"listen_addresses must name an address that this host reaches"
	// A Unix socket whose file does not exist.
	case errors.Is(err, syscall.ENOENT):
		words, do = "the socket does not exist", "start Postgres, or correct the directory of the socket in DATABASE_URL"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		words, do = "no route to the host", "repair the network to the host in DATABASE_URL"
	case pgconn.Timeout(err), errors.Is(err, context.DeadlineExceeded):
		words = "no answer in time"
		do = "check the network to Postgres (a firewall that drops packets?), and whether its host hangs"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET),
		errors.Is(err, syscall.EPIPE):
		words, do = "the connection was closed", "look into Postgres's log, or the pooler's: it closed the connection"
	default:
		return Cause{Do: "check DATABASE_URL, and whether Postgres runs and accepts connections from this host",
			Section: unavailableSection}, false
	}
	return Cause{Words: words, PublicWords: words, Do: do, Section: unavailableSection}, true
}

// noSuchHost tells a wrong name from a resolver that fails.
func noSuchHost(dns *net.DNSError) string {
	if dns.IsNotFound {
		return "there is no such host"
	}
	return "the resolver does not answer"
}

// isTLS reports whether the handshake failed, by the types that crypto/tls and crypto/x509 have for that.
func isTLS(err error) bool {
	var (
		verify  *tls.CertificateVerificationError
		record  tls.RecordHeaderError
		alert   tls.AlertError
		unknown x509.UnknownAuthorityError
		host    x509.HostnameError
		invalid x509.CertificateInvalidError
	)
	return errors.As(err, &verify) || errors.As(err, &record) || errors.As(err, &alert) || errors.As(err, &unknown) ||
		errors.As(err, &host) || errors.As(err, &invalid) || strings.Contains(err.Error(), refusedTLS)
}

// refusedTLS is what pgconn says of a server without TLS, in an error without a type.
const refusedTLS = "server refused TLS connection"

// tlsWords says what the handshake failed at, without the names in the certificate.
func tlsWords(err error) string {
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	switch {
	case strings.Contains(err.Error(), refusedTLS):
		return "the server does not speak it"
	case errors.As(err, &unknown):
		return "the certificate is signed by an unknown authority"
	case errors.As(err, &host):
		return "the certificate is for another name"
	case errors.As(err, &invalid):
		return "the certificate is not valid"
	}
	return "the handshake failed"
}
