package match

import "fmt"

// AssignmentGroup is tickets that are to play in the same place.
type AssignmentGroup struct {
	Tickets       []string
	HasAssignment bool // whether it says where
}

// CheckAssignments judges a request to assign tickets, before anything is written. No groups at all are fine, and do
// nothing. Otherwise groups are read in their order and the first fault is told: each says where, no ticket comes twice
// in all of them, and there is at least one. Errors: [Invalid].
func CheckAssignments(groups []AssignmentGroup) error {
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
