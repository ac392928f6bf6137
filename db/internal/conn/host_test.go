package conn

import (
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
)

// Pins connections that waited for a lost primary, which DATABASE_URL names first, before they reached the promoted
// standby.
func TestNewConnectionsBeginWithTheHostOfTheLastOne(t *testing.T) {
	t.Parallel()
	config, err := pgxpool.ParseConfig("postgres://u:p@db-1:5432,db-2:5432,db-2:5433/d?sslmode=prefer")
	require.NoError(t, err)
	o := &hostOrder{}
	o.install(config)
	hosts := func() (list []string) {
		c := config.ConnConfig.Copy()
		require.NoError(t, config.BeforeConnect(t.Context(), c))
		require.NotNil(t, c.TLSConfig, "TLS is tried before plain text")
		list = append(list, c.Host)
		for _, h := range c.Fallbacks {
			list = append(list, h.Host)
		}
		return list
	}
	given := []string{"db-1", "db-1", "db-2", "db-2", "db-2", "db-2"}
	require.Equal(t, given, hosts(), "nothing was accepted yet")
	o.addrsByHost["db-1"], o.addrsByHost["db-2"] = []string{"10.0.0.1"}, []string{"fd00::2", "10.0.0.2"}
	o.acceptedAddr = "10.0.0.2:5432"
	require.Equal(t, []string{"db-2", "db-2", "db-1", "db-1", "db-2", "db-2"}, hosts(), "the other port is another server")
	o.acceptedAddr = "[fd00::2]:5432"
	require.Equal(t, "db-2", hosts()[0])
	o.acceptedAddr = "10.0.0.9:5432"
	require.Equal(t, given, hosts(), "the name leads elsewhere now")
}

func TestOneHostNeedsNoOrder(t *testing.T) {
	t.Parallel()
	config, err := pgxpool.ParseConfig("postgres://u:p@db-1/d?sslmode=require")
	require.NoError(t, err)
	(&hostOrder{}).install(config)
	require.Nil(t, config.BeforeConnect)
}
