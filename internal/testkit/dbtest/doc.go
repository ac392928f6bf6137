// Package dbtest gives every test a real Postgres database of its own, so that tests run in parallel and none sees what
// another one did. A database is a copy of a template that has the migrations applied once, which takes milliseconds.
//
// The server is chosen once per test process: the one of TEST_DATABASE_URL (a role that may create databases, connected
// directly and not through a pooler); else a private cluster from this machine's binaries, see package pglocal; else a
// container. DIRECTOR_TEST_PG=url, local or docker insists on one of them. Without any the test fails and says what to
// install: a database test that is skipped has proved nothing.
//
// A private cluster starts as a copy of one that has the migrations, which the first test process of a day keeps in the
// user's cache: history has partitions for the days that follow (UTC).
//
// A private cluster and its files end with the test process, even one that is killed. Its databases are not dropped
// before, unless room gets scarce: that would cost more than throwing the cluster away. On the server of
// TEST_DATABASE_URL each database is dropped with its test, and what killed test processes and old migrations left
// behind is swept.
package dbtest
