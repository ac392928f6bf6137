package replay

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// Pins buckets whose ends were those of a logarithm, which is not the same to the last digit on every architecture: a
// number at an end was in one bucket or the next.
func TestBucketsBeginWhereTheirBoundSays(t *testing.T) {
	t.Parallel()
	bound := least
	for i := 1; i < 2000; i++ {
		require.Equal(t, i, bucketOf(bound), "%v", bound)
		require.Equal(t, -i, bucketOf(-bound), "%v", bound)
		require.Equal(t, i-1, bucketOf(math.Nextafter(bound, 0)), "%v", bound)
		bound *= growth
	}
	require.Zero(t, bucketOf(0))
	require.Greater(t, bucketOf(math.MaxFloat64), bucketOf(math.MaxFloat64/1.03))
	require.Equal(t, bucketOf(math.MaxFloat64), bucketOf(math.Inf(1)))
}
