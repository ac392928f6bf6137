package db_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
)

// Pins pools that stay open, with their goroutines, when a store cannot be opened.
func TestAStoreThatCannotBeOpenedLeavesNothing(t *testing.T) {
	t.Parallel()
	const url = "postgres://nobody@127.0.0.1:1/none"
	for name, test := range map[string]struct {
		config db.Config
		want   string
	}{
		"a wrong URL":         {db.Config{URL: "postgres://nobody@127.0.0.1:port/none"}, "DATABASE_URL: "},
		"an unknown pooler":   {db.Config{URL: url, Pooler: "odyssey"}, `pooler "odyssey"`},
		"no connections":      {db.Config{URL: url, MaxConns: -1}, "database pool: "},
		"a wrong direct URL":  {db.Config{URL: url, DirectURL: "postgres://nobody@127.0.0.1:port/none"}, "DATABASE_URL_DIRECT: "},
		"a direct URL of two": {db.Config{URL: url, DirectURL: "host=a,b port=1,2,3"}, "DATABASE_URL_DIRECT: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// Fails if a goroutine of the store is left.
			synctest.Test(t, func(t *testing.T) {
				store, err := db.Open(t.Context(), test.config)
				require.ErrorContains(t, err, test.want)
				require.Nil(t, store)
			})
		})
	}
}
