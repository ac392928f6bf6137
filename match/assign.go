package match

import "fmt"

// AssignmentGroup is a list of tickets that get the same assignment.
type AssignmentGroup struct {
	Tickets       []string
	HasAssignment bool // false: the group had none
}

// CheckAssignments validates a request to assign tickets. A request without groups is valid. Otherwise each group needs
// an assignment, no ticket may occur twice in all groups, and there must be at least one ticket. The error reports the
// first violation in the order of the groups. Errors: [Invalid].
func CheckAssignments(groups []AssignmentGroup) error {
	// The texts are Open Match's own.
	seen := map[string]bool{}
	for _, g := range groups {
		if !g.HasAssignment {
			return Invalid("AssignmentGroup.Assignment is required")
		}
		for _, id := range g.Tickets {
			if seen[id] {
				return Invalid(fmt.Sprintf("Ticket id %s is assigned multiple times in one assign tickets call", id))
			}
			seen[id] = true
		}
	}
	if len(groups) > 0 && len(seen) == 0 {
		return Invalid("AssignmentGroupTicketIds is empty")
	}
	return nil
}
