package functions

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/internal/openmatch/functions/functionstest"
)

func TestAddressOf(t *testing.T) {
	t.Parallel()
	for in, out := range map[*pb.FunctionConfig]string{
		functionstest.Config("mmf.example", 1):        "mmf.example:1",
		functionstest.Config("MMF.example.", 65535):   "mmf.example.:65535",
		functionstest.Config("open-match_mmf", 50502): "open-match_mmf:50502",
		functionstest.Config("10.0.0.1", 50502):       "10.0.0.1:50502",
		functionstest.Config("::1", 50502):            "[::1]:50502",
		functionstest.Config("[::1]", 50502):          "[::1]:50502",
	} {
		at, err := addressOf(in)
		require.NoError(t, err, in)
		require.Equal(t, out, at.String())
	}
	for _, in := range []*pb.FunctionConfig{
		nil, {}, functionstest.Config("", 50502), functionstest.Config(".", 50502), functionstest.Config("mmf", 0), functionstest.Config("mmf", -1), functionstest.Config("mmf", 65536), functionstest.Config("mmf:1", 2), functionstest.Config("a/b", 1),
		functionstest.Config("me@mmf", 1), functionstest.Config("mmf ", 1), functionstest.Config("fe80::1%eth0", 1), functionstest.Config("a..b", 1), functionstest.Config("dns:///mmf", 1), functionstest.Config("unix:/run/x", 1),
	} {
		_, err := addressOf(in)
		require.Error(t, err, in)
	}
}
