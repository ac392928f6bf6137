// Package dbtest gives every test a real Postgres database of its own, so that tests run in parallel and none sees what
// another one did. A database is a copy of a template that has the migrations applied once, which takes milliseconds.
//
// The server is chosen once per test process: the one of TEST_DATABASE_URL (a role that may create databases, connected
// directly and not through a pooler); else a private cluster from this machine's binaries, see package pglocal; else a
// container. DIRECTOR_TEST_PG=url, local or docker insists on one of them. Without any the test fails and says what to
// install: a database test that is skipped has proved nothing.
//
// A private cluster starts as a copy of one that has the migrations, which the first test process of a day (UTC) keeps
// in the user's cache. Each day needs another one: the migrations make partitions of history for the days that follow.
//
// A private cluster and its files are removed with the test process, even one that is killed. Its databases are dropped
// earlier only where room is scarce: to drop each costs more than to remove the cluster. On the server of
// TEST_DATABASE_URL each database is dropped with its test, and so is what killed test processes and old migrations
// have left behind.
//
//	dbtest.go              a database for a test
//	choose.go              which server has it: local.go, docker.go, or that of TEST_DATABASE_URL
//	server.go, template.go how a server makes databases; the template that they are copies of
//	seed.go                the stopped cluster that private clusters are copies of
//	standby.go, proxy.go   a primary with a standby; a network that fails between a test and Postgres
//	leak.go, url.go        a TestMain that finds goroutines left over; URLs with connection parameters
package dbtest
