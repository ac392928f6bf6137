package dbtest

import "testing"

// What the tests of package dbtest_test call.
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

// URL returns the URL of the server's own database.
func (s *server) URL() string { return s.url.String() }

// TakeRoom makes the server believe that no room is left: in a directory that does not exist, no byte is free.
func (s *server) TakeRoom() { s.dataDir += "/missing" }

// New is [New] on this server.
func (s *server) New(t testing.TB) string { return s.createDatabase(t, "template0") }
