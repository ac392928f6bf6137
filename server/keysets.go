package server

import (
	"fmt"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/doctor"
	"github.com/lattice-director/director/token"
)

// keySet is a set of somebody else's public keys, with which this replica verifies tokens.
type keySet struct {
	name       string // of the metric
	subject    string // the setting, for operators
	readStatus func() token.SetStatus
}

// keySets returns the key sets that this replica uses.
func (s *Server) keySets() (all []keySet) {
	if keys := s.options.Access.Keys; keys != nil {
		all = append(all, keySet{"players", "the key set of players' access tokens (DIRECTOR_AUTH_JWKS)", keys.Status})
	}
	if s.consoleKeys != nil {
		all = append(all, keySet{"console", "the key set of the console's logins (DIRECTOR_CONSOLE_OIDC_ISSUER)",
			s.consoleKeys})
	}
	return all
}

// findTrouble returns what is wrong with the key set, if anything is.
func (k keySet) findTrouble() (db.Trouble, bool) {
	st := k.readStatus()
	t := db.Trouble{Subject: k.subject, State: doctor.Fail, Section: "Logins and players' tokens are refused",
		Do: "mend the key set at its issuer, which published it; roll back what changed there"}
	switch {
	case st.Err != nil && st.InUse > 0:
		t.Says = fmt.Sprintf("%v; the last good keys (%d) stay in use, for 15 minutes if it has no usable key", st.Err,
			st.InUse)
	case st.Err != nil:
		t.Says = fmt.Sprintf("%v; every token is refused", st.Err)
	// Ignored keys are a warning, because tokens of the others are accepted: issuers publish keys for other purposes, too.
	case len(st.Ignored) > 0:
		t.State = doctor.Warn
		t.Says = fmt.Sprintf("%d of %d keys are ignored, and tokens of them refused: %s", len(st.Ignored),
			len(st.Ignored)+st.Usable, ignoredNames(st.Ignored))
		t.Do = "have the issuer publish keys that the director can use, or take these out of the set"
	default:
		return t, false
	}
	return t, true
}

// ignoredNames are the first ignored keys, with the reasons, and the number of the others.
func ignoredNames(ignored []token.IgnoredKey) string {
	const maxNames = 5
	var all []string
	for _, k := range ignored[:min(len(ignored), maxNames)] {
		all = append(all, k.String())
	}
	if len(ignored) > maxNames {
		all = append(all, fmt.Sprintf("and %d more", len(ignored)-maxNames))
	}
	return strings.Join(all, "; ")
}

// keySetMetrics has the keys of each set, as its issuer last published it.
type keySetMetrics struct {
	sets []keySet
	keys *prometheus.Desc
}

func newKeySetMetrics(sets []keySet) keySetMetrics {
	const help = "Public keys of a set that others publish, as it was last read: " +
		"of the login that signs players' access tokens (players), of the issuer of the console's logins (console). " +
		"State: usable, or ignored because the director cannot use them. A set that could not be read yet has no value."
	return keySetMetrics{sets, prometheus.NewDesc("director_key_set_keys", help, []string{"set", "state"}, nil)}
}

// Describe implements prometheus.Collector.
func (m keySetMetrics) Describe(to chan<- *prometheus.Desc) { to <- m.keys }

// Collect implements prometheus.Collector.
func (m keySetMetrics) Collect(to chan<- prometheus.Metric) {
	for _, k := range m.sets {
		// A set that was never read has no value, rather than 0, which would mean that all tokens are refused.
		if st := k.readStatus(); st.Read {
			to <- prometheus.MustNewConstMetric(m.keys, prometheus.GaugeValue, float64(st.Usable), k.name, "usable")
			to <- prometheus.MustNewConstMetric(m.keys, prometheus.GaugeValue, float64(len(st.Ignored)), k.name,
				"ignored")
		}
	}
}
