package poolfile_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/provisioning/poolfile"
	"github.com/lattice-director/director/lobby"
	"github.com/lattice-director/director/match/profile"
)

// documents are the kinds of documents, each with a whole number from 1 to 64 in it, and how the number is read.
var documents = map[string]func(number string) (int, error){
	"pool": func(number string) (int, error) {
		f, err := poolfile.Parse([]byte("pools:\n  - region: eu\n    app: a\n    version: b\n    max: " + number +
			"\n"))
		if err != nil {
			return 0, err
		}
		return f.Pools[0].Max, nil
	},
	"app": func(number string) (int, error) {
		f, err := poolfile.Parse(fmt.Appendf(nil,
			"apps: [{app: a, version: b, provider: manual, launch: a, modes: [m], max_players: 1, capacity: %s}]",
			number))
		if err != nil {
			return 0, err
		}
		return f.Apps[0].Capacity, nil
	},
	"profile": func(number string) (int, error) {
		p, err := profile.Parse([]byte("name: a\nteams:\n  - name: t\n    players: " + number + "\n"))
		if err != nil {
			return 0, err
		}
		return p.Teams[0].Max, nil
	},
	"profile in JSON": func(number string) (int, error) {
		p, err := profile.Parse([]byte(`{"name": "a", "teams": [{"name": "t", "players": ` + number + `}]}`))
		if err != nil {
			return 0, err
		}
		return p.Teams[0].Max, nil
	},
	"room types": func(number string) (int, error) {
		types, err := lobby.NewTypes(false, []byte(`{"town": {"logic": "chat", "max_members": `+number+`}}`))
		if err != nil {
			return 0, err
		}
		town, _ := types.LookupType("town")
		return town.MaxMembers, nil
	},
}

// Pins a capacity of 8.9 that becomes 8, and a 010 that is 8 in one kind of document and 10 in another: a number means
// the same in all of them, or is refused. JSON knows fewer spellings than YAML.
func TestNumbersMeanTheSameInAllDocuments(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"8": 8, "10": 10, "010": 10, "008": 8, "+8": 8, "8.0": 8, "1e1": 10, "1E+1": 10, "8.": 8, "0.8e1": 8,
	} {
		for kind, read := range documents {
			got, err := read(text)
			if err != nil && !json.Valid([]byte(text)) && (kind == "profile in JSON" || kind == "room types") {
				continue
			}
			if kind == "room types" && err != nil && text != "8" && text != "10" {
				continue // the JSON of a setting refuses what is not written as a whole number
			}
			require.NoError(t, err, "%s in a %s", text, kind)
			require.Equal(t, want, got, "%s in a %s", text, kind)
		}
	}
	for _, text := range []string{
		"8.9", "0x8", "0o10", "0b1000", "1_0", "1,0", "1e-1", ".5", "1e99", "99999999999999999999", "4294967304", "-8", ".inf", ".nan", "true", `"8"`, "eight", "[8]", "{}", "1:30",
	} {
		for kind, read := range documents {
			got, err := read(text)
			require.Error(t, err, "%s in a %s is %d", text, kind, got)
			if kind != "room types" {
				require.ErrorContains(t, err, "line ", "%s in a %s", text, kind)
				require.ErrorContains(t, err, "column ", "%s in a %s", text, kind)
			}
		}
	}
}
