package backend

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/server/rest"
)

// Pins problems whose order, and beyond the bound of an answer also their choice, differed between equal requests.
func TestEqualRequestsGetEqualProblems(t *testing.T) {
	t.Parallel()
	invalid := make([]string, 20) // so that both lists together are beyond the bound of an answer
	for i := range invalid {
		invalid[i] = "\x00"
	}
	var first []rest.FieldError
	for range 50 {
		var c rest.Check
		(&playerRequest{Avoid: invalid, MayPartyWith: invalid}).Validate(&c)
		problems := rest.ProblemOf(c.Err()).Errors
		require.Equal(t, "avoid[0]", problems[0].Field)
		if first == nil {
			first = problems
		}
		require.Equal(t, first, problems)
	}
}
