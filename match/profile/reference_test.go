package profile_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/match/profile"
)

var quotedWord = regexp.MustCompile("`([a-z_]+)`")

// Pins a text about latency that named missing, which such a rule does not have.
func TestTextsOfRulesNameTheirOwnKeys(t *testing.T) {
	t.Parallel()
	sections := map[string]profile.Section{}
	keys := map[string]map[string]bool{}
	every := map[string]bool{}
	for _, section := range profile.Reference() {
		if kind, isRule := strings.CutPrefix(section.Title, "rules"); isRule {
			sections[kind], keys[kind] = section, map[string]bool{}
			for _, key := range section.Keys {
				keys[kind][key.Name], every[key.Name] = true, true
			}
		}
	}
	require.Len(t, sections, 15)
	for kind, section := range sections {
		texts := section.About
		for _, key := range section.Keys {
			texts += " " + key.About
		}
		for _, word := range quotedWord.FindAllStringSubmatch(texts, -1) {
			if every[word[1]] && !keys[kind][word[1]] && !keys[""][word[1]] {
				t.Errorf("rules%s: its texts name %s, which is a key of other rules", kind, word[1])
			}
		}
	}
}
