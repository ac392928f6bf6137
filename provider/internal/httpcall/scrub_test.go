package httpcall

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/provider"
)

func TestScrub(t *testing.T) {
	t.Parallel()
	require.Equal(t, "the [hidden] of  x, eu", Scrub("the s3cret-value of\n x, eu", []string{"s3cret-value", "eu", ""}))
	require.LessOrEqual(t, len(Scrub(strings.Repeat("ä", 1000), nil)), provider.MaxErrorBytes)
	require.NotContains(t, Scrub(strings.Repeat("x", 495)+"s3cret-value", []string{"s3cret-value"}), "s3", "it is cut after it is scrubbed")
}

// Pins half a secret where two overlap, where JSON escapes one, and where a long message is cut.
func TestScrubLeavesNoRest(t *testing.T) {
	t.Parallel()
	require.Equal(t, "[hidden], [hidden]", Scrub("s3cret-value, s3cret-value-2", []string{"s3cret-value", "s3cret-value-2"}))
	require.Equal(t, `got v="[hidden]"`, Scrub(`got v="{\"token\":\"s3cret\"}"`, []string{`{"token":"s3cret"}`}))
	secret := strings.Repeat("s3cret-value", 1000)
	require.NotContains(t, Scrub(strings.Repeat(secret, 6), []string{secret}), "s3cret")
}
