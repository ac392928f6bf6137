package dbtest

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
