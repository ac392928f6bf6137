package dbtest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// server is where the databases of this process's tests are made.
type server struct {
	url            *url.URL // of the database from which orders are given
	createStrategy string   // of CREATE DATABASE
	isShared       bool     // the server outlives us, so we clean up
	dataDir        string   // of a private cluster on this machine; else empty
	template       func() (string, error)
	idleConns      chan *pgx.Conn // from which orders were given
}

// maxIdleConns is how many connections wait for the next order: tests that begin at the same moment open more.
const maxIdleConns = 4

// fileCopy is the faster way to copy a database where nothing is synced to disk, and the slower one elsewhere.
const fileCopy = " strategy file_copy"

func newServer(address, strategy string, shared bool) (*server, error) {
	u, err := url.Parse(address)
	if err != nil || !strings.HasPrefix(u.Scheme, "postgres") {
		return nil, errors.New("TEST_DATABASE_URL must have the form postgres://user:password@host:port/database")
	}
	s := &server{url: u, createStrategy: strategy, isShared: shared, idleConns: make(chan *pgx.Conn, maxIdleConns)}
	s.template = s.templateOnce()
	return s, nil
}

// createDatabase makes a database out of a template, for one test.
func (s *server) createDatabase(t testing.TB, template string) string {
	t.Helper()
	name := newName()
	if err := s.runOrders(t.Context(), s.createStatement(name, template)); err != nil {
		t.Fatalf("dbtest: %v", err)
	}
	// At the end of the test, when it is known how much room the tests beside it have left.
	t.Cleanup(func() {
		if !s.keepsDatabases() {
			s.dropDatabase(t, name)
		}
	})
	return s.urlOf(name)
}

// keepsDatabases reports whether databases may stay when their tests have ended: those of a private server are deleted
// with it, which costs less than to drop each. Where its files leave little room, as 700 databases in memory do, they
// are dropped.
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
	if err := s.runOrders(ctx, "drop database if exists "+name+" with (force)"); err != nil {
		t.Errorf("dbtest: %v", err)
	}
}

// newName holds the time, by which a later process knows what was left behind.
func newName() string {
	return fmt.Sprintf("%s%d_%s", testPrefix, time.Now().Unix(), strings.ToLower(rand.Text()[:8]))
}

func (s *server) urlOf(database string) string {
	u := *s.url
	u.Path = "/" + database
	return u.String()
}

// runOrders runs statements, each in a transaction of its own, on a connection that nobody else uses meanwhile. It stays
// open for later orders: to open one costs Postgres a fifth of what a database does.
func (s *server) runOrders(ctx context.Context, statements ...string) (err error) {
	var conn *pgx.Conn
	select {
	case conn = <-s.idleConns:
	default:
		if conn, err = pgx.Connect(ctx, s.url.String()); err != nil {
			return err
		}
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
