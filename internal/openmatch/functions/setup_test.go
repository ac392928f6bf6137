package functions

import (
	"context"
	"testing"
	"time"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/internal/testkit/must"
)

func makeFunctions(t *testing.T, allowed ...string) *functions {
	return functionsOf(t, Options{Functions: allowed, Loopback: true})
}

func functionsOf(t *testing.T, o Options) *functions {
	o.Registration = time.Second
	f := must.Get(newFunctions(o.withDefaults()))(t)
	t.Cleanup(f.closeIdle)
	return f
}

// runs calls a match function and returns the ids of its proposals.
func runs(ctx context.Context, f *functions, at *pb.FunctionConfig) (ids []string, err error) {
	err = f.callFunction(ctx, at, &pb.MatchProfile{Name: "a profile"}, func(m *pb.Match) error {
		ids = append(ids, m.GetMatchId())
		return nil
	})
	return ids, err
}
