package match_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/match"
)

func TestCheckAssignments(t *testing.T) {
	t.Parallel()
	to := func(tickets ...string) match.AssignmentGroup {
		return match.AssignmentGroup{Tickets: tickets, HasAssignment: true}
	}
	nowhere := match.AssignmentGroup{Tickets: []string{"n"}}
	for name, c := range map[string]struct {
		groups []match.AssignmentGroup
		err    string
	}{
		"nothing at all":                    {nil, ""},
		"two groups":                        {[]match.AssignmentGroup{to("a", "b"), to("c")}, ""},
		"one of the groups is empty":        {[]match.AssignmentGroup{to(), to("a")}, ""},
		"an empty id":                       {[]match.AssignmentGroup{to("")}, ""},
		"no assignment":                     {[]match.AssignmentGroup{to("a"), nowhere}, "AssignmentGroup.Assignment is required"},
		"no assignment and no tickets":      {[]match.AssignmentGroup{{}}, "AssignmentGroup.Assignment is required"},
		"twice in a group":                  {[]match.AssignmentGroup{to("a", "b", "a")}, "Ticket id a is assigned multiple times in one assign tickets call"},
		"twice in two groups":               {[]match.AssignmentGroup{to("a"), to("b", "a")}, "Ticket id a is assigned multiple times in one assign tickets call"},
		"an empty id twice":                 {[]match.AssignmentGroup{to("", "")}, "Ticket id  is assigned multiple times in one assign tickets call"},
		"no ids":                            {[]match.AssignmentGroup{to(), to()}, "AssignmentGroupTicketIds is empty"},
		"two faults, the first is reported": {[]match.AssignmentGroup{to("a", "a"), nowhere}, "Ticket id a is assigned multiple times in one assign tickets call"},
		"two faults, the other way around":  {[]match.AssignmentGroup{nowhere, to("a", "a")}, "AssignmentGroup.Assignment is required"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := match.CheckAssignments(c.groups)
			if c.err == "" {
				require.NoError(t, err)
				return
			}
			require.Equal(t, match.Invalid(c.err), err)
		})
	}
}

// Each line of the input is a group; a leading ! means that it has no assignment. An accepted request has each ticket
// once, an assignment for each group, and at least one ticket.
func FuzzCheckAssignments(f *testing.F) {
	for _, seed := range []string{"", "a b\nc", "a\n!b", "a a", "a\nb a", "\n", "! ", "a\n\nb"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var groups []match.AssignmentGroup
		ids, unassigned := map[string]int{}, 0
		for line := range bytes.Lines(data) {
			text, nowhere := strings.CutPrefix(strings.TrimSuffix(string(line), "\n"), "!")
			g := match.AssignmentGroup{Tickets: strings.Fields(text), HasAssignment: !nowhere}
			for _, id := range g.Tickets {
				ids[id]++
			}
			if nowhere {
				unassigned++
			}
			groups = append(groups, g)
		}
		twice := 0
		for _, n := range ids {
			twice += n - 1
		}
		fine := len(groups) == 0 || unassigned == 0 && twice == 0 && len(ids) > 0
		require.Equal(t, fine, match.CheckAssignments(groups) == nil)
	})
}
