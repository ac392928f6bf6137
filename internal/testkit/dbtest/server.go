package dbtest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// server is the Postgres on which the databases of this process's tests are made.
type server struct {
	url            *url.URL // of the database in which databases are created and dropped
	createStrategy string   // the end of CREATE DATABASE; "": the server's usual strategy
	isShared       bool     // the server outlives this process, which therefore drops what it has made
	dataDir        string   // of a private cluster on this machine; else ""
	// template makes the template of [New], or finds that another process has, on its first call. It returns its name.
	template  func() (string, error)
	idleConns chan *pgx.Conn // open connections of runAdmin
}

// maxIdleConns is how many connections of runAdmin stay open: tests that begin at the same moment open more.
const maxIdleConns = 4

// newSharedServer returns a server that other processes use as well.
func newSharedServer(address string) (*server, error) {
	s, err := newServer(address)
	if err != nil {
		return nil, err
	}
	s.isShared = true
	return s, nil
}

// newPrivateServer returns a server of this process alone, which syncs nothing to disk.
func newPrivateServer(address string) (*server, error) {
	s, err := newServer(address)
	if err != nil {
		return nil, err
	}
	// The faster way to copy a database where nothing is synced, and the slower one elsewhere.
	s.createStrategy = " strategy file_copy"
	return s, nil
}

func newServer(address string) (*server, error) {
	u, err := url.Parse(address)
	if err != nil || !strings.HasPrefix(u.Scheme, "postgres") {
		return nil, errors.New("TEST_DATABASE_URL must have the form postgres://user:password@host:port/database")
	}
	s := &server{url: u, idleConns: make(chan *pgx.Conn, maxIdleConns)}
	s.template = sync.OnceValues(s.makeTemplate)
	return s, nil
}

// createDatabase makes a database out of a template, for one test, and returns its URL.
func (s *server) createDatabase(t testing.TB, template string) string {
	t.Helper()
	name := newDatabaseName()
	if err := s.runAdmin(t.Context(), s.createStatement(name, template)); err != nil {
		t.Fatalf("dbtest: %v", err)
	}
	t.Cleanup(func() {
		// Decided now, when it is known how much room the tests beside this one have left.
		if !s.keepsDatabases() {
			s.dropDatabase(t, name)
		}
	})
	return s.urlOf(name)
}

// keepsDatabases reports whether databases stay when their tests have ended. Those of a private server are deleted with
// the server, which costs less than to drop each, unless its files leave too little room, as 700 databases in memory
// do.
func (s *server) keepsDatabases() bool {
	return !s.isShared && (s.dataDir == "" || freeBytes(s.dataDir) >= roomForTests)
}

func (s *server) createStatement(name, template string) string {
	return "create database " + name + " template " + template + s.createStrategy
}

func (s *server) dropDatabase(t testing.TB, name string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), dropTimeout)
	defer cancel()
	if err := s.runAdmin(ctx, "drop database if exists "+name+" with (force)"); err != nil {
		t.Errorf("dbtest: %v", err)
	}
}

// newDatabaseName returns a name that has the present time, by which a later process knows what was left behind.
func newDatabaseName() string {
	return fmt.Sprintf("%s%d_%s", testPrefix, time.Now().Unix(), strings.ToLower(rand.Text()[:8]))
}

func (s *server) urlOf(database string) string {
	u := *s.url
	u.Path = "/" + database
	return u.String()
}

// runAdmin runs statements, each in a transaction of its own, in the server's own database. Connections stay open for
// later calls: to open one costs Postgres a fifth of what a database costs.
func (s *server) runAdmin(ctx context.Context, statements ...string) error {
	conn, err := s.takeConn(ctx)
	if err != nil {
		return err
	}
	if err := runStatements(ctx, conn, statements...); err != nil {
		_ = conn.Close(context.WithoutCancel(ctx))
		return err
	}
	select {
	case s.idleConns <- conn:
	default:
		_ = conn.Close(context.WithoutCancel(ctx))
	}
	return nil
}

// takeConn returns an idle connection, or a new one.
func (s *server) takeConn(ctx context.Context) (*pgx.Conn, error) {
	select {
	case conn := <-s.idleConns:
		return conn, nil
	default:
		return pgx.Connect(ctx, s.url.String())
	}
}

// runStatements runs statements, each in a transaction of its own, until one fails.
func runStatements(ctx context.Context, conn *pgx.Conn, statements ...string) error {
	for _, statement := range statements {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

const (
	startTimeout = 2 * time.Minute // a container's image may have to be pulled
	dropTimeout  = 30 * time.Second

	testPrefix     = "director_test_"
	templatePrefix = "director_template_"
)
