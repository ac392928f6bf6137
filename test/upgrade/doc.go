// Package upgrade has only tests. They build the last release from this repository's history and run it beside the
// working tree on one schema under load, as docs/how-to/upgrade.md says: the newer binary migrates, then replicas and
// workers are replaced one by one, back, and again. Callers may need only the retries that the documentation promises.
package upgrade
