package dbtest

import "testing"

// What the tests look at from outside.
var (
	Choose         = chooseServer
	FastDir        = fastDir
	SweepDirs      = sweepDirs
	StartLocal     = startLocal
	StartContainer = startContainer
)

const (
	DirPrefix      = dirPrefix
	TestPrefix     = testPrefix
	TemplatePrefix = templatePrefix
)

// URL is the address from which orders are given.
func (s *server) URL() string { return s.url.String() }

// TakeRoom makes a server of this machine look at a place where nothing is free.
func (s *server) TakeRoom() { s.dataDir += "/of nobody" }

// New is [New] on this server.
func (s *server) New(t testing.TB) string { return s.createDatabase(t, "template0") }
